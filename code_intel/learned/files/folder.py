"""The Markdown files below a folder, read once: what has not changed since is not read again.

Reading 10,000 agreements takes seconds, asking the disk about them takes 16 ms, and a question asks twice. While
a watch says that nothing was touched, the folders alone are asked, and files that nothing was sure of.
A warm folder says what a fresh one says, whatever was written, replaced, moved or deleted in between, by whom ever.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from operator import attrgetter, ne
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from code_intel.errors import StorageError
from code_intel.learned.files.fingerprints import NO_FILE, Facts, facts_of, is_settled
from code_intel.learned.files.watching import Watch, watch

Item = TypeVar("Item")
NOW = 0.0
"""As `since`: look at the disk, whoever has looked before."""
BELIEVED_SECONDS = 60.0
"""How long a watch is believed after every file was asked."""
_NEVER = float("-inf")
_links_of: Callable[[os.stat_result], int] = attrgetter("st_nlink")


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
        self._items: list[Item] = []
        self._open: set[str] = set()
        self._walk_open = True
        self._watch: Watch | None = None
        self._asked = _NEVER
        self._looked = -1.0
        self._kept: Look[Item] = Look(0, ())

    def look(self, since: float = NOW, *, believing: bool = True) -> Look[Item]:
        """Return what the folder holds now; what a look said that began at `since` or later is good enough.

        Args:
            since: A time of `time.monotonic`, such as when the question came.
            believing: Whether a watch may spare asking every file.

        Raises:
            StorageError: The folder is there but cannot be listed.
        """
        with self._lock:
            if not (believing and 0 < since <= self._looked):
                began = time.monotonic()
                quiet = believing and self._is_quiet(began)
                if self._mended() if quiet else self._asked_anew(began):
                    self._kept = Look(self._kept.revision + 1, tuple(self._items))
                self._looked = began
            return self._kept

    def _is_quiet(self, began: float) -> bool:
        """Whether nothing was touched since every file was asked, not long ago; what was told is told once."""
        if self._watch is None or not (self._watch.is_quiet() and self._is_as_walked()):
            self._asked = _NEVER
        return began - self._asked < BELIEVED_SECONDS

    def _mended(self) -> bool:
        """Read again what nothing was sure of; whether any of it says another thing."""
        if not self._open:
            return False
        now = time.time_ns()
        known = zip(self._names, self._facts, strict=True)
        facts = [_facts(name) if name in self._open else was for name, was in known]
        return self._taken_in(self._names, facts, now)

    def _asked_anew(self, began: float) -> bool:
        """Bring everything up to date; whether anything was another."""
        self._asked = _NEVER
        now = time.time_ns()
        names = self._walked(now)
        is_alone = True
        try:
            found = list(map(os.lstat, names))
            facts = list(map(facts_of, found))
            # What is written by another name of the same file is told to nobody here.
            is_alone = max(map(_links_of, found), default=1) == 1
        except OSError:  # one has just gone
            self._walk_open, is_alone = True, False
            facts = list(map(_facts, names))
        changed = self._taken_in(names, facts, now)
        self._asked = began if is_alone else _NEVER
        return changed

    def _taken_in(self, names: list[str], facts: list[Facts], now: int) -> bool:
        """Read the files that are not as they were, or were not sure; whether any is another."""
        if names == self._names and facts == self._facts and not self._open:
            return False
        known = dict(zip(self._names, zip(self._facts, self._items, strict=True), strict=True))
        items: list[Item] = []
        changed = names != self._names
        still_open = set[str]()
        for name, now_is in zip(names, facts, strict=True):
            was, item = known.get(name, (None, None))
            if item is None or was != now_is or name in self._open:
                old, item = item, self._read(Path(name), item)
                changed = changed or old is None or ne(item, old)
                if not is_settled(now_is, now) or not self._sure(item):
                    still_open.add(name)
            items.append(item)
        self._names, self._facts, self._items, self._open = names, facts, items, still_open
        return changed

    def _is_as_walked(self) -> bool:
        return all(_folder_facts(folder) == facts for folder, facts in self._folders.items())

    def _walked(self, now: int) -> list[str]:
        """Return the names of all files, listed anew if any folder was touched, by then watched."""
        if not self._walk_open and self._is_as_walked():
            return self._names
        self._walk_open = True
        folders: dict[str, Facts] = {}
        names = _files(str(self.path), folders)
        if self._watch is None or _inodes(folders) != _inodes(self._folders):
            self._watch = watch(folders)
            before, folders = folders, {}
            names = _files(str(self.path), folders)  # what came before the watch was made
            if _inodes(folders) != _inodes(before):
                self._watch = None
        self._folders = folders
        self._walk_open = not all(is_settled(facts, now) for facts in folders.values())
        return self._names if names == self._names else names


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


def _inodes(folders: Mapping[str, Facts]) -> dict[str, int]:
    return {folder: facts[-1] for folder, facts in folders.items()}


def _facts(path: str) -> Facts:
    try:
        return facts_of(os.lstat(path))
    except OSError:
        return NO_FILE


def _folder_facts(path: str) -> Facts:
    """Return the facts of a folder, which may be reached by a link if it is the outermost."""
    try:
        return facts_of(os.stat(path))  # noqa: PTH116 - faster by the thousand
    except OSError:
        return NO_FILE
