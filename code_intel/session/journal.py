"""Sessions on disk: one JSON object a line, hash-chained, appended under a lock.

`<folder>/<session id>.jsonl`, lines `{seq, at, event, data, prev, hash}`; `hash` is SHA-256 over
the line without it, `prev` that of the line before. A last line without its newline was never
acknowledged and is dropped; anything else that does not fit is refused, naming the file.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.session.phases import Intent
from code_intel.session.state import Session, Step

Clock = Callable[[], datetime]
Token = Callable[[], str]


def utc_now() -> datetime:
    """Return the time with its offset."""


def random_token() -> str:
    """Return eight random hex digits."""


class JournalFile(NamedTuple):
    """A journal on disk; `modified` is seconds since the epoch."""

    session_id: str
    path: Path
    modified: float


class Transaction:
    """A session under its lock; steps are written together when the block ends well.

    Attributes:
        session: The session, the steps appended so far included.
    """

    session: Session

    def append(self, *steps: Step) -> Session:
        """Apply steps; raises what `state.apply` raises, and then nothing of the block is kept."""


def create(
    folder: Path,
    intent: Intent,
    query: str,
    root: Path,
    *,
    clock: Clock = utc_now,
    token: Token = random_token,
) -> Session:
    """Start a session; `folder` is made if missing.

    Raises:
        UsageError: The query is empty or too long.
        StorageError: The journal cannot be written.
    """


def load(
    folder: Path, session_id: str, *, expire_hours: float = 0, clock: Clock = utc_now
) -> Session:
    """Replay a session; `expire_hours` after its last event it is gone, 0 means never.

    Raises:
        SessionError: No such session, a malformed id, expired (`session_expired`), or a broken
            journal (`session_broken`, names the file).
    """


@contextmanager
def transaction(
    folder: Path,
    session_id: str,
    *,
    expire_hours: float = 0,
    clock: Clock = utc_now,
    timeout: float = 5.0,
) -> Iterator[Transaction]:
    """Hold a session's lock: load, decide, append. An error inside the block writes nothing.

    Raises:
        SessionError: As `load`.
        BusyError: Another process kept the lock longer than `timeout` seconds.
        StorageError: The journal cannot be written.
    """


def append(folder: Path, session_id: str, *steps: Step, clock: Clock = utc_now) -> Session:
    """Append steps in a transaction of their own."""


def list_sessions(folder: Path) -> tuple[JournalFile, ...]:
    """Return the journals in `folder`, the most recently used first."""


def prune(folder: Path, keep: int = 1000) -> int:
    """Delete the least recently used journals beyond `keep`; returns how many."""
