"""Log how many tokens the answers in sessions had, in `answers.jsonl` (docs/decisions/0086).

The journal of a session says what was asked and found, but not how long the answers were.
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
_LOG = LogFile("answers", flushed=False, max_bytes=_MAX_LOG_BYTES)


class AnswerSize(NamedTuple):
    """The size of one answer.

    Attributes:
        session: The name of the session.
        seq: The number of the last event in its journal when the answer was given.
        tool: The tool that answered, or `prompt` for the context that a hook added.
        tokens: The estimated tokens of what the model got.
    """

    session: str
    seq: int
    tool: str
    tokens: int


def append(folder: Path, size: AnswerSize) -> None:
    """Append a record to the log.

    Raises:
        StorageError: The log could not be written.
        BusyError: Another process holds the lock for too long.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = {"timestamp": now, "session_id": size.session, "seq": size.seq}
    row |= {"tool": size.tool, "tokens": size.tokens}
    _LOG.append(folder, row, patience=_LOCK_TIMEOUT_S)


def read(folder: Path) -> dict[str, list[AnswerSize]]:
    """Return the newest sizes by session, in the order of the answers.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    found: dict[str, list[AnswerSize]] = {}
    for row in _LOG.read(folder, limit=MAX_SIZES).records:
        values = (row.get("session_id"), row.get("seq"), row.get("tool"), row.get("tokens"))
        session, seq, tool, tokens = values
        is_valid = isinstance(session, str) and isinstance(tool, str)
        if is_valid and type(seq) is int and type(tokens) is int and tokens >= 0:
            size = AnswerSize(str(session), seq, str(tool), tokens)
            found.setdefault(size.session, []).append(size)
    return found
