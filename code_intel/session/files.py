"""Files that only grow: what is appended is on the disk, or the file is as it was before."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from code_intel.errors import StorageError

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link leads elsewhere, and whoever opens a pipe waits for its other end."""
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
GROW = os.O_RDWR | os.O_APPEND


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, made for its owner alone; return its handle.

    Raises:
        OSError: The system refused, or something else is there.
    """
    handle = os.open(path, flags | _PLAIN, 0o600)
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
    """Turn what the system says about `path` into a StorageError; `hint` says what to do about it."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be used: {error.strerror or error}."
        raise StorageError(text, hint=hint) from error


def read(handle: int, start: int, size: int) -> bytes:
    """Return at most `size` bytes from `start` on: as many as there are."""
    os.lseek(handle, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size and (part := os.read(handle, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def append(handle: int, data: bytes, end: int) -> None:
    """Put `data` behind the first `end` bytes, in one write, and flush; what else followed is cut off.

    Raises:
        OSError: The disk refused; the file ends at `end`, as far as the disk still lets us say so.
    """
    try:
        if os.fstat(handle).st_size > end:
            os.ftruncate(handle, end)
        _write_whole(handle, data)
        os.fsync(handle)
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, end)
            os.fsync(handle)
        raise


def _write_whole(handle: int, data: bytes) -> None:
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def create(path: Path, data: bytes) -> None:
    """Make a file of `data`, its name durable, too; a failure leaves none.

    Raises:
        FileExistsError: There is one.
        OSError: The disk refused.
    """
    with opened(path, CREATE) as handle:
        try:
            append(handle, data, 0)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    with suppress(OSError):  # folders cannot be opened everywhere
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
