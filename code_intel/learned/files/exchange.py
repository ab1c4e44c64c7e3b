"""Export and import agreements and notes as JSON Lines (docs/decisions/0036).

    {"format": "code-intel agreements", "version": 2}
    {"nl_term": "送料計算", "symbol": "shipping_fee", "aliases": [], "evidence": ["…"], "files": []}
    {"kind": "convention", "title": "…", "text": "…", "files": ["src/*.py"], "symbols": []}

Each line is an agreement or a note. Agreements are sorted by term and symbol, and notes follow by
kind and title, so that diffs are readable.
Confirmations, digests, sessions and times are not exported. An imported file is untrusted.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal, NamedTuple, cast

from code_intel.chunking.agreement import canonical, file_name
from code_intel.chunking.notes.note import EXPECTED_KINDS, NOTE_KINDS
from code_intel.chunking.notes.note import canonical as canonical_note
from code_intel.chunking.notes.note import file_name as note_file_name
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.foundation.redaction import masked_data
from code_intel.foundation.text import code_point, counted, hidden_character
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.agreements import AgreementFolder, Key
from code_intel.learned.files.changes import batches, changing
from code_intel.learned.learn import MAX_ALIASES, MAX_EVIDENCE, checked
from code_intel.learned.notes.change_notes import (
    MAX_LIST_ITEMS,
    checked_note,
    note_key,
    write_notes,
)
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.records import Agreement, FileReference, Note, NoteKind

FORMAT = "code-intel agreements"
EXPORT_VERSION = 2
"""Version 1 had agreements only."""
MAX_EXPORT_BYTES = 64 * 1024 * 1024
MAX_LINE = 1024 * 1024
MAX_RELATED_FILES = 200
MAX_PATH_CHARS = 1000
"""Limit of a related file's path."""

_LOCATION = re.compile(r"(.*?)(?::([0-9]{1,9}))?\Z", re.DOTALL)
_LISTS = {"evidence": MAX_EVIDENCE, "aliases": MAX_ALIASES, "files": MAX_RELATED_FILES}
_NAMES = {"code_evidence": "evidence", "alias": "aliases"}
"""Names of fields that differ between `checked` and the file."""

Fate = Literal["import", "known", "repeated", "blocked", "malformed"]
FATE_TEXTS: dict[Fate, str] = {
    "import": "imported, unconfirmed",
    "known": "skipped: it exists already",
    "repeated": "skipped: it is in an earlier line",
    "blocked": "skipped: an unreadable file has its name",
    "malformed": "skipped",
}
"""The result of a line, as the command line prints it."""


class Arrival(NamedTuple):
    """A line of an imported file.

    Attributes:
        line: The number of the line, counting from 1.
        fate: The result of importing it.
        agreement: The agreement, if the line is one.
        note: The note, if the line is one.
        field: The malformed field; empty if the whole line is malformed.
        reason: Why the line is malformed, as a sentence.
    """

    line: int
    fate: Fate
    agreement: Agreement | None = None
    note: Note | None = None
    field: str = ""
    reason: str = ""


def dump(chosen: Iterable[Agreement], notes: Iterable[Note] = ()) -> str:
    """Return agreements and notes in the export format; equal ones give equal text."""
    ordered = sorted(map(canonical, chosen), key=agreements.key_of)
    last = sorted(map(canonical_note, notes), key=lambda note: (note.kind, note.title))
    header: dict[str, object] = {"format": FORMAT, "version": EXPORT_VERSION}
    rows = [header, *map(_row, ordered), *map(_note_row, last)]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def is_export(data: bytes) -> bool:
    """Return whether bytes begin with the header of an export."""
    try:
        _require_header(_lines(data[:MAX_LINE])[0][1])
    except (UsageError, IndexError):
        return False
    return True


def read(data: bytes, now: datetime) -> Iterator[Arrival]:
    """Yield each line of a file with the result of importing it into an empty map.

    Raises:
        UsageError: The file has another format or a newer version, or is too large.
    """
    if len(data) > MAX_EXPORT_BYTES:
        raise _refusal(f"It is larger than {MAX_EXPORT_BYTES // 1024**2} MiB.")
    lines = _lines(data)
    if not lines:
        raise _refusal("It is empty.")
    _require_header(lines[0][1])
    return _arrivals(lines[1:], now)


