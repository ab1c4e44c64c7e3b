"""Every refusal names an allowed call, in every phase and for every tool."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import CodeIntelError
from code_intel.session import evidence, requirements, steps
from code_intel.session.evidence import ForestReason
from code_intel.session.frame import SLOTS, investigation_guidance
from code_intel.session.guidance import (
    GREENFIELD,
    SEARCH_FIRST,
    SUGGESTED_CALLS,
    UNREADABLE,
    after_search,
    next_step,
    recovery_options,
    with_next_step,
)
from code_intel.session.phases import (
    ALLOWED,
    LOOKUP_TOOLS,
    NEXT_STEP,
    UNGATED,
    Intent,
    Phase,
    allowed_tools,
    check_allowed,
)
from code_intel.session.progress import describe_requirements, has_found_all, progress, slot_states
from code_intel.session.requirements import Submission, UnderstandingFacts
from code_intel.session.risk import Risk
from code_intel.session.state import Hypothesis, Session
from code_intel.session.understanding.counts_guidance import (
    COUNTS_STEP,
    FOUND,
    REQUIREMENT_REMEDIES,
)
from code_intel.tools.table import listed_tools
from session.moves import MOVES
from session.sessions import after, explored, found, framed, low_risk, started

TOOLS = sorted({tool for row in ALLOWED.values() for tool in row} | set(UNGATED))
LISTED = frozenset(tool.name for tool in listed_tools())
LISTED_BY_COUNTS = frozenset(tool.name for tool in listed_tools(demands="counts"))

DEMANDS = ("evidence", "counts")

shapes = st.builds(
    lambda session, demands, phase, missed, files, planned, green, hypotheses: session._replace(
        demands=demands,
        phase=phase,
        map_missed=missed,
        explored_files=files,
        planned_files=planned,
        greenfield=green,
        hypotheses=hypotheses,
    ),
    st.sampled_from(
        [
            made
            for intent in Intent
            for made in (
                started(intent),
                framed(started(intent), desired_action="直してほしい"),
                low_risk(intent),
                explored(low_risk(intent)),
            )
        ]
    ),
    st.sampled_from(DEMANDS),
    st.sampled_from(Phase),
    st.booleans(),
    st.sampled_from([(), ("src/auth.py",)]),
    st.sampled_from([(), ("new.py",)]),
    st.booleans(),
    st.sampled_from([(), (Hypothesis("it logs in"),), (Hypothesis("a → b", "high", "b"),)]),
)
ATTEMPTS: dict[str, Callable[[Session], object]] = {
    **MOVES,
    "no symbol": lambda session: requirements.submit_understanding(
        session, Submission(()), UnderstandingFacts()
    ),
    "no reason": lambda session: evidence.submit_semantic(session, [("it logs in", "high")], ""),
    "no hypothesis": lambda session: evidence.submit_semantic(
        session, [], ForestReason.ARCHITECTURE_UNKNOWN
    ),
    "no answer": lambda session: evidence.submit_verification(session, []),
}
ATTEMPTS_BY_CORE = frozenset(
    {
        *("suppose", "confirm the guess", "reject the guess", "revert"),
        *("no reason", "no hypothesis", "no answer"),
    }
)
"""Attempts by tools of the core whose rules are the same under all demands."""


def named_in(text: str) -> set[str]:
    return {tool for tool in TOOLS if re.search(rf"\b{tool}\b", text)}


def listed(session: Session) -> frozenset[str]:
    """Return the tools that a server with the session's demands lists."""
    return LISTED_BY_COUNTS if session.demands == "counts" else LISTED


def refusal(work: Callable[[], object]) -> CodeIntelError | None:
    try:
        work()
    except CodeIntelError as error:
        return error
    return None


@given(shapes, st.sampled_from(TOOLS))
def test_a_refused_call_names_one_that_is_allowed(session: Session, tool: str) -> None:
    offered = listed(session)
    allowed = set(allowed_tools(session, offered))
    error = refusal(lambda: check_allowed(session, tool, offered))
    assert (error is None) == (tool in allowed_tools(session))
    if error is not None:
        said = named_in(with_next_step(error.hint, session, offered))
        assert said & allowed
        assert said <= offered
        assert set(error.details["allowed_tools"]) == allowed


