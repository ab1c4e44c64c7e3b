"""What a call decided, as lines for the log of decisions. Pure; `Desk.note` writes them."""

from collections.abc import Iterator

from code_intel.errors import SessionError
from code_intel.learned.decisions import Decision
from code_intel.session.state import Session


def moves(before: Session, after: Session, tool: str) -> Iterator[Decision]:
    """Return the changes of phase that came between two states of one session."""
    for change in after.phase_history[len(before.phase_history) :]:
        what = f"{change.source} → {change.target}"
        lacking = f"; missing {'; '.join(after.missing)}" if after.missing else ""
        yield Decision("phase_moved", what, f"{change.event}{lacking}", tool)


def refusal(session: Session, error: SessionError, tool: str) -> Decision:
    """Return that a call was refused, and why."""
    listed = error.details.get("missing_requirements") or ()
    why = f"{error.message} {'; '.join(map(str, listed))}"
    return Decision("refused", f"{tool} in {session.phase}: {error.error}", why, tool)
