"""Export and import agreements as JSON Lines (docs/decisions/0036).

    {"format": "code-intel agreements", "version": 1}
    {"nl_term": "送料計算", "symbol": "shipping_fee", "aliases": [], "evidence": ["…"], "files": []}

Each line is an agreement; the lines are sorted by term and symbol, so that diffs are readable.
Confirmations, digests, sessions and times are not exported. An imported file is untrusted.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal, NamedTuple

from code_intel.chunking.agreement import canonical, file_name
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.foundation.redaction import masked_data
from code_intel.foundation.text import code_point, counted, hidden_character
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.agreements import AgreementFolder, Key
from code_intel.learned.files.changes import batches, changing
from code_intel.learned.learn import MAX_ALIASES, MAX_EVIDENCE, checked
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.records import Agreement, FileReference

FORMAT = "code-intel agreements"
EXPORT_VERSION = 1
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
    "known": "skipped: this term and symbol exist already",
    "repeated": "skipped: this term and symbol are in an earlier line",
    "blocked": "skipped: an unreadable file has its name",
    "malformed": "skipped",
}
"""The result of a line, as the command line prints it."""


class Arrival(NamedTuple):
    """A line of an imported file.

    Attributes:
        line: The number of the line, counting from 1.
        fate: The result of importing it.
        agreement: The agreement; None if the line is malformed.
        field: The malformed field; empty if the whole line is malformed.
        reason: Why the line is malformed, as a sentence.
    """

    line: int
    fate: Fate
    agreement: Agreement | None = None
    field: str = ""
    reason: str = ""


def dump(chosen: Iterable[Agreement]) -> str:
    """Return agreements in the export format; equal agreements give equal text."""
    ordered = sorted(map(canonical, chosen), key=agreements.key_of)
    rows = [{"format": FORMAT, "version": EXPORT_VERSION}, *map(_row, ordered)]
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
            if new:
                agreements.write_all(settings.agreements, new, known, settings.language)
                change.generate()
        done += plan
    return done


def _planned(
    settings: Settings, known: AgreementFolder, found: Iterable[Arrival], seen: set[Key]
) -> Iterator[Arrival]:
    """Yield the result of importing each line into this map; add the keys to `seen`."""
    for item in found:
        if item.agreement is None:
            yield item
            continue
        key = agreements.key_of(item.agreement)
        path = settings.agreements / file_name(*key)
        fate: Fate = "import"
        if key in seen:
            fate = "repeated"
        elif key in known.by_key:
            fate = "known"
        elif path.exists() or path.is_symlink():
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
    }


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
            yield Arrival(number, "import", _agreement(_object(line), now))
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
    )
    agreement = canonical(checked(draft, now))
    try:
        agreements.rendered(agreement)
    except StorageError as error:
        raise UsageError(error.message, details={"field": "evidence"}) from None
    return agreement


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
