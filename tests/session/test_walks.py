"""Random calls to a session stay within the phase table and reach READY only when earned."""

from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import CodeIntelError
from code_intel.session.phases import START, TRANSITIONS, Intent, Phase
from code_intel.session.relevance import implementing_symbols
from code_intel.session.risk import Risk
from code_intel.session.state import Session
from session.moves import MOVES
from session.sessions import after, started

RISKS = list(Risk)
EXPLORED = ["frame", "issue", "action", "definitions", "references"]
BEGINNINGS: tuple[list[str], ...] = (
    [],
    EXPLORED,
    [*EXPLORED, "understand little", "suppose", "definitions"],
)
"""Where walks begin: at the start, before a submission, before a verification."""
WALKS = st.builds(
    list.__add__,
    st.sampled_from(BEGINNINGS),
    st.lists(st.sampled_from(sorted(MOVES)), max_size=20),
)


@given(st.sampled_from(Intent), WALKS)
def test_random_calls_follow_the_phase_table_and_never_lower_the_risk(
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
    """Check that a session that may write knows a symbol for its feature when it reaches READY."""
    arrived = session.phase is Phase.READY and before.phase is not Phase.READY
    if not (arrived and session.intent.writes):
        return
    if session.ready_by == "understanding":
        assert session.missing == ()
        assert session.has_used("find_definitions")
        assert session.has_used("find_references")
    if session.ready_by != "map" and not session.greenfield:
        names = [symbol.name for symbol in session.symbols if symbol.source == "FACT"]
        assert implementing_symbols(session, names) or any(
            symbol.confirmed for symbol in session.symbols
        )
