"""The lines of a journal: one JSON object each, chained by hashes (docs/decisions/0008).

`{seq, at, event, data, prev, hash}`; `hash` is SHA-256 over the line without it, `prev` that of the
line before. A last line without its newline was never acknowledged and is dropped; anything else
that does not fit is refused, naming the file.
"""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import SessionError, UsageError
from code_intel.session.phases import Event
from code_intel.session.state import Record

FIRST = "0" * 64  # `prev` of the first line
LONGEST_LINE = 60_000  # bytes: one write below the size up to which appends stay whole


class Chain(NamedTuple):
    """A journal as read: its records, the hash and byte offset its next line follows, warnings."""

    records: tuple[Record, ...]
    last: str
    end: int
    warnings: tuple[str, ...]


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
            f"{event} has {len(body)} bytes; a session takes {longest} at once.",
            hint="Send less text, or in several calls.",
        )
    digest = hashlib.sha256(body).hexdigest()
    seen = json.loads(body)
    record = Record(seq, seen["at"], event, seen["data"])
    return record, _canonical({**seen, "hash": digest}) + b"\n", digest


def _canonical(row: dict[str, Any]) -> bytes:
    """Return `row` as one line of ASCII JSON, keys sorted: any string survives, also half a pair."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read(path: Path, raw: bytes) -> Chain:
    """Check the chain.

    Raises:
        SessionError: `session_broken`: a line that is not what was written, naming file and line.
    """
    whole, torn = raw[: raw.rfind(b"\n") + 1], raw[raw.rfind(b"\n") + 1 :]
    records: list[Record] = []
    last = FIRST
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            record, last = _decode(line, number, last)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise broken(path, f"line {number}: {error}") from error
        records.append(record)
    warnings = ("The journal's last line was torn and has been dropped.",) if torn else ()
    return Chain(tuple(records), last, len(whole), warnings)


def _decode(line: bytes, number: int, prev: str) -> tuple[Record, str]:
    """Return the record of one line and its hash, or raise what says that it is not one."""
    row = json.loads(line)
    digest = row.pop("hash")
    good = row["prev"] == prev and row["seq"] == number
    if not good or hashlib.sha256(_canonical(row)).hexdigest() != digest:
        raise ValueError("its hash does not follow")
    if datetime.fromisoformat(row["at"]).tzinfo is None:
        raise ValueError("its time has no offset")
    return Record(number, row["at"], Event(row["event"]), row["data"]), digest


def broken(path: Path, why: str) -> SessionError:
    """Return the error of a journal that cannot be believed."""
    return SessionError(
        f"The journal {path} is damaged ({why}).",
        code="session_broken",
        hint="Start a new session with start_session; the file is left as it is.",
        details={"file": str(path)},
    )
