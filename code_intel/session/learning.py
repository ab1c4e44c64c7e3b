"""Decide what a successful session may teach the map (docs/decisions/0008)."""

from collections.abc import Callable
from typing import NamedTuple

from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.wording import symbol_parts


class LearningCondition(NamedTuple):
    """A condition of learning. If it fails, `why` gives the reason and `then` the remedy."""

    holds: Callable[[Session, bool | None], bool]
    why: str
    then: str


CONDITIONS: tuple[LearningCondition, ...] = (
    LearningCondition(
        lambda session, _: session.intent.writes,
        "the intent is read-only",
        "only a session that changes something can be learned from",
    ),
    LearningCondition(
        lambda session, _: session.ready_by != "map",
        "READY was reached through an agreement, not through understanding or verification",
        "that agreement counts as used; a new one needs an understanding of the code",
    ),
    LearningCondition(
        lambda session, _: (
            session.phase is Phase.READY and session.ready_by in {"understanding", "verification"}
        ),
        "READY was not reached through understanding or verification",
        "the next session can learn it, if it reaches READY before its outcome is recorded",
    ),
    LearningCondition(
        lambda session, _: bool(session.frame and session.frame.value("target_feature")),
        "the query frame names no target_feature",
        "give one when the next session starts",
    ),
    LearningCondition(
        lambda session, _: bool(_learnable_symbols(session)),
        "no symbol was both confirmed and looked up in this session",
        "confirm the symbols that implement the feature before the next outcome is recorded",
    ),
    LearningCondition(
        lambda _, git_changed: git_changed is not False,
        "git shows no change in the explored files",
        "once the change is there, call record_outcome again",
    ),
)
"""Conditions of learning, in the order in which failures are reported."""


def may_learn(session: Session, *, git_changed: bool | None) -> tuple[bool, str]:
    """Return whether a success of this session may become a confirmed agreement, and why not.

    Args:
        session: The session.
        git_changed: Whether git shows a change in the explored files; None if git cannot tell.
    """
    for condition in CONDITIONS:
        if not condition.holds(session, git_changed):
            return False, f"{condition.why}; {condition.then}"
    if not pairs_to_learn(session):
        return False, "everything this session confirmed has been learned already"
    return True, ""


def pairs_to_learn(session: Session, *, corroborated: bool = True) -> tuple[tuple[str, str], ...]:
    """Return the (nl_term, symbol) pairs to learn: confirmed, corroborated, not yet learned.

    With `corroborated` False, symbols that no find_definitions or find_references call of this
    session has found are included; they can become unconfirmed agreements if the user insists.
    """
    term = session.frame.value("target_feature") if session.frame else ""
    confirmed = tuple(symbol.name for symbol in session.symbols if symbol.confirmed)
    names = _learnable_symbols(session) if corroborated else confirmed
    pairs = ((term, name) for name in names if term)
    return tuple(pair for pair in pairs if pair not in session.learned)


def chose_another(session: Session, symbol: str) -> bool:
    """Return whether the session confirmed symbols of its feature, all unrelated to `symbol`.

    A method and its class are related.
    """
    prefix = _prefix(symbol)
    others = [_prefix(other) for other in _learnable_symbols(session)]
    return bool(others) and not any(
        other.startswith(prefix) or prefix.startswith(other) for other in others
    )


def _prefix(symbol: str) -> str:
    """Return the start of the dotted names of a symbol's members, such as `Auth.login.`."""
    return ".".join((*symbol_parts(symbol), ""))


def _learnable_symbols(session: Session) -> tuple[str, ...]:
    """Return the confirmed symbols that find_definitions or find_references found."""
    found = session.corroborated_symbols
    return tuple(s.name for s in session.symbols if s.confirmed and s.name in found)
