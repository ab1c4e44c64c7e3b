"""Any calls to a session, in any order.

It stays within the phase table and grants nothing unearned.
"""

from collections.abc import Callable, Iterable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import CodeIntelError, PhaseError
from code_intel.session import steps
from code_intel.session.evidence import (
    CallEvidence,
    HypothesisAnswer,
    submit_semantic,
    submit_verification,
)
from code_intel.session.phases import START, TRANSITIONS, Event, Intent, Phase, advance
from code_intel.session.relevance import carriers, confirm_symbols
from code_intel.session.requirements import Submission, UnderstandingFacts, submit_understanding
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import judge, map_step
from code_intel.session.state import Session, Step
from session.sessions import FACTS, FILES, SYMBOLS, after, map_facts, started, submission

UNKNOWN = FACTS._replace(learned=frozenset())
EMPTY = UnderstandingFacts(symbols_readable=False, nothing_defined=True)
GUESS = "AuthService が ログイン を行う"
RISKS = list(Risk)


def quoted(**slots: str) -> Mapping[str, Mapping[str, str]]:
    return {name: {"value": words, "quote": words} for name, words in slots.items()}


def found(tool: str) -> Callable[[Session], Iterable[Step]]:
    return lambda _: [
        steps.called(tool, "AuthService", found=2, files=FILES[:2], symbols=SYMBOLS[:1])
    ]


def from_map(score: float) -> Callable[[Session], Iterable[Step | None]]:
    return lambda session: [
        map_step(
            session,
            judge(map_facts(session, score)),
            query=session.own_words,
            nl_term="ログイン",
            symbol="AuthService",
            score=score,
            symbol_defined=True,
            files=FILES[:1],
        )
    ]


def confirmed(score: float | None) -> Callable[[Session], Iterable[Step]]:
    scores = {} if score is None else {"AuthService": score}
    return lambda session: [
        confirm_symbols(session, SYMBOLS[:1], "AuthService だ", defined=SYMBOLS, scores=scores).step
    ]


def understood(claim: Submission, facts: UnderstandingFacts) -> Callable[[Session], Iterable[Step]]:
    return lambda session: [submit_understanding(session, claim, facts).step]


def verified(status: str) -> Callable[[Session], Iterable[Step]]:
    proof = CallEvidence("find_definitions", "AuthService", "there", FILES[:1])
    return lambda session: [
        submit_verification(
            session, [HypothesisAnswer(item.text, status, proof) for item in session.hypotheses]
        ).step
    ]


MOVES: dict[str, Callable[[Session], Iterable[Step | None]]] = {
    "frame": lambda s: steps.set_frame(s, quoted(target_feature="ログイン")),
    "another feature": lambda s: steps.set_frame(s, quoted(target_feature="エラー画面")),
    "issue": lambda s: steps.set_frame(s, quoted(observed_issue="エラー画面が真っ白")),
    "short issue": lambda s: steps.set_frame(s, quoted(observed_issue="真っ白")),
    "action": lambda s: steps.set_frame(s, quoted(desired_action="直してほしい")),
    "definitions": found("find_definitions"),
    "references": found("find_references"),
    "text": found("search_text"),
    "forest": found("search_forest"),
    "map misses": from_map(0.1),
    "map is likely": from_map(0.75),
    "map is confident": from_map(0.95),
    "confirm high": confirmed(0.9),
    "confirm gray": confirmed(0.4),
    "confirm low": confirmed(0.1),
    "confirm unmeasured": confirmed(None),
    "understand": understood(submission(), UNKNOWN),
    "understand much": understood(submission(5, 2, 4, 2), UNKNOWN),
    "understand little": understood(submission(1, 0, 1, 0), UNKNOWN),
    "nothing there": understood(Submission(()), EMPTY),
    "suppose": lambda s: [submit_semantic(s, [(GUESS, "high")], "architecture_unknown")],
    "confirm the guess": verified("confirmed"),
    "reject the guess": verified("rejected"),
    "explore": lambda s: [steps.add_explored(s, FILES[:1], FILES)],
    "revert": lambda _: [steps.revert("again")],
    "learned": lambda _: [steps.learned("ログイン", "AuthService")],
    "outcome": lambda _: [steps.outcome("success", {})],
}


ASKED = ["frame", "issue", "action", "definitions", "references"]
BEGINNINGS: tuple[list[str], ...] = (
    [],
    ASKED,
    [*ASKED, "understand little", "suppose", "definitions"],
)
"""Where walks begin: at the start, before a submission, before a verification."""
WALKS = st.builds(
    list.__add__,
    st.sampled_from(BEGINNINGS),
    st.lists(st.sampled_from(sorted(MOVES)), max_size=20),
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(Intent), WALKS)
def test_no_walk_leaves_the_table_or_lowers_what_is_asked(
    intent: Intent, chosen: list[str]
) -> None:
    session = started(intent)
    for choice in chosen:
        before = session
        try:
            session = after(session, *filter(None, MOVES[choice](session)))
        except CodeIntelError as error:
            assert error.hint  # noqa: PT017 - refusals are half of the walk
        assert RISKS.index(session.risk) >= RISKS.index(before.risk)
        assert {s.name for s in before.symbols if s.source == "FACT"} <= {
            s.name for s in session.symbols if s.source == "FACT"
        } | set(session.refuted)
        check_earned(before, session)
    first, *rest = session.phase_history
    assert first.target is START[intent]
    for earlier, change in zip(session.phase_history, rest, strict=False):
        assert TRANSITIONS[earlier.target][change.event] is change.target


def check_earned(before: Session, session: Session) -> None:
    """Whoever writes comes to READY by what the map or its own record says about its feature."""
    arrived = session.phase is Phase.READY and before.phase is not Phase.READY
    if not (arrived and session.intent.writes):
        return
    if session.ready_by == "understanding":
        assert session.missing == ()
        assert session.used("find_definitions")
        assert session.used("find_references")
    if session.ready_by != "map" and not session.greenfield:
        names = [symbol.name for symbol in session.symbols if symbol.source == "FACT"]
        assert carriers(session, names) or any(symbol.confirmed for symbol in session.symbols)


@given(st.sampled_from(Intent), st.lists(st.sampled_from(Event), max_size=30))
def test_any_events_lead_only_where_the_table_leads(intent: Intent, events: list[Event]) -> None:
    phase = START[intent]
    for event in events:
        try:
            reached = advance(phase, event)
        except PhaseError:
            assert event not in TRANSITIONS[phase]
            continue
        assert reached is TRANSITIONS[phase][event]
        phase = reached
