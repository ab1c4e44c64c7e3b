"""List the sessions of a project, for display."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.session.heads import SessionPaths
from code_intel.session.journal import (
    MAX_JOURNALS,
    JournalFile,
    inspect,
    is_expired,
    journal_files,
)
from code_intel.session.phases import Intent, Phase

State = Literal["open", "expired", "broken"]


class SessionSummary(NamedTuple):
    """One session of a list.

    Attributes:
        name: Its public name.
        state: `open`, `expired`, or `broken`: its journal does not match its head.
        intent: What it was started for; None when broken.
        phase: Its current phase; None when broken.
        query: The first line of its query.
        started_at: ISO 8601 in UTC; empty when broken.
        used_at: When its last step was taken, likewise; of a broken one when its file was written.
        steps: How many steps it has.
        why: What is wrong with a broken one.
        outcome: The last recorded outcome; empty if none exists.
    """

    name: str
    state: State
    intent: Intent | None
    phase: Phase | None
    query: str
    started_at: str
    used_at: str
    steps: int
    why: str = ""
    outcome: str = ""


def list_sessions(
    paths: SessionPaths,
    *,
    expire_hours: float = 0,
    clock: Callable[[], datetime] | None = None,
    most: int = MAX_JOURNALS,
) -> tuple[SessionSummary, ...]:
    """Return the `most` recently used sessions of a project, the last used first."""
    now = clock() if clock else datetime.now(UTC)
    found = [_listed(paths, file, expire_hours, now) for file in journal_files(paths)[:most]]
    return tuple(sorted(found, key=lambda one: (one.used_at, one.name), reverse=True))


def _listed(paths: SessionPaths, file: JournalFile, hours: float, now: datetime) -> SessionSummary:
    try:
        session = inspect(paths, file.name)
    except CodeIntelError as error:
        used = datetime.fromtimestamp(file.modified, UTC).isoformat()
        return SessionSummary(file.name, "broken", None, None, "", "", used, 0, error.message)
    return SessionSummary(
        session.name,
        "expired" if is_expired(session.updated_at, hours, now) else "open",
        session.intent,
        session.phase,
        session.query.strip().splitlines()[0],
        session.started_at,
        session.updated_at,
        session.seq,
        outcome=session.outcomes[-1].outcome if session.outcomes else "",
    )
