"""Measure sessions from their journals and the log of answers: costs, and answers of the map."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.history import answer_sizes
from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.learned.history.logs import folder_of
from code_intel.learned.history.worth import SessionCost
from code_intel.session import journal
from code_intel.session.phases import Event, Phase
from code_intel.session.replay import replay
from code_intel.session.state import JournalRecord, Session
from code_intel.tools.context.gateway import sessions_of

MAX_SESSIONS = 300
"""Limit of the sessions that are measured, newest first, because each journal is replayed."""
FIRST_ANSWERS = frozenset({"start_session", "prompt"})
"""What answers first in a session; without it, the log lacks the session's beginning."""
_MAP_EVENTS = frozenset({Event.MAP_LIKELY, Event.MAP_CONFIDENT})


class ScoredAnswer(NamedTuple):
    """An answer of the map in a session.

    Attributes:
        session: The name of the session.
        key: The key of the agreement.
        query: What the session had asked.
        score: Its score, from 0 to 1.
    """

    session: str
    key: Key
    query: str
    score: float


class SessionFigures(NamedTuple):
    """What one session cost, if that is known, and what the map answered in it."""

    cost: SessionCost | None
    answers: tuple[ScoredAnswer, ...]


class SessionFigureCache:
    """Measures the newest sessions, and keeps the figures until a journal changes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[object, SessionFigures]] = {}

    def figures(
        self, settings: Settings, sizes: Mapping[str, Sequence[AnswerSize]] | None = None
    ) -> list[SessionFigures]:
        """Return the figures of the newest sessions, the most recently used first; this blocks.

        `sizes` is the log of answers, if the caller has read it.
        """
        paths = sessions_of(settings)
        sizes = answer_sizes.read(folder_of(settings.state)) if sizes is None else sizes
        with self._lock:
            found: dict[str, tuple[object, SessionFigures]] = {}
            for file in journal.journal_files(paths)[:MAX_SESSIONS]:
                logged = sizes.get(file.name, [])
                basis = (file.modified, len(logged))
                known = self._known.get(file.name)
                if known is None or known[0] != basis:
                    records = journal.read_intact(paths, file.name).records
                    known = basis, _figures_of(file.name, records, logged)
                found[file.name] = known
            self._known = found
            return [figures for _, figures in found.values()]


def session_costs(settings: Settings) -> Iterator[SessionCost]:
    """Yield the costs of the newest sessions that reached READY and were measured completely."""
    found = SessionFigureCache().figures(settings)
    yield from (each.cost for each in found if each.cost)


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


def _figures_of(
    name: str, records: Sequence[JournalRecord], sizes: Sequence[AnswerSize]
) -> SessionFigures:
    answers = tuple(
        ScoredAnswer(
            name,
            make_key(str(data["nl_term"]), str(data.get("agreed") or data["symbol"])),
            str(data["query"]),
            float(data["score"]),
        )
        for record in records
        if record.event in _MAP_EVENTS and isinstance((data := record.data)["score"], int | float)
    )
    try:
        cost = cost_of(replay(records), sizes) if records and sizes else None
    except CodeIntelError:  # damaged
        cost = None
    return SessionFigures(cost, answers)
