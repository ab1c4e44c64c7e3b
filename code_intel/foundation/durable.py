"""Change files atomically: after a crash a file has its old content or its new content.

`replace` writes a temporary file, flushes it, renames it and flushes the folder
(docs/decisions/0006, 0038). All files except SQLite's databases are created, replaced, moved,
removed and appended to here; ruff and tests/project/test_architecture.py check that. A
read-modify-write needs `locked`. Only `locked` imports more than the standard library: hooks import
this module and must start fast.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import BusyError, StorageError
from code_intel.foundation import state_folder

STALE_TEMPORARY_S = 60
"""Age from which a temporary file must be left over from a killed process."""

_CREATE = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_CREATE_NEW = os.O_WRONLY | os.O_EXCL | _CREATE
_OPEN_TO_APPEND = os.O_RDWR | os.O_APPEND | _CREATE
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL}
"""Errors of file systems without hard links, or without hard links to folders."""
_LINK_ITSELF = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
_NO_FOLDER_SYNC = {errno.EINVAL, errno.EBADF, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES}

HINTS = MappingProxyType(
    {
        errno.ENOSPC: "The disk is full. Free some space, then try again. Reading still works.",
        errno.EDQUOT: "The quota is used up. Free some space, then try again. Reading still works.",
        errno.EFBIG: "The file size limit is reached. Raise `ulimit -f`, then try again.",
        errno.EROFS: "The disk is read-only. Remount it, then try again. Reading still works.",
        errno.EACCES: "Permission denied. Check owner and mode of the path. Reading still works.",
        errno.EPERM: "Permission denied. Check owner and mode of the path. Reading still works.",
        errno.EIO: "The disk reports an I/O error. Check the system log before you try again.",
    }
)
"""Hints by error code of the system."""


class Disk(NamedTuple):
    """The system calls that change files and folders."""

    open: Callable[..., int] = os.open
    write: Callable[..., int] = os.write
    fsync: Callable[..., None] = os.fsync
    truncate: Callable[..., None] = os.ftruncate
    chmod: Callable[..., None] = os.chmod
    chown: Callable[..., None] = getattr(os, "chown", lambda *_: None)
    rename: Callable[..., None] = os.replace
    link: Callable[..., None] = os.link
    unlink: Callable[..., None] = os.unlink
    mkdir: Callable[..., None] = os.mkdir
    rmdir: Callable[..., None] = os.rmdir


DISK = Disk()


def replace(
    path: Path, data: bytes, *, owner: tuple[int, int] | None = None, flushed: bool = True
) -> None:
    """Write `data` to `path`, replacing a file and keeping its mode; creates missing folders.

    Without `owner`, a user and a group, the new file belongs to the caller. Without `flushed` the
    old file may return after a power loss, until the next flushed change in that folder.

    Raises:
        StorageError: The write failed. The old file remains, or the new file if only its folder
            could not be flushed.
    """
    with _storage_errors(path, "written"):
        make_folder(path.parent)
        with _temporary(path, data, _mode(path), owner) as temporary:
            DISK.rename(temporary, path)
        _sync_folder(path.parent, flushed=flushed)


def create(
    path: Path,
    data: bytes,
    mode: int | None = None,
    *,
    owner: tuple[int, int] | None = None,
    flushed: bool = True,
) -> None:
    """Write `data` to a new file; creates missing folders. One of two concurrent calls succeeds.

    Args:
        path: The file.
        data: The whole content.
        mode: Its permissions; None for those that the umask gives.
        owner: See `replace`.
        flushed: See `replace`.

    Raises:
        StorageError: The path exists (the cause is a FileExistsError), or the write failed and
            there is no file.
    """
    with _storage_errors(path, "created"):
        make_folder(path.parent)
        with _temporary(path, data, mode, owner) as temporary:
            _rename_without_replacing(temporary, path)
        try:
            _sync_folder(path.parent, flushed=flushed)
        except OSError:
            with suppress(OSError):
                DISK.unlink(path)
            raise


def move(path: Path, target: Path, *, overwrite: bool = False) -> None:
    """Rename a file or folder on the same disk, and create missing folders.

    Without `overwrite`, an existing target is an error.

    Raises:
        StorageError: The target exists, the source does not, or the rename failed.
    """
    with _storage_errors(path, f"moved to {target}"):
        make_folder(target.parent)
        if overwrite:
            DISK.rename(path, target)
        else:
            _rename_without_replacing(path, target)
        for folder in dict.fromkeys((target.parent, path.parent)):
            _sync_folder(folder)


def remove(path: Path, *, flushed: bool = True) -> bool:
    """Remove a file and return True; return False if it does not exist.

    Without `flushed`, the file may reappear after a power loss.

    Raises:
        StorageError: It could not be removed.
    """
    with _storage_errors(path, "removed"):
        try:
            DISK.unlink(path)
        except FileNotFoundError:
            return False
        _sync_folder(path.parent, flushed=flushed)
    return True


def append(path: Path, lines: bytes, *, flushed: bool = True) -> None:
    """Append whole lines to a file, created if missing; the caller holds its lock.

    If the last line is incomplete, a line ending is written first.

    Raises:
        StorageError: The write failed. The file has its previous length.
    """
    with _storage_errors(path, "written"):
        make_folder(path.parent)
        is_new = not path.exists()
        handle = DISK.open(path, _OPEN_TO_APPEND, 0o644)
        try:
            end = os.fstat(handle).st_size
            is_torn = end and os.lseek(handle, end - 1, os.SEEK_SET) and os.read(handle, 1) != b"\n"
            extend(handle, b"\n" + lines if is_torn else lines, end, flushed=flushed)
        finally:
            os.close(handle)
        _sync_folder(path.parent, flushed=is_new and flushed)


def extend(handle: int, data: bytes, end: int, *, flushed: bool = True) -> None:
    """Truncate an open file to `end` bytes, then append `data` in a single write.

    Raises:
        OSError: The write failed. The file is truncated to `end` if that is still possible.
    """
    try:
        if os.fstat(handle).st_size > end:
            DISK.truncate(handle, end)
        _write_in_one_call(handle, data)
        if flushed:
            DISK.fsync(handle)
    except OSError:
        with suppress(OSError):
            DISK.truncate(handle, end)
            DISK.fsync(handle)
        raise


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder with `mode`, if it does not exist, and its missing parents.

    A new `.code-intel` gets its `.gitignore` at once.

    Raises:
        StorageError: The path is not a folder, or it could not be created.
    """
    with _storage_errors(path, "created"):
        missing: list[Path] = []
        for folder in (path, *path.parents):
            if folder.is_dir():
                break
            missing.append(folder)
        for folder in reversed(missing):
            try:
                DISK.mkdir(folder, mode if folder == path else 0o777)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            _sync_folder(folder.parent)
            if (
                folder.name == state_folder.STATE_FOLDER
                and state_folder.STATE_FOLDER not in folder.parent.parts
            ):
                with suppress(StorageError):  # another process created it
                    create(folder / state_folder.GITIGNORE_NAME, state_folder.GITIGNORE_TEXT)


