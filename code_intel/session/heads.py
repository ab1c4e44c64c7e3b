"""Handles and heads, which prove who owns a session and which lines of its journal count.

A session is used with its handle, which only its owner knows (docs/decisions/0029):

    session_20260102_030406_0000000a_00112233445566778899aabbccddeeff
    └──────────── name ────────────┘ └──────────── secret ──────────┘

The name is public: files, logs, agreements and the terminal show it. Only start_session returns the
secret; the journal stores its SHA-256, the seal.

The head records, outside the project, which journal lines were acknowledged. The file
`<state folder>/sessions/<project>/<name>.head` has one line per commit, `lines size digest`. Each
digest covers the previous one and the journal lines of the commit, so the last one authenticates
the whole journal. A commit is written after its journal lines, so the journal may be ahead of its
head but never behind. Only a new session writes its head first: a journal without a head is
damaged. The functions at the end open and lock journals and heads.
"""

import errno
import hashlib
import hmac
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import BusyError, SessionError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.state_folder import project_digest

Token = Callable[[], str]
"""Returns the last part of a name: 8 hex digits."""

SESSION_NAME_PATTERN = re.compile(r"session_[0-9]{8}_[0-9]{6}_[0-9a-f]{8}")
_HANDLE = re.compile(rf"({SESSION_NAME_PATTERN.pattern})(?:_([0-9a-f]{{32}}))?")
_SHOWN_CHARS = 32
"""How many characters of a malformed handle a message quotes, so that it shows no secret."""
RETENTION_S = 365 * 24 * 3600.0
"""Age at which heads without a journal and heads of idle projects are deleted."""
STATE_ADVICE = (
    "Free some space, or set CODE_INTEL_STATE_DIR to a writable folder outside the project."
)
_PLAIN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""Flags that follow no links and do not wait for the other end of a pipe."""
APPEND_FLAGS = os.O_RDWR | os.O_APPEND  # noqa: TID251 - only `durable` writes
_LOCK_RETRY_S = 0.01
PRIVATE_FILE_MODE = 0o600
"""Mode of journals and heads, which only the owner may read."""


class Handle(NamedTuple):
    """A session's name and secret."""

    name: str
    secret: str

    @property
    def text(self) -> str:
        """The `session_id` that tools accept."""
        return f"{self.name}_{self.secret}"

    @property
    def seal(self) -> str:
        """The hash of the secret, which the journal stores."""
        return hashlib.sha256(self.secret.encode("ascii")).hexdigest()

    def matches(self, seal: str) -> bool:
        """Return whether the secret matches `seal`; takes constant time."""
        return hmac.compare_digest(self.seal, seal)


def random_token() -> str:
    """Return 8 random hex digits, so that sessions of the same second have different names."""
    return os.urandom(4).hex()


def new_handle(now: datetime, token: Token = random_token) -> Handle:
    """Return a new handle; `now` goes into the name in UTC."""
    name = f"session_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{token()}"
    return Handle(name, os.urandom(16).hex())


def parse_handle(text: str) -> Handle:
    """Parse a handle.

    Raises:
        SessionError: `text` is malformed, or is a name without its secret.
    """
    match = _HANDLE.fullmatch(text)
    if match is None:
        raise SessionError(f"{text[:_SHOWN_CHARS]!a} is not a session id.")
    if match[2] is None:
        raise SessionError(
            f"{match[1]} is the name of a session; use the session_id that start_session returned, "
            "which is longer."
        )
    return Handle(match[1], match[2])


def unknown_session(name: str) -> SessionError:
    """Return the error for a session that does not exist, also used for a wrong secret."""
    return SessionError(f"There is no session {name}.")


class SessionPaths(NamedTuple):
    """The paths of one project's sessions.

    Attributes:
        root: The project's folder.
        journals: The folder of the journals, inside the project.
        heads: The folder of the heads, outside the project.
    """

    root: Path
    journals: Path
    heads: Path

    @property
    def project(self) -> str:
        """The project's identity: a hash of its real path."""
        return self.heads.name

    def journal(self, name: str) -> Path:
        """Return the path of a session's journal."""
        return self.journals / f"{name}.jsonl"

    def head(self, name: str) -> Path:
        """Return the path of a session's head."""
        return self.heads / f"{name}.head"


def session_paths(root: Path, journals: Path, state: Path) -> SessionPaths:
    """Return the paths of a project's sessions; `state` is the user's state folder."""
    project = project_digest(root)
    return SessionPaths(root, journals, state / "sessions" / project)


class JournalCommit(NamedTuple):
    """The number of lines and bytes of a journal after an acknowledged write, and their digest."""

    lines: int
    size: int
    digest: str

    def extended(self, data: bytes) -> "JournalCommit":
        """Return the commit after `data`, whole journal lines, has been appended."""
        digest = hashlib.sha256(self.digest.encode("ascii") + data).hexdigest()
        return JournalCommit(self.lines + data.count(b"\n"), self.size + len(data), digest)

    def encoded(self) -> bytes:
        """Return the commit as a line of a head."""
        return b"%d %d %s\n" % (self.lines, self.size, self.digest.encode("ascii"))


def initial_commit(paths: SessionPaths, name: str) -> JournalCommit:
    """Return the commit before a journal's first line; binds digests to project and name."""
    return JournalCommit(0, 0, hashlib.sha256(f"{paths.project}/{name}".encode()).hexdigest())


