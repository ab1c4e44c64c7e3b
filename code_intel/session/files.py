"""Files that only grow, opened as what they are; `durable` makes them and appends to them."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from code_intel.errors import StorageError

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link leads elsewhere, and whoever opens a pipe waits for its other end."""
GROW = os.O_RDWR | os.O_APPEND  # noqa: TID251 - only `durable` writes


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file that is there; return its handle.

    Raises:
        OSError: The system refused, or something else is there.
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
    """Turn what the system says about `path` into a StorageError, with `hint` as the next step."""
    try:
        yield
    except OSError as error:
        text = f"{path} cannot be used: {error.strerror or error}."
        raise StorageError(text, hint=hint) from error
    except StorageError as error:
        raise StorageError(error.message, hint=hint or error.hint) from error.__cause__


def read(handle: int, start: int, size: int) -> bytes:
    """Return at most `size` bytes from `start` on: as many as there are."""
    os.lseek(handle, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size and (part := os.read(handle, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
