"""Restore a file of the trash to its original place, without overwriting (docs/decisions/0036).

A restored agreement is confirmed only if this machine confirmed the same content, or git's main
branch contains it (docs/decisions/0013).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation import durable
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.agreements import Key
from code_intel.learned.files.changes import changing


class RestoreResult(NamedTuple):
    """The restored file, and its key unless it cannot be read as an agreement."""

    path: Path
    key: Key | None


def restore(
    settings: Settings, name: str, *, now: datetime | None = None, dry: bool = False
) -> RestoreResult:
    """Restore a file and remove it from the trash.

    If the process dies in between, the file is in both places; restoring it again completes that.

    Args:
        settings: The project.
        name: Its name in `trash.contents`, or the end of it.
        now: The time.
        dry: Whether to only return what would be restored.

    Raises:
        NotFoundError: The trash has no file of that name.
        UsageError: An agreement with its term and symbol exists, or a file is in its place.
        StorageError: It cannot be read, or the disk refused.
    """
    entry = trash.named(settings, name)
    restored = RestoreResult(settings.agreements / entry.origin, agreements.load(entry.path).key)
    with changing(settings, now or datetime.now(UTC), dry=dry) as change:
        data = entry.read()
        is_back = _is_back(settings, restored, data)
        if not dry:
            if not is_back:
                durable.create(restored.path, data)
            change.generate()
            durable.remove(entry.path)
    return restored


def _is_back(settings: Settings, restored: RestoreResult, data: bytes) -> bool:
    """Return whether the file is already in its place with the same content.

    Raises:
        UsageError: Another file or agreement is there, or its place is outside the folder.
    """
    target, key = restored
    if not target.parent.resolve().is_relative_to(settings.agreements.resolve()):
        raise UsageError(
            f"{target.parent} leads out of the agreements folder.",
            hint="Remove the link, or copy the file by hand.",
            details={"field": "name"},
        )
    entry = agreements.find(settings.agreements, key) if key else None
    path = entry.path if entry else target
    if not path.exists() or (path == target and target.is_file() and target.read_bytes() == data):
        return path.exists()
    name = agreements.relative(settings.agreements, path)
    raise UsageError(
        f"{name} exists: {' → '.join(key)}." if entry and key else f"{name} exists.",
        hint="Compare it with `code-intel map trash show NAME`, and remove or rename it first.",
        details={"field": "name"},
    )