def make_folder(paths: SessionPaths) -> None:
    """Create the folder of a project's heads, which only its owner may read.

    Raises:
        StorageError: It cannot be created, or the user has no home folder.
    """
    with storage_errors(paths.heads, STATE_ADVICE):
        if not paths.heads.is_absolute():
            raise OSError("there is no home folder")
        durable.make_folder(paths.heads, 0o700)


def create(paths: SessionPaths, name: str, commit: JournalCommit) -> None:
    """Create a head that acknowledges a journal's first line.

    Raises:
        StorageError: The name is taken (the cause is a FileExistsError), or writing failed.
    """
    with storage_errors(paths.heads, STATE_ADVICE):
        durable.create(paths.head(name), commit.encoded(), PRIVATE_FILE_MODE)


def read(paths: SessionPaths, name: str) -> tuple[JournalCommit, ...]:
    """Return a session's commits, the oldest first; () if there is no such session.

    Raises:
        SessionError: The file is not a head (`session_broken`).
        StorageError: It cannot be read.
    """
    path = paths.head(name)
    try:
        with storage_errors(path, STATE_ADVICE), opened(path) as handle:
            return _commits(path, handle)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return ()
        raise


class LockedHead(NamedTuple):
    """A session's head while this process holds its lock."""

    path: Path
    handle: int
    commits: Sequence[JournalCommit]

    def acknowledge(self, commit: JournalCommit) -> None:
        """Append a commit.

        Raises:
            StorageError: Writing failed, and the commit does not count.
        """
        end = sum(len(earlier.encoded()) for earlier in self.commits)
        with storage_errors(self.path, STATE_ADVICE):
            durable.extend(self.handle, commit.encoded(), end)


@contextmanager
def locked(paths: SessionPaths, name: str, timeout_s: float) -> Iterator[LockedHead]:
    """Lock a session's head, which also locks its journal.

    Raises:
        SessionError: There is no such session, or the file is not a head (`session_broken`).
        BusyError: Another process held the lock for longer than `timeout_s`.
        StorageError: The head cannot be used.
    """
    path = paths.head(name)
    if not os.path.lexists(path):
        raise unknown_session(name)
    with storage_errors(path, STATE_ADVICE):
        handle = open_plain(path, APPEND_FLAGS)
    try:
        with storage_errors(path, STATE_ADVICE):  # a file system may have no locks
            lock_file(handle, name, timeout_s)
            commits = _commits(path, handle)
        if not commits:
            raise unknown_session(name)
        yield LockedHead(path, handle, commits)
    finally:
        os.close(handle)


def remove_old_heads(paths: SessionPaths, names: Collection[str]) -> None:
    """Delete heads unused for `RETENTION_S`; `names` are this project's remaining sessions.

    Heads of another project are deleted if it has started no session for as long.
    """
    oldest = time.time() - RETENTION_S
    with suppress(OSError, StorageError):
        for folder in paths.heads.parent.iterdir():
            remaining = names if folder == paths.heads else ()
            if not remaining and folder.stat().st_mtime > oldest:
                continue
            for head in folder.glob("*.head"):
                if head.stem not in remaining and head.stat().st_mtime < oldest:
                    durable.remove(head, flushed=False)
            durable.remove_folder(folder)


def _commits(path: Path, handle: int) -> tuple[JournalCommit, ...]:
    """Return the commits in an open head; ignore a partial last line, never acknowledged."""
    raw = read_bytes(handle, 0, os.fstat(handle).st_size)
    try:
        rows = [line.decode("ascii").split(" ") for line in raw.split(b"\n")[:-1]]
        return tuple(JournalCommit(int(lines), int(size), digest) for lines, size, digest in rows)
    except ValueError as error:
        raise damaged(path, "it is not a list of commits") from error


def damaged(path: Path, why: str) -> SessionError:
    """Return the error for a journal or head that cannot be trusted."""
    return SessionError(
        f"{path} is damaged: {why}.",
        code="session_broken",
        hint="Start a new session with start_session; the file stays as it is.",
        details={"file": str(path)},
    )


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open an existing regular file and return its file descriptor.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    handle = os.open(path, flags | _PLAIN_FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return handle


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Open a file with `open_plain` for the duration of a block."""
    handle = open_plain(path, flags)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def storage_errors(path: Path, hint: str | None = None) -> Iterator[None]:
    """Convert an OSError about `path` to a StorageError, with `hint` as the next step."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be used: {error.strerror or error}."
        raise StorageError(text, hint=hint) from error
    except StorageError as error:
        raise StorageError(error.message, hint=hint or error.hint) from error.__cause__


def read_bytes(handle: int, start: int, size: int) -> bytes:
    """Read up to `size` bytes from offset `start`."""
    os.lseek(handle, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size and (part := os.read(handle, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def lock_file(handle: int, name: str, timeout_s: float) -> None:
    """Lock an open file; closing it releases the lock.

    `durable.locked` uses filelock, whose import (0.18 s) is too slow for a hook.

    Raises:
        BusyError: Another process held the lock of `name` for longer than `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            raise BusyError(f"{name} is in use by another process.")
        time.sleep(_LOCK_RETRY_S)  # noqa: TID251 - these locks have no timeout


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # far behind the end, where a lock blocks no reader
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
