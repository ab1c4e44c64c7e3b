"""Open and lock files that only grow; `durable` creates them and appends to them."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from code_intel.errors import BusyError, StorageError

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Follow no link, and do not wait for the other end of a pipe."""
GROW = os.O_RDWR | os.O_APPEND  # noqa: TID251 - only `durable` writes
_LOCK_RETRY_S = 0.01


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open an existing regular file; return its handle.

    Raises:
        OSError: The system refused, or `path` is something else.
    """
    handle = os.open(path, flags | _PLAIN)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    return handle


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Open as `open_plain` for a block."""
    handle = open_plain(path, flags)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def disk(path: Path, hint: str | None = None) -> Iterator[None]:
    """Turn an OSError about `path` into a StorageError, with `hint` as the next step."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be used: {error.strerror or error}."
        raise StorageError(text, hint=hint) from error
    except StorageError as error:
        raise StorageError(error.message, hint=hint or error.hint) from error.__cause__


def read(handle: int, start: int, size: int) -> bytes:
    """Return up to `size` bytes from `start` on."""
    os.lseek(handle, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size and (part := os.read(handle, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def lock(handle: int, name: str, timeout_s: float) -> None:
    """Lock an open file against every other handle on it; closing it releases the lock.

    `durable.locked` uses filelock, whose import (0.18 s) is too slow for a hook.

    Raises:
        BusyError: Another process kept the lock of `name` longer than `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            raise BusyError(f"{name} is in use by another process.")
        time.sleep(_LOCK_RETRY_S)  # noqa: TID251 - these locks have no deadline


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # far behind the end: locks there stop no reader
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