def arrive(
    settings: Settings, data: bytes, *, now: datetime | None = None, dry: bool = False
) -> list[Arrival]:
    """Import the agreements of a file, unconfirmed, and return the result of each line.

    Existing agreements stay as they are.

    Args:
        settings: The project.
        data: The content of the file.
        now: The current time, recorded as `learned_at`.
        dry: Whether to return the results without importing anything.

    Raises:
        UsageError: The file cannot be imported.
        StorageError: A file could not be written; import again to add the rest.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    found = read(data, now)
    seen: set[Key] = set()
    if dry:
        return list(_planned(settings, agreements.look(settings.agreements), found, seen))
    done: list[Arrival] = []
    cache = SnapshotCache()
    for batch in batches(found):
        with changing(settings, now, cache) as change:
            known = change.known()
            plan = list(_planned(settings, known, batch, seen))
            new = [item.agreement for item in plan if item.fate == "import" and item.agreement]
            write_notes(change, (item.note for item in plan if item.fate == "import" and item.note))
            if new:
                agreements.write_all(settings.agreements, new, known, settings.language)
                change.generate()
        done += plan
    return done


def _planned(
    settings: Settings, known: AgreementFolder, found: Iterable[Arrival], seen: set[Key]
) -> Iterator[Arrival]:
    """Yield the result of importing each line into this map; add the keys to `seen`."""
    titles = {note_key(entry.note) for entry in known.notes if entry.note}
    for item in found:
        if item.agreement is not None:
            key = agreements.key_of(item.agreement)
            path = settings.agreements / file_name(*key)
        elif item.note is not None:
            key = note_key(item.note)
            path = settings.agreements / note_file_name(item.note)
        else:
            yield item
            continue
        fate: Fate = "import"
        if key in seen:
            fate = "repeated"
        elif key in known.by_key or key in titles:
            fate = "known"
        elif (path.exists() or path.is_symlink()) and not agreements.load(path).is_empty:
            fate = "blocked"
        seen.add(key)
        yield item._replace(fate=fate)


def _row(agreement: Agreement) -> dict[str, object]:
    files = (_location(file) for file in agreement.files if not _is_outside(file.path))
    return {
        "nl_term": agreement.nl_term,
        "symbol": agreement.symbol,
        "aliases": list(agreement.aliases),
        "evidence": list(agreement.evidence),
        "files": list(files),
        **({"role": agreement.role} if agreement.role else {}),
    }


_NOTE_TEXTS = ("title", "text", "context", "consequences", "status")
_NOTE_LISTS = ("files", "symbols", "evidence", "supersedes")


def _note_row(note: Note) -> dict[str, object]:
    row: dict[str, object] = {"kind": note.kind}
    row |= {name: getattr(note, name) for name in _NOTE_TEXTS}
    row |= {name: list(getattr(note, name)) for name in _NOTE_LISTS}
    return {name: value for name, value in row.items() if value}


def _location(file: FileReference) -> str:
    if not file.line and (found := _LOCATION.match(file.path)) and not found[2]:
        return file.path
    return f"{file.path}:{file.line}"


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    """Return the non-blank lines with their numbers."""
    rows = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [(number, row) for number, row in enumerate(rows, 1) if row.strip()]


def _require_header(line: bytes) -> None:
    try:
        header = _object(line)
    except ValueError:
        header = {}
    if header.get("format") != FORMAT or type(header.get("version")) is not int:
        raise _refusal("It does not begin with the header of an export.")
    if header["version"] > EXPORT_VERSION:
        raise _refusal(
            f"It has version {header['version']}, but this program reads only {EXPORT_VERSION}."
        )


def _refusal(reason: str) -> UsageError:
    return UsageError(
        f"The file cannot be imported: {reason}",
        hint="Name a file that was written by `code-intel map export`, this version or an earlier.",
        details={"field": "file"},
    )


def _arrivals(lines: Iterable[tuple[int, bytes]], now: datetime) -> Iterator[Arrival]:
    for number, line in lines:
        try:
            row = _object(line)
            if row.get("kind", "agreement") == "agreement":
                yield Arrival(number, "import", _agreement(row, now))
            else:
                yield Arrival(number, "import", note=_note(row, now))
        except ValueError as error:
            yield Arrival(number, "malformed", reason=f"The line is not a JSON object: {error}.")
        except UsageError as error:
            field = str(error.details.get("field", ""))
            name = _NAMES.get(field, field)
            reason = error.message.replace(field, name) if field else error.message
            yield Arrival(number, "malformed", field=name, reason=reason)


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, with secrets masked.

    Raises:
        ValueError: The line is not a JSON object; the message is a clause.
    """
    if len(line) > MAX_LINE:
        raise ValueError(f"it is larger than {MAX_LINE // 1024**2} MiB")
    try:
        found = masked_data(pairs.DECODER.decode(line.decode()))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg.removesuffix(' at')} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - callers catch one type
    return found


