"""Log the failures of hooks, `.code-intel/logs/hook_failures.jsonl`, which `doctor` reads.

A hook must never break its client, so a failure is logged here and reported nowhere else. The log
needs little time and space: it has at most two files of `MAX_LOG_BYTES`.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from traceback import walk_tb
from typing import NamedTuple

from code_intel.errors import CodeIntelError

MAX_LOG_BYTES = 128 * 1024
"""Size from which a log file is full."""
MAX_FAILURES = 500
"""Maximum number of failures that are read."""
MAX_AGE = timedelta(days=7)
"""Age of the failures that are still reported."""
_NAME = "hook_failures"
_MAX_MESSAGE_CHARS = 300
_LOCK_TIMEOUT_S = 0.1
"""Limit of the time that a hook waits to write its log entry."""
_PACKAGE = "code_intel"


class HookFailure(NamedTuple):
    """A failure of a hook.

    Attributes:
        at: When it happened, in ISO 8601 in UTC.
        client: The client whose hook failed.
        error: The type of the exception.
        message: What happened, on one line.
        where: The last place of this package in the traceback, `module:line`; or empty.
    """

    at: str
    client: str
    error: str
    message: str
    where: str


def log_failure(state_folder: Path, client: str, error: BaseException | str) -> None:
    """Log a failure of a hook; never raise, and wait only briefly for another process.

    Args:
        state_folder: The project's `.code-intel`. If it does not exist, nothing is logged.
        client: The client whose hook failed.
        error: The exception, or what happened.
    """
    # Whatever is wrong with the log must not break the client.
    with suppress(Exception):
        if not state_folder.is_dir():
            return
        from code_intel.learned.history import logs  # only a failure needs it

        failure = HookFailure(
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            client,
            "" if isinstance(error, str) else type(error).__name__,
            _message(error),
            "" if isinstance(error, str) else next(_places(error), ""),
        )
        log = logs.LogFile(_NAME, flushed=False, max_bytes=MAX_LOG_BYTES)
        log.append(logs.folder_of(state_folder), failure._asdict(), patience=_LOCK_TIMEOUT_S)


def recent_failures(state_folder: Path, now: datetime | None = None) -> list[HookFailure]:
    """Return the failures of the last `MAX_AGE`, oldest first.

    Raises:
        StorageError: The log exists but cannot be read.
    """
    from code_intel.learned.history import logs

    since = ((now or datetime.now(UTC)) - MAX_AGE).isoformat()
    found = logs.LogFile(_NAME).read(logs.folder_of(state_folder), limit=MAX_FAILURES)
    rows = (
        HookFailure(*(str(record.get(field, "")) for field in HookFailure._fields))
        for record in found.records
    )
    return [row for row in rows if row.at >= since]


def _message(error: BaseException | str) -> str:
    from code_intel.foundation.redaction import masked  # only a failure needs it

    text = error.message if isinstance(error, CodeIntelError) else str(error)
    # A secret that was cut would not be recognized.
    return " ".join(masked(text).split())[:_MAX_MESSAGE_CHARS]


def _places(error: BaseException) -> Iterator[str]:
    """Yield the places of this package in the traceback of an error, the last one first."""
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == _PACKAGE:
            yield f"{module}:{line}"
