"""Has this session earned the right to teach? (docs/decisions/0008)"""

from code_intel.session.state import Session


def may_learn(session: Session, *, git_changed: bool | None) -> tuple[bool, str]:
    """Whether a success of this session may become a confirmed agreement, and why not.

    Args:
        session: The session.
        git_changed: Whether git sees a change in the explored files; None when it cannot tell.
    """


def pairs_to_learn(session: Session) -> tuple[tuple[str, str], ...]:
    """Return the (nl_term, symbol) pairs to learn: confirmed, corroborated, not yet learned."""
