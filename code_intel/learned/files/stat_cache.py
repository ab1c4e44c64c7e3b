"""Cache values that are computed from files, as long as the stat of the files is unchanged.

Files with equal stats have equal content, unless a file changed less than two seconds before its
stat was taken; a later change may then have the same time. (Git handles this as "racy" files; two
seconds is the coarsest resolution of file systems.) A value that depends on such a stat is computed
again on the next call.
"""

import os
import time
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import Generic, TypeVar

from code_intel.errors import StorageError

RACY_NS = 2_000_000_000
Stat = tuple[int, int, int, int]
"""Times of change and modification (ns), size and inode; all 0 if there is no file."""
MISSING: Stat = (0, 0, 0, 0)
Value = TypeVar("Value")

_facts: Callable[[os.stat_result], Stat] = attrgetter(
    "st_ctime_ns", "st_mtime_ns", "st_size", "st_ino"
)
"""`st_ctime` changes with every write, rename and chmod, and programs cannot set it."""


class StatCache(Generic[Value]):
    """A cache of one value that is computed from files. Not thread-safe."""

    def __init__(self) -> None:
        self._basis: object = None
        self._values: list[Value] = []

    def get(self, stats: Iterable[Stat], key: object, make: Callable[[], Value]) -> Value:
        """Return the value; compute it again if the files or `key` have changed.

        Args:
            stats: The current stats of the files.
            key: Everything else that the value depends on.
            make: Computes the value. If it raises an error, nothing is cached.
        """
        now = time.time_ns()
        stats = tuple(stats)
        if self._values and self._basis == (key, stats):
            return self._values[0]
        self._values.clear()
        value = make()
        if all(is_settled(each, now) for each in stats):
            self._basis, self._values = (key, stats), [value]
        return value


class FolderCache(Generic[Value]):
    """A cache of one value per Markdown file below a folder. Not thread-safe.

    Args:
        read: Returns the value of a file, given the path and the previous value or None.
    """

    def __init__(self, read: Callable[[Path, Value | None], Value]) -> None:
        self._read = read
        self._stats: dict[str, Stat] = {}
        self._racy: set[str] = set()
        self._values: dict[str, Value] = {}
        self.revision = 0
        """Incremented whenever a value changes."""

    def look(self, folder: Path) -> tuple[Value, ...]:
        """Stat every file, read those that have changed, and return all values by path.

        Raises:
            StorageError: The folder exists but cannot be listed.
        """
        now = time.time_ns()
        names = markdown_files(str(folder))
        stats = dict(zip(names, map(link_stat, names), strict=True))
        if self._racy or stats != self._stats:
            values = {name: self._value(name, facts) for name, facts in stats.items()}
            if values != self._values or list(values) != list(self._values):
                self.revision += 1
            self._stats, self._values = stats, values
            self._racy = {name for name, facts in stats.items() if not is_settled(facts, now)}
        return tuple(self._values.values())

    def _value(self, name: str, facts: Stat) -> Value:
        before = self._values.get(name)
        if before is not None and facts == self._stats[name] and name not in self._racy:
            return before
        value = self._read(Path(name), before)
        return before if before is not None and value == before else value


def is_settled(facts: Stat, now_ns: int) -> bool:
    """Return whether a change after `now_ns` must change the stat."""
    touched = facts[0] if os.name == "posix" else max(facts[:2])  # elsewhere, creation time
    return touched < now_ns - RACY_NS


def file_stat(path: str | Path) -> Stat:
    """Return the stat of a file, following symbolic links."""
    try:
        return _facts(os.stat(path))  # noqa: PTH116 - any path
    except OSError:
        return MISSING


def link_stat(path: str) -> Stat:
    """Return the stat of a file, or of a symbolic link itself."""
    try:
        return _facts(os.lstat(path))
    except OSError:
        return MISSING


def database_stats(path: Path) -> tuple[Stat, Stat]:
    """Return the stats of an SQLite database and its journal; an empty journal counts as missing.

    Every commit changes one of the two files. Opening and closing the database without writing
    changes neither.
    """
    journal = file_stat(f"{path}-wal")
    return file_stat(path), journal if journal[2] else MISSING


def markdown_files(folder: str) -> list[str]:
    """Return the Markdown files below a folder except hidden ones, sorted by name in each folder.

    Raises:
        StorageError: The folder exists but cannot be listed.
    """
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    found += markdown_files(entry.path)
                elif entry.name[-3:].lower() == ".md":
                    found.append(entry.path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder} cannot be listed: {error.strerror or error}.") from error
    return found
