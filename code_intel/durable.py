"""The one place that changes files: old or new, never a mixture, whatever dies in between.

Write beside, fsync, rename, fsync the folder (docs/decisions/0006, 0038). Read-modify-write is done under
`locked`. Databases have SQLite's own journal; everything else that is made, replaced, moved, removed or
appended to comes through here, which ruff and tests/project/test_architecture.py check. The standard library alone, but for
`locked`: a hook that must answer at once appends to journals.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel import ignored
from code_intel.errors import BusyError, StorageError

LEFT_SECONDS = 60
"""A temporary file that is older was left by a process that died: a write takes milliseconds."""

_MADE = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NEW, _GROW = os.O_WRONLY | os.O_EXCL | _MADE, os.O_RDWR | os.O_APPEND | _MADE
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL}
"""How disks say that they have no hard links, or none of folders."""
_LINK_ITSELF = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
_NO_FOLDER_SYNC = {errno.EINVAL, errno.EBADF, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES}

HINTS = MappingProxyType(
    {
        errno.ENOSPC: "The disk is full: make room, then try again. Reading goes on.",
        errno.EDQUOT: "Your quota is used up: make room, then try again. Reading goes on.",
        errno.EFBIG: "Files may not grow this large here (`ulimit -f`): raise it, then try again.",
        errno.EROFS: "The disk is read-only: mount it for writing, then try again. Reading goes on.",
        errno.EACCES: "You may not write there: check who owns it. Reading goes on.",
        errno.EPERM: "You may not write there: check who owns it. Reading goes on.",
        errno.EIO: "The disk has failed: look at the system's log before you try again.",
    }
)
"""The next step, by what the system said."""


class Disk(NamedTuple):
    """Everything that changes a disk, one operation a field; tests put in one that fails."""

    open: Callable[..., int] = os.open
    write: Callable[..., int] = os.write
    fsync: Callable[..., None] = os.fsync
    truncate: Callable[..., None] = os.ftruncate
    chmod: Callable[..., None] = os.chmod
    rename: Callable[..., None] = os.replace
    link: Callable[..., None] = os.link
    unlink: Callable[..., None] = os.unlink
    mkdir: Callable[..., None] = os.mkdir
    rmdir: Callable[..., None] = os.rmdir


_DISKS = [Disk()]


@contextmanager
def on(disk: Disk) -> Iterator[None]:
    """Let `disk` do the work of this process for a block."""
    _DISKS.append(disk)
    try:
        yield
    finally:
        _DISKS.remove(disk)


def replace(path: Path, data: bytes, *, flushed: bool = True) -> None:
    """Put `data` at `path`, over what is there; makes folders and keeps the old file's mode.

    Without `flushed` a power loss may bring the old file back, until the next change in that folder is flushed.

    Raises:
        StorageError: The disk refused; the old file is there, or the new one, where only its name could not be kept.
    """
    with _refusals(path, "written"):
        make_folder(path.parent)
        with _beside(path, data, _mode(path)) as fresh:
            _disk().rename(fresh, path)
        _sync_folder(path.parent, flushed=flushed)


def create(path: Path, data: bytes, mode: int | None = None, *, flushed: bool = True) -> None:
    """Put `data` at `path`, over nothing; makes folders. Of two at once one succeeds.

    Args:
        path: Where.
        data: The whole content.
        mode: Who may do what with it; what the umask leaves, if not given.
        flushed: See `replace`.

    Raises:
        StorageError: Something is there (its cause is a FileExistsError), or the disk refused: then nothing is.
    """
    with _refusals(path, "made"):
        make_folder(path.parent)
        with _beside(path, data, mode) as fresh:
            _rename_over_nothing(fresh, path)
        try:
            _sync_folder(path.parent, flushed=flushed)
        except OSError:
            with suppress(OSError):
                _disk().unlink(path)
            raise


def move(path: Path, target: Path, *, over: bool = False) -> None:
    """Give a file or folder another name on the same disk; makes folders. Replaces only if `over`.

    Raises:
        StorageError: There is something under the new name, nothing under the old, or the disk refused.
    """
    with _refusals(path, f"moved to {target}"):
        make_folder(target.parent)
        if over:
            _disk().rename(path, target)
        else:
            _rename_over_nothing(path, target)
        for folder in dict.fromkeys((target.parent, path.parent)):
            _sync_folder(folder)


def remove(path: Path, *, flushed: bool = True) -> bool:
    """Take a file away; False when there is none. Without `flushed` it may come back after a power loss.

    Raises:
        StorageError: The disk refused.
    """
    with _refusals(path, "removed"):
        try:
            _disk().unlink(path)
        except FileNotFoundError:
            return False
        _sync_folder(path.parent, flushed=flushed)
    return True


def append(path: Path, lines: bytes, *, flushed: bool = True) -> None:
    """Put whole lines at the end of a file, made if missing; the caller holds its lock.

    A line that somebody left torn is ended first, so that it costs no other.

    Raises:
        StorageError: The disk refused; the file ends where it did.
    """
    with _refusals(path, "written"):
        make_folder(path.parent)
        is_new = not path.exists()
        handle = _disk().open(path, _GROW, 0o644)
        try:
            end = os.fstat(handle).st_size
            torn = end and os.lseek(handle, end - 1, os.SEEK_SET) and os.read(handle, 1) != b"\n"
            extend(handle, b"\n" + lines if torn else lines, end, flushed=flushed)
        finally:
            os.close(handle)
        _sync_folder(path.parent, flushed=is_new and flushed)


def extend(handle: int, data: bytes, end: int, *, flushed: bool = True) -> None:
    """Put `data` behind the first `end` bytes of an open file in one write; what else followed is cut off.

    Raises:
        OSError: The disk refused; the file ends at `end`, as far as the disk still lets us say so.
    """
    try:
        if os.fstat(handle).st_size > end:
            _disk().truncate(handle, end)
        _write_at_once(handle, data)
        if flushed:
            _disk().fsync(handle)
    except OSError:
        with suppress(OSError):
            _disk().truncate(handle, end)
            _disk().fsync(handle)
        raise


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, durably; `mode` is for the last. One that is there is fine.

    A new `.code-intel` says from the first what git shall not carry, whoever makes it.

    Raises:
        StorageError: Something else is there, or the disk refused.
    """
    with _refusals(path, "made"):
        missing: list[Path] = []
        for folder in (path, *path.parents):
            if folder.is_dir():
                break
            missing.append(folder)
        for folder in reversed(missing):
            try:
                _disk().mkdir(folder, mode if folder == path else 0o777)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            _sync_folder(folder.parent)
            if folder.name == ignored.FOLDER and ignored.FOLDER not in folder.parent.parts:
                with suppress(StorageError):  # somebody else was quicker
                    create(folder / ignored.FILE, ignored.TEXT)


