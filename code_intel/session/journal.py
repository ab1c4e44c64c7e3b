"""Store sessions: a journal in the project and its head outside it (docs/decisions/0008, 0029).

A journal has one JSON object per line, `{seq, at, event, data}`. A step counts once its lines are
flushed and the head has acknowledged them. Readers take no lock: they read the head first, then the
journal, which may be ahead of its head but never behind.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError, SessionError, StorageError, UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.session import heads
from code_intel.session.heads import (
    SESSION_NAME_PATTERN,
    Handle,
    JournalCommit,
    LockedHead,
    SessionPaths,
    Token,
    damaged,
    new_handle,
    parse_handle,
    random_token,
    unknown_session,
)
from code_intel.session.phases import Event, Intent, check_accepted
from code_intel.session.replay import JOURNAL_VERSION, apply, replay
from code_intel.session.state import Demands, JournalRecord, Session, Step

Clock = Callable[[], datetime]

MAX_BASELINE_FILES = 500
"""Maximum number of files that a session records as changed before it began."""
MAX_JOURNALS = 1000
"""Maximum number of journals of a project; the least recently used are deleted."""
MAX_JOURNAL_BYTES = 16_000_000
"""Limited to some 10,000 calls, because each call reads the whole journal."""
MAX_LINE_BYTES = 60_000
"""A single write of this size is not split."""
JOURNAL_ADVICE = "Check the file and its permissions, or start a new session with start_session."
FULL_MESSAGE = "The session has recorded as many calls as it can hold."
FULL_ADVICE = "Call record_outcome with the result so far, then start_session for the rest."
IGNORED_LINES_NOTE = "Lines after the last acknowledged step of the journal were ignored."
_MAX_QUERY_CHARS = 20_000


class NewSession(NamedTuple):
    """A new session, and the handle that only its owner receives."""

    session: Session
    handle: str


class JournalContents(NamedTuple):
    """The acknowledged part of a journal.

    Attributes:
        records: The steps that match their commits, in order.
        problem: Why later acknowledged steps are missing; empty if none are missing.
        ahead: Whether the journal continues after its last acknowledged line.
    """

    records: tuple[JournalRecord, ...] = ()
    problem: str = ""
    ahead: bool = False


class JournalFile(NamedTuple):
    """A journal on disk; `modified` is seconds since the epoch."""

    name: str
    path: Path
    modified: float


class SessionTransaction:
    """A session while its lock is held; new steps are written together at the end of the block.

    Attributes:
        session: The session, including the steps appended so far.
    """

    def __init__(self, session: Session, clock: Clock, *, full: bool = False) -> None:
        self.session = session
        self.lines = b""
        self._clock = clock
        self._full = full

    def append(self, *steps: Step) -> Session:
        """Apply steps; if one fails as in `replay.apply`, no step of the block is written.

        Raises:
            StorageError: A step is a call, and the journal is full; the outcome can still be
                recorded.
            SessionError: The session's outcome has been recorded (`session_ended`).
        """
        for step in steps:
            check_accepted(self.session, step.event)
            if self._full and step.event is Event.CALLED:
                raise StorageError(FULL_MESSAGE, hint=FULL_ADVICE)
            line = encode(self.session.seq + 1, self._clock(), step.event, step.data)
            self.session = apply(self.session, decode(line))
            self.lines += line
        return self.session


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def encode(
    seq: int, now: datetime, event: Event, data: Any, *, max_bytes: int = MAX_LINE_BYTES
) -> bytes:
    """Return an event as a journal line of ASCII JSON, with secret values masked.

    Raises:
        UsageError: The event is too big for one line, or JSON cannot represent it.
    """
    from code_intel.foundation.redaction import masked_data  # hooks only read

    row = {"seq": seq, "at": now.isoformat(), "event": event.value, "data": masked_data(data)}
    try:
        line = json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{event} cannot be journaled: {error}.") from error
    if len(line) > max_bytes:
        raise UsageError(
            f"{event} has {counted(len(line), 'byte')}; the limit is {max_bytes:,}.",
            hint="Send less text, or split it into several calls.",
        )
    return line + b"\n"


def decode(line: bytes) -> JournalRecord:
    """Return the event of a journal line; raises ValueError, KeyError or TypeError without one."""
    row = json.loads(line)
    return JournalRecord(row["seq"], row["at"], Event(row["event"]), row["data"])


def create(
    paths: SessionPaths,
    intent: Intent,
    query: str,
    *,
    clock: Clock = utc_now,
    token: Token = random_token,
    baseline: Mapping[str, str] = MappingProxyType({}),
    commit: str | None = None,
    demands: Demands = "counts",
) -> NewSession:
    """Start a session, create missing folders and delete journals beyond `MAX_JOURNALS`.

    Args:
        paths: The paths of the project's sessions.
        intent: The purpose of the session.
        query: The user's request.
        clock: Returns the time.
        token: Returns the random part of the name.
        baseline: Content hashes of the files that already have uncommitted changes, by path
            relative to the root; those changes are not this session's work. At most
            `MAX_BASELINE_FILES` are kept.
        commit: The commit that is checked out; empty if none exists, None if git cannot tell.
        demands: What READY requires in this session.

    Raises:
        UsageError: The query is empty or too long.
        StorageError: The journal or its head cannot be written.
    """
    if not query.strip() or len(query) > _MAX_QUERY_CHARS:
        raise UsageError(
            f"query must have 1 to {_MAX_QUERY_CHARS} characters.", details={"field": "query"}
        )
    with heads.storage_errors(paths.journals):
        durable.make_folder(paths.journals)
    heads.make_folder(paths)
    now = clock()
    handle = new_handle(now, token)
    data = {
        "version": JOURNAL_VERSION,
        "name": handle.name,
        "seal": handle.seal,
        "intent": intent.value,
        "demands": demands,
        "query": query,
        "root": str(paths.root),
        "baseline": dict(sorted(baseline.items())[:MAX_BASELINE_FILES]),
        **({} if commit is None else {"commit": commit}),
    }
    # The first line creates the file, so it may be longer than an appended line.
    line = encode(1, now, Event.STARTED, data, max_bytes=MAX_JOURNAL_BYTES)
    session = apply(None, decode(line))
    _write_new(paths, handle.name, line)
    prune(paths)
    return NewSession(session, handle.text)


def load(
    paths: SessionPaths, handle: str, *, expire_hours: float = 0, clock: Clock = utc_now
) -> Session:
    """Replay a session for its owner.

    A session expires `expire_hours` after its last event; if that is 0, it never expires.

    Raises:
        SessionError: There is no such session, `handle` has the wrong secret, the session has
            expired (`session_expired`), or the journal does not match its head (`session_broken`,
            names the file).
        StorageError: The journal or its head cannot be read.
    """
    key = parse_handle(handle)
    commits = heads.read(paths, key.name)
    if not commits:
        raise unknown_session(key.name)
    return _check_access(_replay_commits(paths, key.name, commits), key, expire_hours, clock())


def inspect(paths: SessionPaths, name: str) -> Session:
    """Replay a session by its name, for display, even if it has expired.

    Raises:
        SessionError: There is no such session, or the journal does not match its head
            (`session_broken`).
        StorageError: The journal or its head cannot be read.
    """
    return _replay_commits(paths, name, _read_commits(paths, name))


def read_intact(paths: SessionPaths, name: str) -> JournalContents:
    """Return the part of a session's journal that matches its head; never raise for damage."""
    try:
        return _read_contents(paths, name, _read_commits(paths, name))
    except CodeIntelError as error:
        return JournalContents(problem=error.message)


