"""Keep what a power loss would undo: changes of files and folders that were not flushed.

Each change is noted before it is made. `lose` then restores the disk as it may be after a power
loss. A flush of a file makes its content durable, a flush of a folder its entries. A renamed folder
counts as flushed, because file systems that journal rename it as a whole.
"""

import os
import random
import shutil
import stat
from collections import defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

ALL, CONTENTS, SOME = "all", "contents", "some"
"""What is lost: everything that is not flushed; contents, but no entries of folders; or a random
part: any of the writes of a file, each perhaps torn, and the last of the entries."""


class _Write(NamedTuple):
    """A change of a file's content; a truncation has no new data."""

    offset: int
    old: bytes
    old_size: int
    new: bytes | None
    new_size: int


class _Entry(NamedTuple):
    """What a name in a folder stood for before a change: a kept file, an empty folder, nothing."""

    path: Path
    kept: Path | None
    was_folder: bool


class Unflushed:
    """The changes that are not flushed.

    Args:
        shelf: A folder on the same disk, for replaced and removed files.
    """

    def __init__(self, shelf: Path) -> None:
        self._shelf = shelf
        self._numbers = count()
        self._handles: dict[tuple[int, int], int] = {}
        self._writes: dict[tuple[int, int], list[_Write]] = defaultdict(list)
        self._entries: list[_Entry] = []

    def before_write(self, file: Path | int, offset: int | None, data: bytes) -> None:
        """Note a write; an offset of None means the end of the file."""
        key = self._key(file)
        handle = self._handles[key]
        size = os.fstat(handle).st_size
        start = size if offset is None else offset
        old = os.pread(handle, len(data), start)
        end = max(size, start + len(data))
        self._writes[key].append(_Write(start, old, size, bytes(data), end))

    def before_truncate(self, file: Path | int, size: int) -> None:
        """Note that a file is cut or extended to a size."""
        key = self._key(file)
        handle = self._handles[key]
        old_size = os.fstat(handle).st_size
        old = os.pread(handle, max(0, old_size - size), size)
        self._writes[key].append(_Write(size, old, old_size, None, size))

    def flush(self, file: Path | int) -> None:
        """Note that the content of a file is on the disk."""
        info = os.stat(file)  # noqa: PTH116 - a path or a handle
        self._writes.pop((info.st_dev, info.st_ino), None)

    def before_entry(self, path: Path) -> None:
        """Note that a name is about to be created, replaced or removed."""
        kept = None
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                self._entries.append(_Entry(path, None, was_folder=True))
                return
            kept = self._shelf / f"{os.getpid()}-{next(self._numbers)}"
            os.link(path, kept, follow_symlinks=False)
        self._entries.append(_Entry(path, kept, was_folder=False))

    def flush_folder(self, folder: Path) -> None:
        """Note that the entries of a folder are on the disk."""
        real = os.path.realpath(folder)
        self._entries = [e for e in self._entries if os.path.realpath(e.path.parent) != real]

    def lose(self, what: str, chance: random.Random) -> None:
        """Undo the changes that are not flushed, or a part of them."""
        for key, writes in self._writes.items():
            handle = self._handles[key]
            for write in reversed(writes):
                os.ftruncate(handle, write.old_size)
                os.pwrite(handle, write.old, write.offset)
            if what == SOME:
                for write in writes:
                    _perhaps_redo(handle, write, chance)
        if what == CONTENTS:
            return
        stays = chance.randrange(len(self._entries) + 1) if what == SOME else 0
        for entry in reversed(self._entries[stays:]):
            _restore(entry)

    def _key(self, file: Path | int) -> tuple[int, int]:
        """Return the identity of a file, and keep it open.

        It is never closed: that would release the locks that SQLite holds on it.
        """
        info = os.stat(file)  # noqa: PTH116 - a path or a handle
        key = info.st_dev, info.st_ino
        if key not in self._handles:
            path = f"/proc/self/fd/{file}" if isinstance(file, int) else file
            self._handles[key] = os.open(path, os.O_RDWR)
        return key


def _perhaps_redo(handle: int, write: _Write, chance: random.Random) -> None:
    fate = chance.random()
    if fate < 0.5:
        return
    if write.new is None:
        os.ftruncate(handle, write.new_size)
        return
    length = len(write.new) if fate < 0.9 else chance.randrange(len(write.new) + 1)
    os.pwrite(handle, write.new[:length], write.offset)


def _restore(entry: _Entry) -> None:
    path = entry.path
    if path.is_dir() and not path.is_symlink():
        if entry.was_folder:
            return
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
    if not path.parent.is_dir():
        return
    if entry.was_folder:
        path.mkdir()
    elif entry.kept is not None:
        os.link(entry.kept, path, follow_symlinks=False)
