"""Append-only logs of a project, `.code-intel/logs/<name>.jsonl`: one JSON object a line.

Only reports depend on them: an unreadable line is counted and skipped. Of a log that has grown,
only the end is read. A full log becomes `<name>.1.jsonl` and replaces the one before it. Secret
values are masked as they are written.
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
"""Bytes from which a log is full."""
MAX_LINE_BYTES = 64 * 1024
READ_BYTES = 4 * 1024 * 1024
"""Bytes at the end of each log that are read."""


class Log(NamedTuple):
    """What a log says, oldest first, and how many of its lines cannot be read."""

    records: tuple[dict[str, Any], ...]
    bad_lines: int


class LogFile(NamedTuple):
    """One log by its name; `flushed` says whether its lines must survive a crash of the machine."""

    name: str
    flushed: bool = True

    @property
    def file(self) -> str:
        """Name of the file that is written."""
        return f"{self.name}.jsonl"

    @property
    def older(self) -> str:
        """Name of the file that was full."""
        return f"{self.name}.1.jsonl"

    def append(self, folder: Path, *records: Mapping[str, Any], patience: float = 5.0) -> Path:
        """Append records in one write under the lock; wait at most `patience` seconds for it.

        Return the file of the log. A torn line does not affect other lines. After an error, none of
        these records are in the log.

        Raises:
            StorageError: The disk refused.
            BusyError: Another process is writing for too long.
        """
        log = folder / self.file
        lines = b"".join(map(line_of, records))
        with durable.locked(folder / f"{self.file}.lock", patience):
            if _is_full(log):
                durable.move(log, folder / self.older, overwrite=True)
            durable.append(log, lines, flushed=self.flushed)
        return log

    def read(self, folder: Path, *, most: int, **wanted: object) -> Log:
        """Return the newest records, at most `most`; a missing log is empty.

        Args:
            folder: Where the log is.
            most: Records at the most.
            wanted: Only records with these fields, such as `session_id`.

        Raises:
            StorageError: A log exists but cannot be read.
        """
        records: list[dict[str, Any]] = []
        bad = 0
        for name in (self.file, self.older):
            if len(records) < most:
                lines, broken = _parsed(_end_of(folder / name))
                found = [line for line in lines if all(line.get(k) == v for k, v in wanted.items())]
                records = [*found[-(most - len(records)) :], *records]
                bad += broken
        return Log(tuple(records), bad)


def _is_full(log: Path) -> bool:
    try:
        return log.stat().st_size >= MAX_LOG_BYTES
    except OSError:
        return False


def folder_of(state: Path) -> Path:
    """Return the folder of a project's logs."""
    return state / "logs"


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line of bounded length; the longest texts are cut first."""
    line = b""
    masked = masked_data(record)
    for longest in (MAX_LINE_BYTES, 2000, 200, 20):
        text = json.dumps(_cut(masked, longest), ensure_ascii=False)
        line = text.encode("utf-8", "replace") + b"\n"
        if len(line) <= MAX_LINE_BYTES:
            break
    return line


def _cut(value: object, longest: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[:longest]}…"
    if isinstance(value, Mapping):
        return {key: _cut(item, longest) for key, item in value.items()}
    return [_cut(item, longest) for item in value] if isinstance(value, list) else value


def _end_of(log: Path) -> bytes:
    """Return the last `READ_BYTES` of a log, from the beginning of a line."""
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


def _parsed(data: bytes) -> tuple[list[dict[str, Any]], int]:
    records: list[dict[str, Any]] = []
    bad = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            bad += 1
    return records, bad
