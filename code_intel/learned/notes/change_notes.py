"""Add, confirm and delete notes, under the lock of the agreements."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.notes.note import MAX_TITLE_CHARS, canonical, file_name, render
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import code_point, counted, hidden_character, without_hidden
from code_intel.index.safe_files import read_plain
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.notes.entries import NoteEntry
from code_intel.learned.notes.note_status import is_confirmed_note
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import trust_of
from code_intel.records import Note

MAX_TEXT_CHARS = 8000
MAX_NAME_CHARS = 300
MAX_LIST_ITEMS = 50
_TEXTS = ("text", "context", "consequences")
_LISTS = ("files", "symbols", "evidence", "supersedes")
_UNCONFIRMED = re.compile(
    r"^(confirmed[ \t]*[:：][ \t]*)(?:false|no|off)\b", re.MULTILINE | re.IGNORECASE
)


class NoteChange(NamedTuple):
    """What became of a note.

    Attributes:
        path: Its file.
        created: Whether the file is new.
        kept: Whether the file stays as it is, because a confirmed note has this title.
    """

    path: Path
    created: bool = False
    kept: bool = False


def checked_note(note: Note, now: datetime) -> Note:
    """Return a valid note, with secrets masked and `learned_at` filled in.

    Raises:
        UsageError: A field is missing, too long or invalid; the error names it.
    """
    if hidden := hidden_character(note.title):
        raise UsageError(
            f"title contains the invisible character {code_point(hidden)}.",
            hint="Write it without control, bidirectional and zero-width characters.",
            details={"field": "title"},
        )
    note = canonical(
        replace(
            note,
            title=masked(note.title),
            text=_clean(note.text),
            context=_clean(note.context),
            consequences=_clean(note.consequences),
            files=tuple(map(masked, note.files)),
            symbols=tuple(map(masked, note.symbols)),
            evidence=tuple(map(masked, note.evidence)),
            supersedes=tuple(map(masked, note.supersedes)),
            learned_at=note.learned_at or now.isoformat(),
        )
    )
    for field in ("title", "text"):
        if not getattr(note, field).strip():
            raise UsageError(f"{field} is empty.", details={"field": field})
    limits = {"title": MAX_TITLE_CHARS, **dict.fromkeys(_TEXTS, MAX_TEXT_CHARS)}
    for field, limit in limits.items():
        _require_length(field, getattr(note, field), limit)
    for field in _LISTS:
        items: tuple[str, ...] = getattr(note, field)
        if len(items) > MAX_LIST_ITEMS:
            raise UsageError(
                f"{field} has {counted(len(items), 'item')}; the limit is {MAX_LIST_ITEMS}.",
                details={"field": field},
            )
        for item in items:
            _require_length(field, item, MAX_TEXT_CHARS if field == "evidence" else MAX_NAME_CHARS)
    return note


def add_note(
    settings: Settings,
    note: Note,
    *,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
    dry: bool = False,
) -> NoteChange:
    """Write an unconfirmed note; it replaces an unconfirmed one of its kind and title.

    Raises:
        UsageError: The note is invalid; the error names the field.
        StorageError: The file could not be written.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    note = replace(checked_note(note, now), confirmed=False)
    with changing(settings, now, cache, dry=dry) as change:
        return write_notes(change, [note])[0]


def write_notes(change: MapChange, notes: Iterable[Note]) -> list[NoteChange]:
    """Write unconfirmed notes; the caller holds the lock.

    Raises:
        StorageError: A file could not be written.
    """
    settings = change.settings
    known = {note_key(entry.note): entry for entry in change.known().notes if entry.note}
    trust = trust_of(settings, frozenset(change.state.confirmed()))
    done: list[NoteChange] = []
    for note in notes:
        old = known.get(note_key(note))
        if old is not None and old.note is not None:
            ids = old.git_ids[0] if old.git_ids else frozenset[str]()
            entry = NoteEntry(old.path, old.note, old.digest, ids)
            if is_confirmed_note(entry, trust) or _says_the_same(old.note, note):
                done.append(NoteChange(old.path, kept=True))
                continue
            _replace(change, old.path, note)
            done.append(NoteChange(old.path))
            continue
        path = agreements.free_path(settings.agreements / file_name(note))
        change.files.replace(path, render(note, settings.language).encode())
        done.append(NoteChange(path, created=True))
    return done


def confirm_note(
    settings: Settings, entry: NoteEntry, *, now: datetime | None = None, dry: bool = False
) -> None:
    """Record that a note holds; in a file of the agreements folder, change `confirmed` alone.

    Raises:
        UsageError: The file has changed in the meantime.
        StorageError: The file could not be written.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    with changing(settings, now, dry=dry) as change:
        data = read_plain(entry.path)
        if agreements.digest_of(data) != entry.digest:
            raise UsageError(f"{entry.path.name} has just changed. Read it, then confirm it again.")
        if entry.note.confirmed is False:
            text = data.decode("utf-8", "surrogateescape")
            data = _UNCONFIRMED.sub(r"\1true", text, count=1).encode("utf-8", "surrogateescape")
        with change.state.transaction():
            change.state.confirm(agreements.digest_of(data), now)
        if not entry.is_record:
            change.files.replace(entry.path, data)


def delete_note(
    settings: Settings, entry: NoteEntry, *, now: datetime | None = None, dry: bool = False
) -> Path | None:
    """Move a note to the trash; return its copy there, or None in a dry run.

    Raises:
        UsageError: It is a decision record, which belongs to the project's documents.
        StorageError: The file could not be moved.
        BusyError: Another process holds the lock.
    """
    if entry.is_record:
        raise UsageError(
            f"{entry.path.name} is a decision record of the project.",
            hint="Delete the file yourself, or write a decision that supersedes it.",
            details={"field": "title"},
        )
    now = now or datetime.now(UTC)
    with changing(settings, now, dry=dry) as change:
        copy = change.to_trash(entry.path)
    return None if dry else copy


def _replace(change: MapChange, path: Path, note: Note) -> None:
    """Replace a note's file, and keep the old one in the trash."""
    name = agreements.relative(change.settings.agreements, path)
    trash.keep(change.settings, name, read_plain(path), now=change.now, files=change.files)
    change.files.replace(path, render(note, change.settings.language).encode())


def note_key(note: Note) -> tuple[str, str]:
    """Return the kind and the folded title, which identify a note."""
    return note.kind, note.title.casefold()


def _says_the_same(old: Note, new: Note) -> bool:
    return _content(old) == _content(new)


def _content(note: Note) -> Note:
    return replace(canonical(note), learned_at="", session_id="", confirmed=None)


def _clean(text: str) -> str:
    return without_hidden(masked(text))


def _require_length(field: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise UsageError(
            f"{field} has {counted(len(text), 'character')}; the limit is {limit}.",
            details={"field": field},
        )
