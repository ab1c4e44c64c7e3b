"""Restore a file of the trash to its original place, without overwriting (docs/decisions/0036).

A restored agreement is confirmed only if this machine confirmed the same content, or git's main
branch contains it (docs/decisions/0013).
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import canonical, file_name, render
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.foundation import durable
from code_intel.learned.files import agreements, pairs, trash
from code_intel.learned.files.agreements import Key
from code_intel.learned.files.changes import changing
from code_intel.learned.files.trash import TrashEntry


class Restored(NamedTuple):
    """The restored file, and its key unless it cannot be read as an agreement."""

    path: Path
    key: Key | None


def restore(
    settings: Settings, name: str, *, now: datetime | None = None, dry: bool = False
) -> Restored:
    """Restore a file and remove it from the trash; a pair becomes an agreement.

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
    if dry:
        return _plan(settings, name)[1]
    now = now or datetime.now(UTC)
    with changing(settings, now) as change:
        kept, restored, data = _plan(settings, name)
        if data is not None:
            durable.create(restored.path, data)
        change.generate()
        durable.remove(kept.path)
    return restored


def _plan(settings: Settings, name: str) -> tuple[TrashEntry, Restored, bytes | None]:
    """Return the file, its target and its content; no content if it is restored already."""
    kept = trash.named(settings, name)
    origin, key, data = _pair(kept) if kept.is_pair else _agreement(kept)
    target = settings.agreements / origin
    is_back = _is_back(settings, target, key, data)
    return kept, Restored(target, key), None if is_back else data


def text_of(kept: TrashEntry) -> str:
    """Return the content of a file of the trash.

    Raises:
        StorageError: It cannot be read.
    """
    return _bytes(kept).decode("utf-8", "replace")


def _agreement(kept: TrashEntry) -> tuple[str, Key | None, bytes]:
    return kept.origin, agreements.load(kept.path).key, _bytes(kept)


def _pair(kept: TrashEntry) -> tuple[str, Key | None, bytes]:
    """Return the place, key and content of the agreement that a pair becomes.

    Raises:
        StorageError: It is not a valid pair.
    """
    pair = trash.pair_of(kept)
    if pair is None:
        raise StorageError(f"{kept.name} is not a valid pair.", hint="Check the file.")
    agreement = canonical(replace(pairs.to_agreement(pair), confirmed=False))
    folder = Path(kept.origin).parent
    origin = (folder / file_name(agreement.nl_term, agreement.symbol)).as_posix()
    return origin, agreements.key_of(agreement), render(agreement).encode()


def _is_back(settings: Settings, target: Path, key: Key | None, data: bytes) -> bool:
    """Whether the file is already in its place with the same content.

    Raises:
        UsageError: Another file or agreement is there, or its place is outside the folder.
    """
    if not target.parent.resolve().is_relative_to(settings.agreements.resolve()):
        raise UsageError(
            f"{target.parent} leads out of the agreements folder.",
            hint="Remove the link, or copy the file by hand.",
            details={"field": "name"},
        )
    entry = agreements.find(settings.agreements, key) if key else None
    for path in (entry.path,) if entry else (target,) if target.exists() else ():
        if path == target and target.is_file() and target.read_bytes() == data:
            return True
        name = path.relative_to(settings.agreements).as_posix()
        raise UsageError(
            f"{name} exists: {' → '.join(key)}." if entry and key else f"{name} exists.",
            hint="Compare it with `code-intel map trash show NAME`, and remove or rename it first.",
            details={"field": "name"},
        )
    return False


def _bytes(kept: TrashEntry) -> bytes:
    try:
        return kept.path.read_bytes()
    except OSError as error:
        raise StorageError(f"{kept.path} cannot be read: {error.strerror}.") from error
