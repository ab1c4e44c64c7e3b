"""Read files of a project without following links, pipes or devices.

A path may change between its check and its use. So each folder is opened relative to its parent,
and a link among them is an error (openat, O_NOFOLLOW). On systems without openat, the path is
resolved again after the file was opened.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from code_intel.index.corpus import MAX_FILE_BYTES

MAX_RESOLVE_TRIES = 20
"""Attempts to resolve a path whose links change meanwhile."""
_HAS_OPENAT = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_SAFE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# With O_PATH, folders above the file need not be readable.
_FOLDER = _SAFE | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
_FILE = _SAFE | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_inside(root: Path, name: str, limit: int = MAX_FILE_BYTES + 1) -> bytes:
    """Return the first `limit` bytes of a regular file below `root`.

    Args:
        root: The project.
        name: Relative to `root`, without `..`; see `grep.confined`.
        limit: Maximum number of bytes; one more than a size limit shows whether it is exceeded.

    Raises:
        OSError: The file is missing, unreadable, not regular, behind a link, or keeps changing.
    """
    return _read(lambda: _open(root, name), limit)[0]


def read_resolved(real: str, limit: int = MAX_FILE_BYTES + 1) -> tuple[bytes, os.stat_result]:
    """Return the first `limit` bytes of a regular file at a resolved path, and its state.

    Raises:
        OSError: As `read_inside`.
    """
    return _read(lambda: open_resolved(real), limit)


def read_document(folder: Path, name: str, limit: int = MAX_FILE_BYTES + 1) -> bytes:
    """Return the first `limit` bytes of an indexed file, named relative to `folder` or absolutely.

    Raises:
        OSError: As `read_inside`.
    """
    if Path(name).is_absolute():
        return read_resolved(name, limit)[0]
    return read_inside(folder, name, limit)


def read_plain(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the first `limit` bytes of a regular file that is not itself a link.

    Links among its folders are followed, so use it only for folders that code-intel owns.

    Raises:
        OSError: The file is missing, unreadable, not regular, a link, or keeps changing.
    """
    return _read(lambda: os.open(path, _FILE), limit)[0]


def _read(open_file: Callable[[], int], limit: int) -> tuple[bytes, os.stat_result]:
    for _ in range(2):
        with os.fdopen(open_file(), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise OSError(0, "is not a regular file")
            # A buffer of `limit` bytes costs more than reading. Files in /proc have no size.
            data = file.read(min(limit, before.st_size + 1) if before.st_size else limit)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return data, after
    raise OSError(0, "keeps changing while it is read")


def size_inside(root: Path, name: str) -> int | None:
    """Return the size of a regular file below `root`; None if none exists, or behind a link."""
    found = stat_inside(root, name)
    return found.st_size if found and stat.S_ISREG(found.st_mode) else None


def stat_inside(root: Path, name: str) -> os.stat_result | None:
    """Return the state of a file or link below `root`; None if it is missing or behind a link."""
    try:
        if _HAS_OPENAT:
            with _folder_of(root, name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        outer = (root / name).parent
        if os.path.realpath(outer) != str(_path_below(root, name).parent):
            return None
        return os.lstat(root / name)
    except (OSError, ValueError):
        return None


def real_path(path: Path) -> Path:
    """Resolve the links of a path; unlike Path.resolve, tolerate loops of links.

    Raises:
        OSError: The links changed at each attempt to follow them.
    """
    for attempts_left in reversed(range(MAX_RESOLVE_TRIES)):
        try:
            return Path(os.path.realpath(path))
        except OSError:  # a link was replaced while it was resolved
            if not attempts_left:
                raise
    raise AssertionError  # pragma: no cover - the last try returns or raises


def utf8_name(name: str) -> str:
    """Return a name with invalid UTF-8 escaped, for JSON and terminals."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def open_resolved(real: str) -> int:
    """Open the file at a resolved path for reading, without following links; return its descriptor.

    Raises:
        OSError: The file is missing, unreadable, or behind a link.
    """
    anchor, name = os.path.splitdrive(real)
    return _open(Path(anchor + os.sep), name.lstrip(os.sep))


def _open(root: Path, name: str) -> int:
    if _HAS_OPENAT:
        try:
            with _folder_of(root, name) as (folder, last):
                return os.open(last, _FILE, dir_fd=folder)
        except PermissionError:
            if hasattr(os, "O_PATH"):
                raise
    target = _path_below(root, name)
    if not target.is_relative_to(os.path.realpath(root)) or ".." in target.parts:
        raise OSError(0, "is not inside the project")
    file = os.open(target, _FILE)
    if os.path.realpath(target) != str(target):
        os.close(file)
        raise OSError(0, "is behind a link")
    return file


@contextmanager
def _folder_of(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Open the folder of a file; yield the folder's descriptor and the file's name."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise OSError(0, "is not inside the project")
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


def _path_below(root: Path, name: str) -> Path:
    return Path(os.path.realpath(root)) / name
