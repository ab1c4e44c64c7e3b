"""The Markdown files below a folder, read once: what has not changed since is not read again.

Reading 10,000 agreements takes seconds, asking the disk about them takes 16 ms, and a question asks twice.
A warm folder says what a fresh one says, whatever was written, replaced, moved or deleted in between, by whom ever.
"""

import os
import threading
import time
from collections.abc import Callable
from operator import ne
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from code_intel.errors import StorageError
from code_intel.learned.stamps import NOTHING, Facts, facts_of, is_settled

Item = TypeVar("Item")
NOW = 0.0
"""As `since`: look at the disk, whoever has looked before."""


class Look(NamedTuple, Generic[Item]):
    """What a folder holds; another `revision` than before means that something in it has changed."""

    revision: int
    items: tuple[Item, ...]


class Folder(Generic[Item]):
    """One folder of files, remembered by this process; safe for threads.

    Args:
        path: The folder; it need not exist.
        read: Returns what a file says; the second argument is what it said before, which may be returned again.
        sure: Whether an item comes from a file that was read; one that could not be is tried again at each look.
    """

    def __init__(
        self, path: Path, read: Callable[[Path, Item | None], Item], sure: Callable[[Item], bool]
    ) -> None:
        self.path = path
        self._read = read
        self._sure = sure
        self._lock = threading.Lock()
        self._folders: dict[str, Facts] = {}
        self._names: list[str] = []
        self._facts: list[Facts] = []
        self._items: dict[str, Item] = {}
        self._open: set[str] = set()
        self._walk_open = True
        self._looked = -1.0
        self._kept: Look[Item] = Look(0, ())

    def look(self, since: float = NOW) -> Look[Item]:
        """Return what the folder holds now; what a look said that began at `since` or later is good enough.

        Args:
            since: A time of `time.monotonic`, such as when the question came.

        Raises:
            StorageError: The folder is there but cannot be listed.
        """
        with self._lock:
            if not 0 < since <= self._looked:
                began = time.monotonic()
                if self._changed():
                    items = tuple(self._items[name] for name in self._names)
                    self._kept = Look(self._kept.revision + 1, items)
                self._looked = began
            return self._kept

    def _changed(self) -> bool:
        """Bring everything up to date; whether anything was another."""
        now = time.time_ns()
        walked = self._walked(now)
        try:
            facts = list(map(facts_of, map(os.lstat, self._names)))
        except OSError:  # one has just gone
            self._walk_open = walked = True
            facts = list(map(_facts, self._names))
        if not walked and not self._open and facts == self._facts:
            return False
        return self._taken_in(facts, now) or walked

    def _taken_in(self, facts: list[Facts], now: int) -> bool:
        known = dict(zip(self._items, self._facts, strict=True))
        items: dict[str, Item] = {}
        changed = False
        for name, now_is in zip(self._names, facts, strict=True):
            item = old = self._items.get(name)
            if old is None or name in self._open or known[name] != now_is:
                item = self._read(Path(name), old)
                changed = changed or old is None or ne(item, old)
                self._open.discard(name)
                if not is_settled(now_is, now) or not self._sure(item):
                    self._open.add(name)
            assert item is not None  # noqa: S101 - read just now, or kept
            items[name] = item
        changed = changed or len(items) != len(self._items)
        self._open &= items.keys()
        self._items, self._facts = items, facts
        return changed

    def _walked(self, now: int) -> bool:
        """List the files anew, if any folder was touched; whether there are others than before."""
        same = not self._walk_open and all(
            _folder_facts(folder) == facts for folder, facts in self._folders.items()
        )
        if same:
            return False
        self._walk_open = True
        folders: dict[str, Facts] = {}
        names = _files(str(self.path), folders)
        before, self._names, self._folders = self._names, names, folders
        self._walk_open = not all(is_settled(facts, now) for facts in folders.values())
        return before != names


def _files(folder: str, folders: dict[str, Facts]) -> list[str]:
    """Return the Markdown files below `folder`, and note its folders; hidden ones are none of ours."""
    found: list[str] = []
    folders[folder] = _folder_facts(folder)
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    found += _files(entry.path, folders)
                elif entry.name[-3:].lower() == ".md":
                    found.append(entry.path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder} cannot be listed: {error.strerror or error}.") from error
    return found


def _facts(path: str) -> Facts:
    try:
        return facts_of(os.lstat(path))
    except OSError:
        return NOTHING


def _folder_facts(path: str) -> Facts:
    """Return the facts of a folder, which may be reached by a link if it is the outermost."""
    try:
        return facts_of(os.stat(path))  # noqa: PTH116 - faster by the thousand
    except OSError:
        return NOTHING
