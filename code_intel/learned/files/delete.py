"""Move one agreement to the trash, from which it can be restored (docs/decisions/0036)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.learned.files.agreements import Key, existing
from code_intel.learned.files.changes import changing
from code_intel.learned.status.snapshot import SnapshotCache


class DeletedFile(NamedTuple):
    """A file of a deleted agreement, and its copy in the trash; None in a dry run."""

    path: Path
    copy: Path | None = None


def delete(
    settings: Settings,
    key: Key,
    *,
    now: datetime | None = None,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> list[DeletedFile]:
    """Move all files of an agreement to the trash; return them.

    Args:
        settings: The project.
        key: The agreement's term and symbol.
        now: The current time.
        dry: Whether to return the files without moving them.
        cache: A cache of the agreements, for servers.

    Raises:
        NotFoundError: No readable agreement has this term and symbol.
        StorageError: A file could not be moved.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    with changing(settings, now, cache, dry=dry) as change:
        entry, _ = existing(change.known(), key)
        paths = (entry.path, *entry.other_paths)
        done = [DeletedFile(path, change.to_trash(path)) for path in paths]
        change.generate()
    return [DeletedFile(path) for path in paths] if dry else done
