"""Files of the project, read by the way they were checked: a link swapped in meanwhile is not followed.

A path that was resolved and found inside says nothing of the moment in which it is opened. So each of its
folders is opened from the one before, and a link among them is an error (openat, O_NOFOLLOW); where the
system cannot do that, the way is resolved once more after the file was opened.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from code_intel.index.corpus import LARGEST

TRIES = 20
"""How often a path that changes while it is resolved is resolved again."""
_STEPWISE = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_SAFE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# A folder that may be passed through need not be one that may be listed.
_FOLDER = _SAFE | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
_FILE = _SAFE | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_inside(root: Path, name: str, most: int = LARGEST + 1) -> bytes:
    """Return the first `most` bytes of a regular file below `root`, as they were at one moment.

    Args:
        root: The project.
        name: Relative to it, without `..`; see `grep.confined`.
        most: Bytes; one more than what is read of a file tells that it is larger.

    Raises:
        OSError: Gone, unreadable, no regular file, reached through a link, or changing all the while.
    """
    return _read(lambda: _opened(root, name), most)[0]


def read_resolved(real: str, most: int = LARGEST + 1) -> tuple[bytes, os.stat_result]:
    """Return the first `most` bytes of a regular file at a resolved path, and its state then.

    Raises:
        OSError: Gone, unreadable, no regular file, reached through a link, or changing all the while.
    """
    return _read(lambda: opened_straight(real), most)


def read_document(folder: Path, name: str, most: int = LARGEST + 1) -> bytes:
    """Return the first `most` bytes of a file by its name in the index: below `folder`, or absolute.

    Raises:
        OSError: As `read_inside`.
    """
    if Path(name).is_absolute():
        return read_resolved(name, most)[0]
    return read_inside(folder, name, most)


def read_plain(path: Path, most: int = LARGEST) -> bytes:
    """Return the first `most` bytes of a regular file that is not a link itself.

    For files in folders that code-intel owns. Links among the folders are followed.

    Raises:
        OSError: Gone, unreadable, no regular file, a link, or changing all the while.
    """
    return _read(lambda: os.open(path, _FILE), most)[0]


def _read(opened: Callable[[], int], most: int) -> tuple[bytes, os.stat_result]:
    for _ in range(2):
        with os.fdopen(opened(), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise OSError(0, "is no file")
            data = file.read(most)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return data, after
    raise OSError(0, "it changed while it was read")


def size_inside(root: Path, name: str) -> int | None:
    """Return the bytes of a regular file below `root`; None where it is gone or a link is on the way."""
    found = stat_inside(root, name)
    return found.st_size if found and stat.S_ISREG(found.st_mode) else None


def stat_inside(root: Path, name: str) -> os.stat_result | None:
    """Return the state of a file or link below `root`; None if it is gone or a folder is a link."""
    try:
        if _STEPWISE:
            with _folder_of(root, name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        outer = (root / name).parent
        if os.path.realpath(outer) != str(_beneath(root, name).parent):
            return None
        return os.lstat(root / name)
    except (OSError, ValueError):
        return None


def real_path(path: Path) -> Path:
    """Return where a path really is; unlike Path.resolve it does not fail on a loop of links.

    Raises:
        OSError: Links on the way are replaced faster than they can be followed.
    """
    for left in reversed(range(TRIES)):
        try:
            return Path(os.path.realpath(path))
        except OSError:  # what was a link when it was looked at is none any more
            if not left:
                raise
    raise AssertionError  # pragma: no cover - the last try returns or raises


def utf8_name(name: str) -> str:
    """Return a name that JSON and terminals can carry: bytes that are no UTF-8 become escapes."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def opened_straight(real: str) -> int:
    """Return a descriptor of the file at a resolved path, for reading; no link has come in between.

    Raises:
        OSError: Gone, unreadable, or reached through a link.
    """
    anchor, name = os.path.splitdrive(real)
    return _opened(Path(anchor + os.sep), name.lstrip(os.sep))


def _opened(root: Path, name: str) -> int:
    if _STEPWISE:
        try:
            with _folder_of(root, name) as (folder, last):
                return os.open(last, _FILE, dir_fd=folder)
        except PermissionError:
            if hasattr(os, "O_PATH"):
                raise
    asked = _beneath(root, name)
    if not asked.is_relative_to(os.path.realpath(root)) or ".." in asked.parts:
        raise OSError(0, "is not below the project")
    file = os.open(asked, _FILE)
    if os.path.realpath(asked) != str(asked):
        os.close(file)
        raise OSError(0, "is reached through a link")
    return file


@contextmanager
def _folder_of(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Hold the folder a file is in, and give the file's name in it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise OSError(0, "is not below the project")
    *outer, last = path.parts
    folder = os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for part in outer:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, last
    finally:
        os.close(folder)


def _beneath(root: Path, name: str) -> Path:
    return Path(os.path.realpath(root)) / name