@given(shapes, st.sampled_from(sorted(ATTEMPTS)))
def test_a_refused_submission_names_a_call_that_is_allowed(session: Session, attempt: str) -> None:
    offered = listed(session)
    error = refusal(lambda: ATTEMPTS[attempt](session))
    if error is not None:
        said = named_in(with_next_step(error.hint, session, offered))
        assert said & set(allowed_tools(session, offered))
        assert said <= offered or attempt not in ATTEMPTS_BY_CORE


@given(shapes)
def test_every_session_has_suggested_calls_that_are_allowed(session: Session) -> None:
    offered = listed(session)
    options = [option.tool for option in recovery_options(session, offered)]
    assert options
    assert len(options) == len(set(options))
    assert set(options) <= set(allowed_tools(session, offered))
    assert named_in(next_step(session)) & set(allowed_tools(session, offered))
    texts = (next_step(session), after_search(session, found=True), describe_requirements(session))
    assert set().union(*map(named_in, texts)) <= offered


@pytest.mark.parametrize(
    "text",
    [
        *NEXT_STEP.values(),
        *(LOOKUP_TOOLS, UNREADABLE, GREENFIELD, SEARCH_FIRST),
    ],
)
def test_advice_names_only_tools_that_are_always_listed(text: str) -> None:
    assert named_in(text) <= LISTED


@pytest.mark.parametrize(
    "text",
    [
        *(*REQUIREMENT_REMEDIES.values(), *COUNTS_STEP.values(), FOUND),
        *(option.tool for option in SUGGESTED_CALLS),
    ],
)
def test_advice_by_counts_names_only_tools_that_are_listed_then(text: str) -> None:
    assert named_in(text) <= LISTED_BY_COUNTS


@pytest.mark.parametrize("intent", Intent)
def test_guidance_lists_only_offered_tools(intent: Intent) -> None:
    whole = investigation_guidance(None, intent)
    offered = investigation_guidance(None, intent, LISTED)
    assert list(whole) == list(offered)
    assert set(whole) == set(SLOTS)
    assert all(set(offered[slot]) == set(whole[slot]) & LISTED for slot in SLOTS)
    assert all(offered.values())


@given(shapes)
def test_progress_has_only_the_requirements_of_the_session(session: Session) -> None:
    rows = {row.key: row for row in progress(session)}
    assert all(row.need > 0 for row in rows.values())
    by_counts = session.demands == "counts"
    assert ("entry_points" in rows) == (session.intent.writes and by_counts)
    slots = slot_states(session)
    assert list(slots) == list(SLOTS)
    if not session.intent.writes:
        assert not any(slot["required"] for slot in slots.values())


def test_progress_counts_what_calls_have_found() -> None:
    session = low_risk()
    before = {row.key: row.have for row in progress(session)}
    assert not has_found_all(progress(session))
    assert before == {
        "symbols_identified": 0,
        "entry_points": None,
        "files_analyzed": 0,
        "existing_patterns": None,
        "required_tools": 0,
    }
    session = after(explored(session), steps.called("find_definitions", "nonsense"))
    now = {row.key: row.have for row in progress(session)}
    assert (now["symbols_identified"], now["files_analyzed"], now["required_tools"]) == (1, 4, 2)
    assert not has_found_all(progress(session))
    call = found("find_definitions", "log", symbols=["login", "logout", "log_all"])
    assert has_found_all(progress(after(session, call)))


def test_an_empty_slot_needs_no_evidence() -> None:
    session = framed(started(), target_feature="ログイン", desired_action="直してほしい")
    assert session.risk is Risk.HIGH
    assert describe_requirements(session).endswith("evidence for target_feature.")
    required = {name for name, slot in slot_states(session).items() if slot["required"]}
    assert required == {"target_feature"}


def test_a_session_keeps_the_first_hits_of_its_last_searches() -> None:
    rows = [
        {"document": f"{n}.md", "symbol": "A", "score": 0.5, "status": "valid"} for n in range(9)
    ]
    session = after(low_risk(), steps.called("search_map", "x", map_results=rows))
    assert [row["document"] for row in session.map_results] == [f"{n}.md" for n in range(5)]
    assert session.forest_results == ()
    session = after(session, steps.called("search_forest", "x", forest_results=rows[:1]))
    assert len(session.map_results) == 5
    assert len(session.forest_results) == 1
    session = after(session, steps.called("search_smart", "x", map_results=[]))
    assert session.map_results == ()
    assert len(session.forest_results) == 1
