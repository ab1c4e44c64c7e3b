"""Has this session earned the right to teach (docs/decisions/0008)."""

from collections.abc import Callable
from typing import NamedTuple

from code_intel.session.phases import Phase
from code_intel.session.state import Session


class Condition(NamedTuple):
    """One condition of learning; `why` is the answer when it does not hold."""

    holds: Callable[[Session, bool | None], bool]
    why: str


CONDITIONS: tuple[Condition, ...] = (
    Condition(lambda session, _: session.intent.writes, "the intent only reads"),
    Condition(
        lambda session, _: (
            session.phase is Phase.READY and session.ready_by in {"understanding", "verification"}
        ),
        "READY was not reached by understanding or verification",
    ),
    Condition(
        lambda session, _: bool(session.frame and session.frame.value("target_feature")),
        "the query frame names no target_feature",
    ),
    Condition(
        lambda session, _: bool(_earned(session)),
        "no symbol was both confirmed (confirm_symbol_relevance) and found by find_definitions or "
        "find_references in this session",
    ),
    Condition(
        lambda _, git_changed: git_changed is not False,
        "git sees no change in the explored files",
    ),
)
"""What a success must show before it teaches, in the order in which failures are told."""


def may_learn(session: Session, *, git_changed: bool | None) -> tuple[bool, str]:
    """Whether a success of this session may become a confirmed agreement, and why not.

    Args:
        session: The session.
        git_changed: Whether git sees a change in the explored files; None when it cannot tell.
    """
    for condition in CONDITIONS:
        if not condition.holds(session, git_changed):
            return False, condition.why
    if not pairs_to_learn(session):
        return False, "everything this session confirmed has been learned already"
    return True, ""


def pairs_to_learn(session: Session, *, corroborated: bool = True) -> tuple[tuple[str, str], ...]:
    """Return the (nl_term, symbol) pairs to learn: confirmed, corroborated, not yet learned.

    With `corroborated` False also those that no find_definitions or find_references call of this
    session has found: for a user who insists, never for a confirmed agreement.
    """
    term = session.frame.value("target_feature") if session.frame else ""
    confirmed = [symbol.name for symbol in session.symbols if symbol.confirmed]
    pairs = ((term, name) for name in (_earned(session) if corroborated else confirmed) if term)
    return tuple(pair for pair in pairs if pair not in session.learned)


def _earned(session: Session) -> tuple[str, ...]:
    return tuple(
        symbol.name
        for symbol in session.symbols
        if symbol.confirmed and session.corroborated(symbol.name)
    )
