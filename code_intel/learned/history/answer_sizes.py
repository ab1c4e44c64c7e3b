"""Log the tokens and times of the answers in sessions, in `answers.jsonl` (docs/decisions/0086).

The journal of a session says what was asked and found, but not how long the answers were, nor how
long they took.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.learned.history.logs import LogFile

MAX_SIZES = 50_000
"""Limit of the records that are read, newest first."""
_MAX_LOG_BYTES = 4 * 1024 * 1024
_LOCK_TIMEOUT_S = 0.2
"""Limit of the time that a call waits to write its record."""
_FIELDS = ("session_id", "seq", "tool", "tokens", "ms")
_LOG = LogFile("answers", flushed=False, max_bytes=_MAX_LOG_BYTES)


class AnswerSize(NamedTuple):
    """The size of one answer.

    Attributes:
        session: The name of the session.
        seq: The number of the last event in its journal when the answer was given.
        tool: The tool that answered, or `prompt` for the context that a hook added.
        tokens: The estimated tokens of what the model got.
        milliseconds: How long the call took; None in records of earlier versions.
    """

    session: str
    seq: int
    tool: str
    tokens: int
    milliseconds: int | None = None


def append(folder: Path, size: AnswerSize) -> None:
    """Append a record to the log.

    Raises:
        StorageError: The log could not be written.
        BusyError: Another process holds the lock for too long.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = {"timestamp": now, "session_id": size.session, "seq": size.seq}
    row |= {"tool": size.tool, "tokens": size.tokens}
    row |= {} if size.milliseconds is None else {"ms": size.milliseconds}
    _LOG.append(folder, row, patience=_LOCK_TIMEOUT_S)


def read(folder: Path) -> dict[str, list[AnswerSize]]:
    """Return the newest sizes by session, in the order of the answers.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    found: dict[str, list[AnswerSize]] = {}
    for row in _LOG.read(folder, limit=MAX_SIZES).records:
        session, seq, tool, tokens, took = map(row.get, _FIELDS)
        is_valid = isinstance(session, str) and isinstance(tool, str)
        if is_valid and type(seq) is int and type(tokens) is int and tokens >= 0:
            took = took if type(took) is int and took >= 0 else None
            size = AnswerSize(str(session), seq, str(tool), tokens, took)
            found.setdefault(size.session, []).append(size)
    return found
