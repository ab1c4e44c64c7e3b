"""A file of the trash put back where it was, over nothing that is there (docs/decisions/0036).

It comes back as it went: confirmed only if this machine confirmed that very content, or the trunk of git
holds it (docs/decisions/0013).
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
    """Where a file is again, and what it says; no key where it cannot be read as an agreement."""

    path: Path
    key: Key | None


def restore(
    settings: Settings, name: str, *, now: datetime | None = None, dry: bool = False
) -> Restored:
    """Put a file of the trash back and take it out of the trash; a pair comes back as its agreement.

    Whoever dies in between has it in both places, and says the same again.

    Args:
        settings: The project.
        name: As in `trash.contents`.
        now: When.
        dry: Only say what would be.

    Raises:
        NotFoundError: Nothing in the trash is called so.
        UsageError: There is an agreement of its term and symbol, or another file, in its place.
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
    """Return what is to be put where; nothing where it is already."""
    kept = trash.named(settings, name)
    origin, key, data = _pair(kept) if kept.is_pair else _agreement(kept)
    target = settings.agreements / origin
    is_back = _is_back(settings, target, key, data)
    return kept, Restored(target, key), None if is_back else data


def text_of(kept: TrashEntry) -> str:
    """Return what a file of the trash says.

    Raises:
        StorageError: It cannot be read.
    """
    return _bytes(kept).decode("utf-8", "replace")


def _agreement(kept: TrashEntry) -> tuple[str, Key | None, bytes]:
    return kept.origin, agreements.load(kept.path).key, _bytes(kept)


def _pair(kept: TrashEntry) -> tuple[str, Key | None, bytes]:
    """Return the agreement that says what a pair said.

    Raises:
        StorageError: It is no pair.
    """
    pair = trash.pair_of(kept)
    if pair is None:
        raise StorageError(f"{kept.name} is no pair that could be read.", hint="Look at the file.")
    agreement = canonical(replace(pairs.to_agreement(pair), confirmed=False))
    folder = Path(kept.origin).parent
    origin = (folder / file_name(agreement.nl_term, agreement.symbol)).as_posix()
    return origin, agreements.key_of(agreement), render(agreement).encode()


def _is_back(settings: Settings, target: Path, key: Key | None, data: bytes) -> bool:
    """Whether the file is where it was already, in these very words.

    Raises:
        UsageError: Something else is, or its key has another file; or its place is not in the folder.
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
            f"{name} is there: {' → '.join(key)}." if entry and key else f"{name} is there.",
            hint="Compare both with `code-intel map trash show`; remove or rename that one first.",
            details={"field": "name"},
        )
    return False


def _bytes(kept: TrashEntry) -> bytes:
    try:
        return kept.path.read_bytes()
    except OSError as error:
        raise StorageError(f"{kept.path} cannot be read: {error.strerror}.") from error
