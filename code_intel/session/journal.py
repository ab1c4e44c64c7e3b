"""Sessions on disk: `<folder>/<session id>.jsonl`, appended under a lock (docs/decisions/0008).

The format of a line is `chain`'s. A step counts once its line is flushed; whoever reads without the
lock sees the journal as of some moment.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import SessionError, StorageError, UsageError
from code_intel.session.chain import FIRST, Chain, broken, encode, read
from code_intel.session.locking import lock, unlock
from code_intel.session.phases import Event, Intent
from code_intel.session.replay import VERSION, apply
from code_intel.session.state import Session, Step

Clock = Callable[[], datetime]
Token = Callable[[], str]

KEPT = 1000  # journals in a folder; the least recently used go first
MOST_BASELINE = 500  # files a session remembers as changed before it began
_LONGEST_QUERY = 20_000  # characters
_LONGEST_START = 16_000_000  # bytes of a first line: it goes to a new file, nobody appends to it
_ID = re.compile(r"session_[0-9]{8}_[0-9]{6}_(?:[0-9a-f]{8}|[0-9a-f]{32})")


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

    def __init__(self, session: Session, chain: Chain, clock: Clock) -> None:
        self.session = session
        self._last = chain.last
        self._clock = clock
        self._lines: list[bytes] = []

    def append(self, *steps: Step) -> Session:
        """Apply steps; raises what `state.apply` raises, and then nothing of the block is kept."""
        for step in steps:
            record, line, digest = encode(
                self.session.seq + 1, self._clock(), step.event, step.data, self._last
            )
            self.session = apply(self.session, record)
            self._lines.append(line)
            self._last = digest
        return self.session

    def pending(self) -> bytes:
        """Return the lines to be written."""
        return b"".join(self._lines)


def utc_now() -> datetime:
    """Return the time with its offset."""
    return datetime.now(UTC)


def random_token() -> str:
    """Return 32 random hex digits: whoever knows a session's id may use it, so nobody may guess one."""
    return os.urandom(16).hex()


def create(
    folder: Path,
    intent: Intent,
    query: str,
    root: Path,
    *,
    clock: Clock = utc_now,
    token: Token = random_token,
    baseline: Mapping[str, str] = MappingProxyType({}),
) -> Session:
    """Start a session; `folder` is made if missing, journals beyond `KEPT` are pruned.

    `baseline` has the content hash of every file that is changed already, by path relative to the
    root: what was changed before is none of this session's work. `MOST_BASELINE` of them are kept.

    Raises:
        UsageError: The query is empty or too long.
        StorageError: The journal cannot be written.
    """
    if not query.strip() or len(query) > _LONGEST_QUERY:
        raise UsageError(
            f"query must have 1 to {_LONGEST_QUERY} characters.", details={"field": "query"}
        )
    now = clock()
    with _disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(100):
            session_id = f"session_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{token()}"
            path = _path(folder, session_id)
            data = {
                "version": VERSION,
                "id": session_id,
                "intent": intent.value,
                "query": query,
                "root": str(root),
                "baseline": dict(sorted(baseline.items())[:MOST_BASELINE]),
            }
            record, line, _ = encode(1, now, Event.STARTED, data, FIRST, longest=_LONGEST_START)
            session = apply(None, record)
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            except FileExistsError:
                continue
            _write_new(path, handle, line)
            prune(folder)
            return session
    raise StorageError(f"No free session id in {folder}.")


def load(
    folder: Path, session_id: str, *, expire_hours: float = 0, clock: Clock = utc_now
) -> Session:
    """Replay a session; `expire_hours` after its last event it is gone, 0 means never.

    Raises:
        SessionError: No such session, a malformed id, expired (`session_expired`), or a broken
            journal (`session_broken`, names the file).
        StorageError: The journal cannot be read.
    """
    path = _path(folder, session_id)
    with _disk(path):
        raw = path.read_bytes() if path.exists() else None
    if raw is None:
        raise SessionError(f"There is no session {session_id}.")
    session = _session(read(path, raw), path)
    _check_age(session, expire_hours, clock())
    return session


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
    path = _path(folder, session_id)
    if not path.exists():
        raise SessionError(f"There is no session {session_id}.")
    with _disk(path):
        handle = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        lock(handle, path.name, timeout)
        with _disk(path):
            raw = _read_all(handle)
        chain = read(path, raw)
        session = _session(chain, path)
        _check_age(session, expire_hours, clock())
        held = Transaction(session, chain, clock)
        yield held
        if lines := held.pending():
            with _disk(path):
                if chain.end < len(raw):
                    os.ftruncate(handle, chain.end)
                _write_all(handle, lines, chain.end)
    finally:
        unlock(handle)
        os.close(handle)


def append(
    folder: Path,
    session_id: str,
    *steps: Step,
    expire_hours: float = 0,
    clock: Clock = utc_now,
) -> Session:
    """Append steps in a transaction of their own; raises what `transaction` raises."""
    with transaction(folder, session_id, expire_hours=expire_hours, clock=clock) as held:
        return held.append(*steps)


def list_sessions(folder: Path) -> tuple[JournalFile, ...]:
    """Return the journals in `folder`, the most recently used first; files that are none left out."""
    found: list[JournalFile] = []
    if not folder.is_dir():
        return ()
    with _disk(folder), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.removesuffix(".jsonl")
            if name != entry.name and _ID.fullmatch(name):
                with suppress(FileNotFoundError):  # pruned by another process
                    found.append(JournalFile(name, Path(entry.path), entry.stat().st_mtime))
    return tuple(sorted(found, key=lambda file: (file.modified, file.session_id), reverse=True))


def prune(folder: Path, keep: int = KEPT) -> int:
    """Delete the least recently used journals beyond `keep`; returns how many."""
    surplus = list_sessions(folder)[keep:]
    with _disk(folder):
        for file in surplus:
            file.path.unlink(missing_ok=True)
    return len(surplus)


def _path(folder: Path, session_id: str) -> Path:
    """Return a session's file; an id is a name we made, never a path.

    Raises:
        SessionError: The id has not the form of one.
    """
    if not _ID.fullmatch(session_id):
        raise SessionError(f"{session_id[:60]!a} is no session id.")
    return folder / f"{session_id}.jsonl"


def _session(chain: Chain, path: Path) -> Session:
    session: Session | None = None
    for record in chain.records:
        try:
            session = apply(session, record)
        except SessionError as error:
            raise broken(path, error.message) from error
    if session is None:
        raise broken(path, "no complete line")
    if session.id != path.stem:
        raise broken(path, f"it is the journal of {session.id}")
    return session._replace(warnings=chain.warnings)


def _check_age(session: Session, expire_hours: float, now: datetime) -> None:
    """Refuse a session that was not used for long; a clock set back never expires one."""
    idle = now - datetime.fromisoformat(session.updated_at)
    if expire_hours and idle > timedelta(hours=expire_hours):
        raise SessionError(
            f"Session {session.id} was last used {session.updated_at} and has expired.",
            code="session_expired",
        )


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be used: {error.strerror or error}.") from error


def _read_all(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    parts: list[bytes] = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_new(path: Path, handle: int, line: bytes) -> None:
    """Write a journal's first line and make its name durable; a failure leaves no file."""
    try:
        _write_all(handle, line, 0)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    with suppress(OSError):  # folders cannot be opened everywhere
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_all(handle: int, lines: bytes, start: int) -> None:
    """Append `lines` in one write and flush; a full disk leaves the file as it was."""
    try:
        written = os.write(handle, lines)
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, start)
        raise
    if written != len(lines):
        os.ftruncate(handle, start)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
