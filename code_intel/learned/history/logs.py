"""Write and read append-only logs, `.code-intel/logs/<name>.jsonl`, with one JSON object per line.

Only reports depend on them. Unreadable lines are counted and skipped, and only the end of a long
log is read. A full log is renamed to `<name>.1.jsonl`, which replaces the previous one. Secrets are
masked when a line is written.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.foundation.redaction import masked_data

MAX_LOG_BYTES = 8 * 1024 * 1024
"""Size in bytes from which a log is full."""
MAX_LINE_BYTES = 64 * 1024
READ_BYTES = 4 * 1024 * 1024
"""Number of bytes that are read from the end of a log."""


class Log(NamedTuple):
    """The records of a log, oldest first, and the number of unreadable lines."""

    records: tuple[dict[str, Any], ...]
    bad_lines: int


class LogFile(NamedTuple):
    """A log.

    Attributes:
        name: Its name.
        flushed: Whether its lines survive a power failure.
        max_bytes: Size from which it is full.
    """

    name: str
    flushed: bool = True
    max_bytes: int = MAX_LOG_BYTES

    @property
    def file(self) -> str:
        """The name of the file that is written."""
        return f"{self.name}.jsonl"

    @property
    def older(self) -> str:
        """The name of the previous file, which is full."""
        return f"{self.name}.1.jsonl"

    def append(self, folder: Path, *records: Mapping[str, Any], patience: float = 5.0) -> Path:
        """Append records in one write under a lock; return the file.

        Wait at most `patience` seconds for the lock. After an error, the log contains none of the
        records.

        Raises:
            StorageError: The log could not be written.
            BusyError: Another process holds the lock for too long.
        """
        log = folder / self.file
        lines = b"".join(map(line_of, records))
        with durable.locked(folder / f"{self.file}.lock", patience):
            if _has_size(log, self.max_bytes):
                durable.move(log, folder / self.older, overwrite=True)
            durable.append(log, lines, flushed=self.flushed)
        return log

    def read(self, folder: Path, *, limit: int, containing: bytes = b"", **wanted: object) -> Log:
        """Return the newest records; a missing log is empty.

        Args:
            folder: The folder of the logs.
            limit: Maximum number of records.
            containing: A part of a line as it is written; other lines are skipped without parsing.
            wanted: Values of fields, such as `session_id`, that the records must have.

        Raises:
            StorageError: A log exists but cannot be read.
        """
        records: list[dict[str, Any]] = []
        bad_lines = 0
        for name in (self.file, self.older):
            if len(records) < limit:
                parsed = _parse(_end_of(folder / name), containing)
                found = [row for row in parsed.records if wanted.items() <= row.items()]
                records = [*found[-(limit - len(records)) :], *records]
                bad_lines += parsed.bad_lines
        return Log(tuple(records), bad_lines)


def _has_size(log: Path, size: int) -> bool:
    try:
        return log.stat().st_size >= size
    except OSError:
        return False


def folder_of(state: Path) -> Path:
    """Return the folder of a project's logs."""
    return state / "logs"


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line of at most `MAX_LINE_BYTES`, cutting the longest texts first."""
    line = b""
    masked = masked_data(record)
    for limit in (MAX_LINE_BYTES, 2000, 200, 20):
        text = json.dumps(_cut(masked, limit), ensure_ascii=False)
        line = text.encode("utf-8", "replace") + b"\n"
        if len(line) <= MAX_LINE_BYTES:
            break
    return line


def _cut(value: object, limit: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}…"
    if isinstance(value, Mapping):
        return {key: _cut(item, limit) for key, item in value.items()}
    return [_cut(item, limit) for item in value] if isinstance(value, list) else value


def _end_of(log: Path) -> bytes:
    """Return the last `READ_BYTES` of a log, starting at the beginning of a line."""
    try:
        with log.open("rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            start = max(0, size - READ_BYTES)
            handle.seek(start)
            data = handle.read(READ_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"{log} cannot be read: {error.strerror or error}.") from error
    return data.partition(b"\n")[2] if start else data


def _parse(data: bytes, containing: bytes) -> Log:
    records: list[dict[str, Any]] = []
    bad_lines = 0
    for line in data.split(b"\n"):
        if containing not in line or not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            bad_lines += 1
    return Log(tuple(records), bad_lines)
