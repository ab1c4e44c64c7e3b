"""Undo what was learned from an outcome that has been corrected."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.learned.files import trash
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.changes import changing
from code_intel.learned.status.snapshot import SnapshotCache


class Withdrawal(NamedTuple):
    """An agreement that was moved to the trash, its file, and its name in the trash."""

    key: Key
    path: Path
    trashed: str


def withdraw(
    settings: Settings,
    session_id: str,
    created: Sequence[Key],
    *,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
) -> list[Withdrawal]:
    """Undo what a session's outcome has taught; return the agreements moved to the trash.

    The session's uses, confirmations, failures and aliases no longer count. Agreements that existed
    before the session stay.

    Args:
        settings: The project.
        session_id: The session.
        created: The agreements that the session has created. One that another session has written
            since stays.
        now: The current time.
        cache: A cache of the agreements, for servers.

    Raises:
        StorageError: A file could not be moved; nothing else has changed.
        BusyError: Another process holds the lock for too long.
    """
    now = now or datetime.now(UTC)
    done: list[Withdrawal] = []
    with changing(settings, now, cache) as change:
        known = change.known().by_key
        for key in created:
            entry = known.get(make_key(*key))
            if entry and entry.agreement and entry.agreement.session_id == session_id:
                top = trash.folder_of(settings)
                moved = trash.move(settings, entry.path, now=now)
                done.append(Withdrawal(key, entry.path, moved.relative_to(top).as_posix()))
        if done:
            change.generate()
        change.state.forget_outcome(session_id)
    return done
