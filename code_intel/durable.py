"""Files that survive a crash: lock, write beside, fsync, rename.

A reader sees the old bytes or the new ones, never a mixture, whatever dies in between
(docs/decisions/0006). Every file that is replaced goes through here; session journals and logs are
appended to, and databases have SQLite's own journal.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from code_intel.errors import BusyError, StorageError


def replace(path: Path, data: bytes) -> None:
    """Put `data` at `path` atomically, creating parent folders; keeps the old file's mode.

    Raises:
        StorageError: The disk refused; the old file is untouched.
    """
    beside = path.parent / f".{path.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o7777)
        beside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        msg = f"{path} could not be written: {error.strerror or error}."
        raise StorageError(msg) from error


@contextmanager
def locked(path: Path, timeout: float = 5.0) -> Iterator[None]:
    """Hold the lock file `path` (created if missing, never removed) for a read-modify-write.

    Args:
        path: The lock file, by convention beside what it protects.
        timeout: Seconds to wait.

    Raises:
        BusyError: Another process kept it longer than `timeout`.
        StorageError: The lock file cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=timeout)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        msg = f"{path.name} is held by another process."
        raise BusyError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be locked: {error.strerror or error}."
        raise StorageError(msg) from error
    try:
        yield
    finally:
        lock.release()


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; a no-op where folders cannot be opened (Windows)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
