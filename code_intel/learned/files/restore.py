"""Restore a file from the trash, without overwriting anything (docs/decisions/0036).

A restored agreement is confirmed only if the same content was confirmed on this machine, or is on
the main branch (docs/decisions/0013).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.agreements import Key
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.status.snapshot import SnapshotCache


class RestoreResult(NamedTuple):
    """The restored file, and its key; None if the file cannot be read as an agreement."""

    path: Path
    key: Key | None


def restore(
    settings: Settings,
    name: str,
    *,
    now: datetime | None = None,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> RestoreResult:
    """Restore a file and remove it from the trash.

    If the process dies in between, both files exist; restoring again removes the one in the trash.

    Args:
        settings: The project.
        name: The name of the file in the trash, or the end of it.
        now: The current time.
        dry: Whether to return the result without restoring the file.
        cache: A cache of the agreements, for servers.

    Raises:
        NotFoundError: The trash contains no file with this name, or several.
        UsageError: An agreement with this term and symbol, or a file at this location, exists.
        StorageError: The file cannot be read or could not be written.
    """
    entry = trash.named(settings, name)
    restored = RestoreResult(settings.agreements / entry.origin, agreements.load(entry.path).key)
    with changing(settings, now or datetime.now(UTC), cache, dry=dry) as change:
        data = entry.read()
        if not _is_restored(change, restored, data):
            change.files.create(restored.path, data)
        change.generate()
        change.files.remove(entry.path)
    return restored


def _is_restored(change: MapChange, restored: RestoreResult, data: bytes) -> bool:
    """Return whether the original location already contains the file.

    Raises:
        UsageError: Another file or the same agreement exists, or the location is not in the folder.
    """
    settings, (target, key) = change.settings, restored
    if not target.parent.resolve().is_relative_to(settings.agreements.resolve()):
        raise UsageError(
            f"{target.parent} is outside the agreements folder.",
            hint="Remove the link, or copy the file by hand.",
            details={"field": "name"},
        )
    entry = change.known().by_key.get(key) if key else None
    path = entry.path if entry else target
    if not path.exists() or (path == target and target.is_file() and target.read_bytes() == data):
        return path.exists()
    name = agreements.relative(settings.agreements, path)
    raise UsageError(
        f"{name} exists: {' → '.join(key)}." if entry and key else f"{name} exists.",
        hint="Compare it with `code-intel map trash show NAME`, and remove or rename it first.",
        details={"field": "name"},
    )
