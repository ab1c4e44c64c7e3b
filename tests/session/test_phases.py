"""The phase table and what it allows (docs/decisions/0008)."""

import re

import pytest

from code_intel.errors import PhaseError, UsageError
from code_intel.session.guidance import next_step
from code_intel.session.phases import (
    ALLOWED,
    TRANSITIONS,
    UNGATED,
    Event,
    Intent,
    Phase,
    advance,
    allowed_tools,
    check_allowed,
)
from session.sessions import after, low_risk, map_answer, started


def test_every_phase_is_reachable_and_leads_back_to_exploration() -> None:
    for start in Phase:
        reached = {start}
        for _ in Phase:
            reached |= {target for phase in reached for target in TRANSITIONS[phase].values()}
        assert reached == set(Phase)


def test_a_refused_event_is_answered_with_the_accepted_ones() -> None:
    with pytest.raises(PhaseError, match="only supposed, reverted can"):
        advance(Phase.SEMANTIC, Event.UNDERSTOOD)


@pytest.mark.parametrize("intent", Intent)
def test_only_a_question_starts_in_ready(intent: Intent) -> None:
    ready = intent is Intent.QUESTION
    assert (started(intent).phase is Phase.READY) == ready
    assert started(intent).ready_by == ("question" if ready else "")


@pytest.mark.covers("rule.allowed.intents")
def test_three_intents_write_and_three_only_read() -> None:
    writing = {intent for intent in Intent if intent.writes}
    assert writing == {Intent.IMPLEMENT, Intent.MODIFY, Intent.DELETE}


def test_a_refusal_names_phase_allowed_tools_and_next_step() -> None:
    session = low_risk()
    with pytest.raises(PhaseError) as caught:
        check_allowed(session, "submit_verification")
    error = caught.value.as_dict()
    assert error["error"] == "phase_blocked"
    assert error["current_phase"] == "EXPLORATION"
    assert "submit_understanding" in error["allowed_tools"]
    assert "submit_verification" not in error["allowed_tools"]
    assert "submit_understanding" in error["hint"]


@pytest.mark.covers("rule.allowed.after_map_miss")
def test_search_forest_is_allowed_in_exploration_only_after_a_map_miss() -> None:
    session = low_risk()
    with pytest.raises(PhaseError, match="before the map") as caught:
        check_allowed(session, "search_forest")
    assert caught.value.hint == "Call search_smart first."
    assert "search_forest" not in allowed_tools(session)
    check_allowed(session, "search_map")
    check_allowed(session, "search_smart")
    missed = after(session, map_answer(session, 0.2, query="anything at all"))
    assert missed.phase is Phase.EXPLORATION
    check_allowed(missed, "search_forest")


@pytest.mark.covers("rule.allowed.listed")
def test_a_refusal_lists_only_tools_that_the_server_offers() -> None:
    offered = {"find_definitions", "submit_understanding", "list_agreements"}
    with pytest.raises(PhaseError) as caught:
        check_allowed(low_risk(), "submit_semantic", offered)
    assert set(caught.value.details["allowed_tools"]) == offered


def test_an_unknown_tool_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="devrag_search"):
        check_allowed(low_risk(), "devrag_search")


@pytest.mark.parametrize("phase", Phase)
def test_a_submission_is_allowed_in_the_phases_that_accept_its_event(phase: Phase) -> None:
    rows = {
        "submit_understanding": Event.UNDERSTOOD,
        "submit_semantic": Event.SUPPOSED,
        "submit_verification": Event.VERIFIED,
        "revert_to_exploration": Event.REVERTED,
    }
    for tool, event in rows.items():
        assert (tool in ALLOWED[phase]) == (event in TRANSITIONS[phase])


@pytest.mark.parametrize("intent", Intent)
@pytest.mark.parametrize("phase", Phase)
def test_the_next_step_names_only_allowed_tools_and_no_edits_to_read_only_sessions(
    intent: Intent, phase: Phase
) -> None:
    session = low_risk(intent)._replace(phase=phase, map_missed=True)
    said = next_step(session)
    tools = {tool for row in ALLOWED.values() for tool in row} | set(UNGATED)
    named = {tool for tool in tools if re.search(rf"\b{tool}\b", said)}
    assert named
    assert named <= set(allowed_tools(session))
    if phase is Phase.READY and not intent.writes:
        assert not re.search("write|edit|explored", said)


def test_a_writing_session_without_a_target_feature_is_told_to_name_it() -> None:
    assert next_step(started()).startswith("Call set_query_frame")
    assert "set_query_frame" not in next_step(low_risk())