def remove_folder(path: Path) -> bool:
    """Take an empty folder away; False when it is not there or not empty.

    Raises:
        StorageError: The disk refused.
    """
    with _refusals(path, "removed"):
        try:
            _disk().rmdir(path)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                return False
            raise
        _sync_folder(path.parent)
    return True


def sweep(folder: Path) -> None:
    """Take away the temporary files that processes which died have left in `folder`; never raises."""
    with suppress(OSError, StorageError):
        for file in folder.glob(".*.tmp"):
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > LEFT_SECONDS and _is_ours(file.name):
                    _disk().unlink(file)


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
    with _refusals(path, "locked"):
        make_folder(path.parent)
        try:
            lock.acquire(poll_interval=0.01)  # who asks rarely hardly gets a turn
        except Timeout as error:
            raise BusyError(f"{path.name} is held by another process.") from error
    try:
        yield
    finally:
        lock.release()


def _disk() -> Disk:
    return _DISKS[-1]


@contextmanager
def _refusals(path: Path, done: str) -> Iterator[None]:
    """Turn what the system says into an error with the next step."""
    try:
        yield
    except OSError as error:
        text = f"{path} could not be {done}: {error.strerror or error}."
        raise StorageError(text, hint=HINTS.get(error.errno or 0)) from error


def _mode(path: Path) -> int | None:
    """Return the mode of a file that is there."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


@contextmanager
def _beside(path: Path, data: bytes, mode: int | None) -> Iterator[Path]:
    """Offer a file of `data` in the same folder, on the disk already; after an error it is gone."""
    fresh = path.parent / f".{path.name[:40]}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        handle = _disk().open(fresh, _NEW, 0o666 if mode is None else 0o600)
        try:
            if mode is not None:
                _disk().chmod(fresh, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[_disk().write(handle, rest) :]
            _disk().fsync(handle)
        finally:
            os.close(handle)
        yield fresh
    except BaseException:
        with suppress(OSError):
            _disk().unlink(fresh)
        raise


def _write_at_once(handle: int, data: bytes) -> None:
    if _disk().write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_ours(name: str) -> bool:
    """Whether `_beside` gives such names."""
    pid, _, random = name.removesuffix(".tmp").rpartition(".")[2].partition("-")
    return pid.isdecimal() and len(random) == 8  # noqa: PLR2004 - four bytes in hex


def _rename_over_nothing(path: Path, target: Path) -> None:
    """Rename, or fail with FileExistsError; where disks have no links, others may come in between."""
    try:
        _disk().link(path, target, **_LINK_ITSELF)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        _disk().rename(path, target)
    else:
        try:
            _disk().unlink(path)
        except OSError:
            with suppress(OSError):
                _disk().unlink(target)
            raise


def _sync_folder(folder: Path, *, flushed: bool = True) -> None:
    """Make names durable; a no-op where folders cannot be opened, as on Windows, or flushed."""
    if not flushed:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        _disk().fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)