@contextmanager
def transaction(
    paths: SessionPaths,
    handle: str,
    *,
    expire_hours: float = 0,
    clock: Clock = utc_now,
    timeout: float = 5.0,
    loaded: Session | None = None,
) -> Iterator[SessionTransaction]:
    """Lock a session to load it, decide and append. If the block raises, nothing is written.

    `loaded` is the session if it was loaded before; it is read again only if it has changed since.

    Raises:
        SessionError: As in `load`.
        BusyError: Another process held the lock for longer than `timeout` seconds.
        StorageError: The journal or its head cannot be written.
    """
    key = parse_handle(handle)
    with heads.locked(paths, key.name, timeout) as head:
        last = head.commits[-1]
        if loaded is None or (loaded.name, loaded.seq) != (key.name, last.lines):
            loaded = _replay_commits(paths, key.name, head.commits)
        session = _check_access(loaded, key, expire_hours, clock())
        work = SessionTransaction(session, clock, full=last.size > MAX_JOURNAL_BYTES)
        yield work
        if work.lines:
            _append(paths.journal(key.name), head, last, work.lines)


def append(
    paths: SessionPaths,
    handle: str,
    *steps: Step,
    expire_hours: float = 0,
    clock: Clock = utc_now,
    loaded: Session | None = None,
) -> Session:
    """Append steps in a transaction; arguments and errors are as in `transaction`."""
    with transaction(paths, handle, expire_hours=expire_hours, clock=clock, loaded=loaded) as work:
        return work.append(*steps)


def is_expired(used_at: str, hours: float, now: datetime) -> bool:
    """Return whether a session has not been used for `hours`; if these are 0, it never expires."""
    return bool(hours) and now - datetime.fromisoformat(used_at) > timedelta(hours=hours)


