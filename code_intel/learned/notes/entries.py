"""Read the notes of a project: files of the agreements folder, and its decision records."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from code_intel.chunking.decode import decode
from code_intel.chunking.notes import decision_record
from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation.text import visible
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.agreements import AgreementEntry, AgreementFolder, git_ids
from code_intel.learned.files.stat_cache import FolderCache
from code_intel.records import Note, NoteKind

MAX_RECORD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A note and its file.

    Attributes:
        path: The file.
        note: The note.
        digest: Hex SHA-256 of the content with LF line endings.
        git_ids: The object ids that git may give its content.
        is_record: Whether it is a decision record outside the agreements folder, which code-intel
            never changes.
    """

    path: Path
    note: Note
    digest: str
    git_ids: frozenset[str]
    is_record: bool = False


class RecordCache:
    """The decision records of a project; only changed files are read again. Not thread-safe."""

    def __init__(self) -> None:
        self._folders: dict[Path, FolderCache[NoteEntry | Path]] = {}

    @property
    def revision(self) -> int:
        """A number that grows with every change."""
        return sum(folder.revision for folder in self._folders.values())

    def look(self, folders: Iterable[Path]) -> tuple[NoteEntry, ...]:
        """Return the current records; what is not a folder has none.

        Raises:
            StorageError: A folder exists but cannot be listed.
        """
        found: list[NoteEntry] = []
        for folder in filter(Path.is_dir, folders):
            files = self._folders.setdefault(folder, FolderCache(_load_record)).look(folder)
            found += [each for each in files if isinstance(each, NoteEntry)]
        return tuple(found)


def entries_of(known: AgreementFolder) -> tuple[NoteEntry, ...]:
    """Return the notes of the agreements folder."""
    return tuple(
        NoteEntry(entry.path, entry.note, entry.digest, _ids(entry))
        for entry in known.notes
        if entry.note is not None
    )


def find_note(notes: Iterable[NoteEntry], title: str, kind: NoteKind | None = None) -> NoteEntry:
    """Return the note with a title or file name.

    Raises:
        NotFoundError: It does not exist.
        UsageError: Several notes have this title; the hint names their files.
    """
    wanted = title.strip().casefold()
    found = [
        entry
        for entry in notes
        if (kind is None or entry.note.kind == kind)
        and wanted in {entry.note.title.casefold(), entry.path.name.casefold()}
    ]
    if not found:
        raise NotFoundError(
            f"There is no {kind or 'note'} “{visible(title)}”.",
            hint="`code-intel map list` lists the notes with their titles.",
            details={"field": "title"},
        )
    if len(found) > 1:
        names = ", ".join(visible(entry.path.name) for entry in found)
        raise UsageError(
            f"Several notes are called “{visible(title)}”.",
            hint=f"Name the file instead: {names}.",
            details={"field": "title"},
        )
    return found[0]


def is_named(entry: NoteEntry, name: str) -> bool:
    """Return whether `supersedes` may mean this entry: its title, file name or number."""
    stem = entry.path.stem.casefold()
    name = name.strip().casefold().removesuffix(".md")
    number = stem.split("-")[0].split("_")[0].lstrip("0")
    return name in {entry.note.title.casefold(), stem} or (
        name.isdigit() and name.lstrip("0") == number
    )


def _ids(entry: AgreementEntry) -> frozenset[str]:
    return entry.git_ids[0] if entry.git_ids else frozenset()


def _load_record(path: Path, before: NoteEntry | Path | None = None) -> NoteEntry | Path:
    """Return the decision record in a file; the path alone for another file."""
    try:
        data = read_plain(path)
    except OSError:
        return path
    digest = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
    if isinstance(before, NoteEntry) and before.digest == digest:
        return before
    text = decode(data) if len(data) <= MAX_RECORD_BYTES else None
    note = decision_record.read(text, path.stem) if text else None
    return NoteEntry(path, note, digest, git_ids(data), is_record=True) if note else path
