"""The lines of a journal: one JSON object each, chained by hashes (docs/decisions/0008).

`{seq, at, event, data, prev, hash}`; `hash` is SHA-256 over the line without it, `prev` that of the
line before. What does not lead up to the acknowledged last line is refused, naming the file.
"""

import hashlib
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import SessionError, UsageError
from code_intel.session.heads import Head
from code_intel.session.phases import Event
from code_intel.session.state import Record
from code_intel.text import counted

FIRST = "0" * 64  # `prev` of the first line
LONGEST_LINE = 60_000  # bytes: one write below the size up to which appends stay whole


_LINE = re.compile(
    rb'(\{"at":"([^"]*)","data":.*,"event":"([a-z_]+)"),"hash":"([0-9a-f]{64})"'
    rb'(,"prev":"([0-9a-f]{64})","seq":([1-9][0-9]*)\})'
)
"""A line as `encode` writes it, keys sorted; without its hash it is what was hashed."""


class Line(NamedTuple):
    """One line whose hash is right: when, which event, its hash, and the line itself."""

    at: str
    event: Event
    digest: str
    raw: bytes


def encode(
    seq: int, now: datetime, event: Event, data: Any, prev: str, *, longest: int = LONGEST_LINE
) -> tuple[Record, bytes, str]:
    """Return the record as a reader will see it, secret values masked, its line, and its hash.

    Raises:
        UsageError: The event is too big for one line, or holds what JSON cannot.
    """
    from code_intel.redaction import masked_data  # a hook only reads

    said = masked_data(data)
    row = {"seq": seq, "at": now.isoformat(), "event": event.value, "data": said, "prev": prev}
    try:
        body = _canonical(row)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{event} cannot be journaled: {error}.") from error
    if len(body) > longest:
        raise UsageError(
            f"{event} has {counted(len(body), 'byte')}; a session takes {longest} at once.",
            hint="Send less text, or in several calls.",
        )
    digest = hashlib.sha256(body).hexdigest()
    seen = json.loads(body)
    record = Record(seq, seen["at"], event, seen["data"])
    return record, _canonical({**seen, "hash": digest}) + b"\n", digest


def _canonical(row: dict[str, Any]) -> bytes:
    """Return `row` as one line of ASCII JSON, keys sorted: any string survives, also half a pair."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def check(path: Path, raw: bytes, head: Head) -> tuple[Line, ...]:
    """Return the lines of `raw`, which is the journal up to the end of the acknowledged last one.

    Raises:
        SessionError: `session_broken`: lines are missing, or one is not what was written; names file
            and line.
    """
    if len(raw) < head.end or not raw.endswith(b"\n"):
        raise broken(path, f"it ends before line {head.seq}, the last that was acknowledged")
    lines: list[Line] = []
    last = FIRST
    for number, line in enumerate(raw.split(b"\n")[:-1], 1):
        try:
            lines.append(_checked(line, number, last))
        except ValueError as error:
            raise broken(path, f"line {number}: {error}") from error
        last = lines[-1].digest
    if (len(lines), last) != (head.seq, head.digest):
        raise broken(path, f"line {len(lines)} is not the one that was acknowledged last")
    return tuple(lines)


def record(path: Path, number: int, line: Line) -> Record:
    """Return what a line says.

    Raises:
        SessionError: `session_broken`: it says nothing that can be read.
    """
    try:
        return Record(number, line.at, line.event, json.loads(line.raw)["data"])
    except (ValueError, RecursionError) as error:
        raise broken(path, f"line {number}: {error}") from error


def _checked(raw: bytes, number: int, prev: str) -> Line:
    """Return a line, or raise what says that it is not the one after `prev`."""
    found = _LINE.fullmatch(raw)
    if found is None:
        raise ValueError("it is no line of a journal")
    body, at, event, digest, rest, before, seq = found.groups()
    good = before == prev.encode("ascii") and int(seq) == number
    if not good or hashlib.sha256(body + rest).hexdigest().encode("ascii") != digest:
        raise ValueError("its hash does not follow")
    if datetime.fromisoformat(at.decode("ascii")).tzinfo is None:
        raise ValueError("its time has no offset")
    return Line(at.decode("ascii"), Event(event.decode("ascii")), digest.decode("ascii"), raw)


def broken(path: Path, why: str) -> SessionError:
    """Return the error of a journal that cannot be believed."""
    return SessionError(
        f"The journal {path} is damaged ({why}).",
        code="session_broken",
        hint="Start a new session with start_session; the file is left as it is.",
        details={"file": str(path)},
    )