def _agreement(row: dict[str, Any], now: datetime) -> Agreement:
    """Return the agreement of a line; unknown keys are ignored.

    Raises:
        UsageError: A field is missing, invalid or too long; the error names it.
    """
    lists = {field: _texts(row, field, limit) for field, limit in _LISTS.items()}
    draft = Agreement(
        _text(row, "nl_term"),
        _text(row, "symbol"),
        evidence=lists["evidence"],
        files=tuple(map(_file, lists["files"])),
        aliases=lists["aliases"],
        role=_text(row, "role") if "role" in row else "",
    )
    agreement = canonical(checked(draft, now))
    try:
        agreements.rendered(agreement)
    except StorageError as error:
        raise UsageError(error.message, details={"field": "evidence"}) from None
    return agreement


def _note(row: dict[str, Any], now: datetime) -> Note:
    """Return the note of a line, unconfirmed.

    Raises:
        UsageError: A field is missing, invalid or too long; the error names it.
    """
    kind = row["kind"]
    if kind not in NOTE_KINDS:
        raise _field_error("kind", f"must be {EXPECTED_KINDS}")
    texts = {name: _text(row, name) for name in _NOTE_TEXTS if name in row}
    lists = {name: _texts(row, name, MAX_LIST_ITEMS) for name in _NOTE_LISTS}
    if any(map(_is_outside, lists["files"])):
        raise _field_error("files", "contains a path that is not in the project")
    note = Note(
        cast("NoteKind", kind),
        texts.get("title", ""),
        texts.get("text", ""),
        context=texts.get("context", ""),
        consequences=texts.get("consequences", ""),
        status=texts.get("status", ""),
        files=lists["files"],
        symbols=lists["symbols"],
        evidence=lists["evidence"],
        supersedes=lists["supersedes"],
    )
    return replace(checked_note(note, now), confirmed=False)


def _text(row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        raise _field_error(field, "is missing" if value is None else "must be a text")
    return value


def _texts(row: dict[str, Any], field: str, limit: int) -> tuple[str, ...]:
    value = row.get(field, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _field_error(field, "must be a list of texts")
    if len(value) > limit:
        raise _field_error(field, f"has {counted(len(value), 'item')}; the limit is {limit}")
    return tuple(value)


def _file(text: str) -> FileReference:
    found = _LOCATION.match(text)
    path, line = (found[1], int(found[2] or 0)) if found else (text, 0)
    if hidden := hidden_character(path):
        raise _field_error("files", f"contains the invisible character {code_point(hidden)}")
    if not path.strip() or len(path) > MAX_PATH_CHARS or _is_outside(path):
        raise _field_error("files", "contains a path that is empty, too long or not in the project")
    return FileReference(path, line)


def _is_outside(path: str) -> bool:
    """Return whether a path leads out of the project, on any operating system."""
    parts = PureWindowsPath(path)
    return bool(parts.anchor or PurePosixPath(path).is_absolute() or ".." in parts.parts)


def _field_error(field: str, problem: str) -> UsageError:
    return UsageError(f"{field} {problem}.", details={"field": field})
