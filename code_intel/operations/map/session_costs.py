"""Measure what sessions spent until READY, from their journals and the log of answers."""

from collections.abc import Iterator, Sequence

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.learned.history import answer_sizes
from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.learned.history.logs import folder_of
from code_intel.learned.history.worth import SessionCost
from code_intel.session import journal
from code_intel.session.phases import Event, Phase
from code_intel.session.state import Session
from code_intel.tools.context.gateway import sessions_of

MAX_SESSIONS = 300
"""Limit of the sessions that are measured, newest first, because each journal is replayed."""
FIRST_ANSWERS = frozenset({"start_session", "prompt"})
"""What answers first in a session; without it, the log lacks the session's beginning."""
_MAP_EVENTS = frozenset({Event.MAP_LIKELY, Event.MAP_CONFIDENT})


def session_costs(settings: Settings) -> Iterator[SessionCost]:
    """Yield the costs of the newest sessions that reached READY and were measured completely."""
    paths = sessions_of(settings)
    sizes = answer_sizes.read(folder_of(settings.state))
    for name in sorted(sizes, reverse=True)[:MAX_SESSIONS]:
        try:
            session = journal.inspect(paths, name)
        except CodeIntelError:  # deleted or damaged
            continue
        if cost := cost_of(session, sizes[name]):
            yield cost


def cost_of(session: Session, sizes: Sequence[AnswerSize]) -> SessionCost | None:
    """Return the cost until a session's first READY; None if there was none, or is unknown.

    The answer that led to READY is included. A session that is READY from its start is left out.
    """
    changes = session.phase_history
    ready = next((at for at, change in enumerate(changes) if change.target is Phase.READY), 0)
    if not ready or not sizes or sizes[0].tool not in FIRST_ANSWERS:
        return None
    is_led = any(change.event in _MAP_EVENTS for change in changes[: ready + 1])
    tokens = 0
    for size in sizes:
        tokens += size.tokens
        if size.seq >= changes[ready].seq:
            return SessionCost("map" if is_led else "forest", tokens)
    return None
