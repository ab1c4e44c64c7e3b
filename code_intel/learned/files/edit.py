"""Replace the whole text of an agreement or a note, as a person wants it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from code_intel.chunking.decode import decode
from code_intel.config import Settings
from code_intel.errors import ConflictError, NotFoundError, UsageError
from code_intel.foundation.text import visible
from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.files.conflict import sides_of
from code_intel.learned.files.shown_text import shown_text, written_bytes
from code_intel.learned.recording import content_of, raw_digest
from code_intel.learned.status.snapshot import SnapshotCache

SideName = Literal["ours", "theirs"]


class EditedFile(NamedTuple):
    """The file of an agreement or a note, and its content.

    Attributes:
        path: The file.
        text: Its text, with secrets masked.
        shown: Its text as an editor shows it: with LF, and hidden characters as escapes, too.
        digest: The hex SHA-256 of its bytes, which `edit` compares.
        entry: What the file says, or why it cannot be read.
    """

    path: Path
    text: str
    shown: str
    digest: str
    entry: AgreementEntry


def load_file(settings: Settings, name: str, cache: SnapshotCache | None = None) -> EditedFile:
    """Return a file of the agreements folder.

    Args:
        settings: The project.
        name: Its name, relative to the folder.
        cache: A cache of the agreements, for servers.

    Raises:
        NotFoundError: The folder has no such file.
        StorageError: It cannot be read.
    """
    known = (cache or SnapshotCache()).known(settings)
    path = _path_of(settings, known.entries + known.notes, name)
    data = content_of(path) or b""
    text = decode(data)
    if text is None:
        text = data.decode("utf-8", "replace")
    return EditedFile(path, text, shown_text(data), raw_digest(data), agreements.parsed(path, data))


def edit(
    settings: Settings,
    name: str,
    text: str,
    digest: str,
    *,
    now: datetime | None = None,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> AgreementEntry:
    """Write another text; return what the file then says.

    A confirmed agreement must be confirmed again, as after any edit. Its history is kept, even if
    its term or symbol changes. Lines that were left as they were shown keep their secrets and
    hidden characters; secrets in other lines are masked.

    Args:
        settings: The project.
        name: The file's name, relative to the agreements folder.
        text: The new text; its line ends become those of the old one.
        digest: The hex SHA-256 of the bytes that the person has seen.
        now: The current time.
        dry: Whether to return the result without writing anything.
        cache: A cache of the agreements, for servers.

    Raises:
        ConflictError: The file has changed since it was seen.
        UsageError: The text is not a valid agreement or note, or cannot be written without loss;
            the error names the field.
        NotFoundError: The folder has no such file.
        BusyError: Another process holds the lock.
    """

    def new(old: bytes, _path: Path) -> bytes:
        return written_bytes(old, text)

    return _replace(settings, name, digest, new, now=now, dry=dry, cache=cache)


def keep_side(
    settings: Settings,
    name: str,
    side: SideName,
    digest: str,
    *,
    dry: bool = False,
    cache: SnapshotCache | None = None,
) -> AgreementEntry:
    """Write one side of a file with conflict markers, byte by byte; see `edit`.

    Raises:
        UsageError: The file has no complete conflict, or the side is no valid agreement or note.
    """

    def new(old: bytes, path: Path) -> bytes:
        sides = sides_of(path, old.decode("utf-8", "surrogateescape"))
        if sides is None:
            raise UsageError(
                f"{visible(path.name)} has no complete merge conflict.",
                hint="Edit the text of the file.",
                details={"field": "side"},
            )
        kept = sides.ours if side == "ours" else sides.theirs
        return kept.text.encode("utf-8", "surrogateescape")

    return _replace(settings, name, digest, new, dry=dry, cache=cache)


def _replace(
    settings: Settings,
    name: str,
    digest: str,
    new: Callable[[bytes, Path], bytes],
    *,
    now: datetime | None = None,
    dry: bool,
    cache: SnapshotCache | None,
) -> AgreementEntry:
    with changing(settings, now or datetime.now(UTC), cache, dry=dry) as change:
        known = change.known()
        path = _path_of(settings, known.entries + known.notes, name)
        old = content_of(path) or b""
        if raw_digest(old) != digest:
            raise ConflictError(
                f"{visible(path.name)} has changed in the meantime. Nothing was written.",
                details={"files": [visible(path.name)]},
            )
        data = new(old, path)
        entry = agreements.parsed(path, data)
        _require_valid(entry, data)
        _require_free_key(change, path, entry.key)
        before = agreements.parsed(path, old).key
        if before and entry.key and before != entry.key:
            change.state.copy(before, entry.key)
            change.state.forget(before)
        if data != old:
            change.files.replace(path, data)
            change.generate()
    return entry


def _path_of(settings: Settings, entries: tuple[AgreementEntry, ...], name: str) -> Path:
    for entry in entries:
        for path in (entry.path, *entry.other_paths):
            if agreements.relative(settings.agreements, path) == name:
                return path
    raise NotFoundError(
        f"The agreements folder has no file {visible(name[:200])}.",
        hint="`code-intel map list` lists the agreements and notes.",
        details={"field": "file"},
    )


def _require_valid(entry: AgreementEntry, data: bytes) -> None:
    """Require that a text is an agreement or a note.

    Raises:
        UsageError: It is not; the error names the field and the line.
    """
    if len(data) > agreements.MAX_AGREEMENT_BYTES:
        raise UsageError("The text is larger than 1 MiB.", details={"field": "text"})
    if entry.agreement is None and entry.note is None:
        at = f" (line {entry.line})" if entry.line else ""
        raise UsageError(
            f"{entry.reason.removesuffix('.')}{at}.",
            hint="Correct the text. docs/agreements.md describes the format.",
            details={"field": entry.field or "text", "line": entry.line},
        )


def _require_free_key(change: MapChange, path: Path, key: Key | None) -> None:
    """Require that no other file has the term and the symbol.

    Raises:
        UsageError: Another file has them.
    """
    found = change.known().by_key.get(key) if key else None
    if key and found and path not in {found.path, *found.other_paths}:
        raise UsageError(
            f"{visible(found.path.name)} already says {key[0]} → {key[1]}.",
            hint="Change that file, or delete it first.",
            details={"field": "nl_term"},
        )