def journal_files(paths: SessionPaths) -> tuple[JournalFile, ...]:
    """Return the journals of a project, the most recently used first."""
    files: list[JournalFile] = []
    if not paths.journals.is_dir():
        return ()
    with heads.storage_errors(paths.journals), os.scandir(paths.journals) as entries:
        for entry in entries:
            name = entry.name.removesuffix(".jsonl")
            # `match` also accepts names of earlier versions.
            if name != entry.name and SESSION_NAME_PATTERN.match(name):
                with suppress(FileNotFoundError):  # pruned by another process
                    modified = entry.stat(follow_symlinks=False).st_mtime
                    files.append(JournalFile(name, Path(entry.path), modified))
    return tuple(sorted(files, key=lambda file: (file.modified, file.name), reverse=True))


def prune(paths: SessionPaths, keep: int = MAX_JOURNALS) -> int:
    """Delete old heads and all but the `keep` last used journals; return how many journals."""
    files = journal_files(paths)
    durable.sweep(paths.journals)
    durable.sweep(paths.heads)
    with heads.storage_errors(paths.journals):
        for file in files[keep:]:
            durable.remove(paths.head(file.name), flushed=False)
            durable.remove(file.path, flushed=False)
    heads.remove_old_heads(paths, {file.name for file in files[:keep]})
    return len(files[keep:])


def _read_commits(paths: SessionPaths, name: str) -> tuple[JournalCommit, ...]:
    """Return the commits of a session by its name; errors are as in `inspect`."""
    if not SESSION_NAME_PATTERN.fullmatch(name):
        raise SessionError(
            f"{name[:40]!a} is not the name of a session.",
            hint="Copy one from the list of sessions.",
        )
    commits = heads.read(paths, name)
    if not commits:
        path = paths.journal(name)
        if path.exists():
            raise damaged(path, "it has no head on this machine")
        raise unknown_session(name)
    return commits


def _read_contents(
    paths: SessionPaths, name: str, commits: Sequence[JournalCommit]
) -> JournalContents:
    """Return the longest part of a journal that matches its commits.

    Raises:
        SessionError: The journal is gone or was written by another version (`session_broken`).
        StorageError: The journal cannot be read.
    """
    path = paths.journal(name)
    with heads.storage_errors(path, JOURNAL_ADVICE):
        try:
            with heads.opened(path) as handle:
                raw = heads.read_bytes(handle, 0, commits[-1].size)
                ahead = os.fstat(handle).st_size > commits[-1].size
        except FileNotFoundError:
            raise damaged(path, "it is gone") from None
    intact, problem = heads.initial_commit(paths, name), ""
    for commit in commits:
        if intact.extended(raw[intact.size : commit.size]) != commit:
            problem = (
                f"it ends before line {commit.lines}"
                if len(raw) < commit.size
                else f"line {intact.lines + 1} or a later one was changed"
            )
            break
        intact = commit
    try:
        records = tuple(map(decode, raw[: intact.size].splitlines()))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, f"{error!r}") from error
    return JournalContents(records, problem, ahead)


def _replay_commits(paths: SessionPaths, name: str, commits: Sequence[JournalCommit]) -> Session:
    """Return the session as of its last commit; errors are as in `inspect`."""
    path = paths.journal(name)
    records, problem, ahead = _read_contents(paths, name, commits)
    if problem:
        raise damaged(path, problem)
    try:
        session = replay(records)
    except SessionError as error:
        raise damaged(path, error.message.rstrip(".")) from error
    return session._replace(warnings=(IGNORED_LINES_NOTE,) if ahead else ())


def _check_access(session: Session, key: Handle, expire_hours: float, now: datetime) -> Session:
    """Return the session; raise unless `key` opens it and it has not expired."""
    if not key.matches(session.seal):
        raise unknown_session(key.name)
    if is_expired(session.updated_at, expire_hours, now):
        raise SessionError(
            f"Session {session.name} was last used at {session.updated_at} and has expired.",
            code="session_expired",
        )
    return session


def _write_new(paths: SessionPaths, name: str, line: bytes) -> None:
    """Write the head of a journal, then its first line.

    If the process is killed between them, a head is left that `heads.remove_old_heads` deletes. A
    journal without a head would be reported as damaged.

    Raises:
        StorageError: The name is taken, or writing failed; neither file is left.
    """
    heads.create(paths, name, heads.initial_commit(paths, name).extended(line))
    try:
        durable.create(paths.journal(name), line, heads.PRIVATE_FILE_MODE)
    except StorageError:
        durable.remove(paths.head(name))
        raise


def _append(path: Path, head: LockedHead, last: JournalCommit, lines: bytes) -> None:
    """Append lines after the last acknowledged one, then acknowledge them.

    If the head cannot be written, the lines stay until the next step truncates them.
    """
    with (
        heads.storage_errors(path, JOURNAL_ADVICE),
        heads.opened(path, heads.APPEND_FLAGS) as handle,
    ):
        durable.extend(handle, lines, last.size)
    head.acknowledge(last.extended(lines))
