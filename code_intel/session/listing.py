"""List the sessions of a project, for display."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
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

State = Literal["open", "ended", "expired", "broken"]
FileState = tuple[int, ...]
"""Numbers that change when a file changes; empty without one."""


class SessionSummary(NamedTuple):
    """A session in a list.

    Attributes:
        name: Its public name.
        state: `open`, `ended` if its outcome was recorded, `expired`, or `broken` if its journal
            does not match its head.
        intent: What it was started for; None if broken.
        phase: Its current phase; None if broken.
        query: The first line of its query.
        started_at: ISO 8601 in UTC; empty if broken.
        used_at: When its last step was taken; if broken, when its file was last written.
        steps: How many steps it has.
        why: Why it is broken.
        outcome: Its last recorded outcome, if any.
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
    limit: int = MAX_JOURNALS,
    start: int = 0,
) -> tuple[SessionSummary, ...]:
    """Return up to `limit` sessions of a project after the first `start`, the last used first.

    A process replays a journal again only after a change.
    """
    now = clock() if clock else datetime.now(UTC)
    files = journal_files(paths)[start : start + limit]
    summaries = [_summarize(paths, file, expire_hours, now) for file in files]
    return tuple(sorted(summaries, key=lambda row: (row.used_at, row.name), reverse=True))


def file_state(path: Path) -> FileState:
    """Return numbers that change when a file changes; () without one."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _summarize(
    paths: SessionPaths, file: JournalFile, hours: float, now: datetime
) -> SessionSummary:
    states = file_state(file.path), file_state(paths.head(file.name))
    try:
        found = _replayed(paths, file.name, *states)
    except CodeIntelError as error:
        used_at = datetime.fromtimestamp(file.modified, UTC).isoformat()
        return SessionSummary(file.name, "broken", None, None, "", "", used_at, 0, error.message)
    is_over = found.state == "open" and is_expired(found.used_at, hours, now)
    return found._replace(state="expired") if is_over else found


@lru_cache(maxsize=MAX_JOURNALS)
def _replayed(
    paths: SessionPaths, name: str, journal_state: FileState, head_state: FileState
) -> SessionSummary:
    """Return the summary of a session whose journal and head are in these states."""
    del journal_state, head_state
    session = inspect(paths, name)
    return SessionSummary(
        session.name,
        "ended" if session.ended else "open",
        session.intent,
        session.phase,
        session.query.strip().splitlines()[0],
        session.started_at,
        session.updated_at,
        session.seq,
        outcome=session.outcomes[-1].outcome if session.outcomes else "",
    )