def remove_folder(path: Path) -> bool:
    """Remove an empty folder and return True; return False if it is missing or not empty.

    Raises:
        StorageError: It could not be removed.
    """
    with _storage_errors(path, "removed"):
        try:
            DISK.rmdir(path)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                return False
            raise
        _sync_folder(path.parent)
    return True


def sweep(folder: Path, seconds: float = STALE_TEMPORARY_S) -> None:
    """Remove temporary files in `folder` that are older than `seconds`; never raises.

    Killed processes leave such files. With 0 seconds, the caller must be the only writer.
    """
    with suppress(OSError, StorageError):
        for file in folder.glob(".*.tmp"):
            with suppress(OSError):
                age = time.time() - file.stat().st_mtime
                if age >= seconds and _is_temporary(file.name):
                    DISK.unlink(file)


@contextmanager
def locked(path: Path, timeout: float = 5.0) -> Iterator[None]:
    """Hold the lock file `path` (created if missing, never removed) for a read-modify-write.

    Args:
        path: The lock file, by convention beside the file that it protects.
        timeout: Seconds to wait.

    Raises:
        BusyError: Another process held the lock for longer than `timeout`, or removed its folder.
        StorageError: The lock file cannot be created.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=timeout)
    with _storage_errors(path, "locked"):
        make_folder(path.parent)
        try:
            lock.acquire(poll_interval=0.01)  # a longer interval starves this process
        except Timeout as error:
            raise BusyError(f"{path.name} is held by another process.") from error
        except FileNotFoundError as error:
            raise BusyError(f"Another process has just removed {path.parent}.") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _storage_errors(path: Path, done: str) -> Iterator[None]:
    """Turn an OSError into a StorageError with a hint."""
    try:
        yield
    except OSError as error:
        text = f"{path} could not be {done}: {error.strerror or error}."
        raise StorageError(text, hint=HINTS.get(error.errno or 0)) from error


def _mode(path: Path) -> int | None:
    """Return the permissions of a file, or None if it does not exist."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


@contextmanager
def _temporary(
    path: Path, data: bytes, mode: int | None, owner: tuple[int, int] | None
) -> Iterator[Path]:
    """Write `data` to a flushed temporary file in the same folder; remove it after an error."""
    temporary = path.parent / f".{path.name[:40]}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        handle = DISK.open(temporary, _CREATE_NEW, 0o666 if mode is None else 0o600)
        try:
            if owner is not None:
                DISK.chown(temporary, *owner)
            if mode is not None:
                DISK.chmod(temporary, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[DISK.write(handle, rest) :]
            DISK.fsync(handle)
        finally:
            os.close(handle)
        yield temporary
    except BaseException:
        with suppress(OSError):
            DISK.unlink(temporary)
        raise


def _write_in_one_call(handle: int, data: bytes) -> None:
    if DISK.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_temporary(name: str) -> bool:
    """Return whether `_temporary` creates files with such names."""
    pid, _, random = name.removesuffix(".tmp").rpartition(".")[2].partition("-")
    return pid.isdecimal() and len(random) == 8  # noqa: PLR2004 - four bytes in hex


def _rename_without_replacing(path: Path, target: Path) -> None:
    """Rename a file or raise FileExistsError; not atomic on file systems without hard links."""
    try:
        DISK.link(path, target, **_LINK_ITSELF)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        DISK.rename(path, target)
    else:
        try:
            DISK.unlink(path)
        except OSError:
            with suppress(OSError):
                DISK.unlink(target)
            raise


def _sync_folder(folder: Path, *, flushed: bool = True) -> None:
    """Flush the entries of a folder; do nothing on systems that cannot (Windows)."""
    if not flushed:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        DISK.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)
