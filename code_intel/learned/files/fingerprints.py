"""Whether files have changed, from what the disk says of them without reading: git's way, and git's exception.

A stamp is what the disk says at one moment. An equal one later means equal content, unless the file was touched
so shortly before the first that a later change may carry the same time: such a stamp is not settled, and
nothing may rest on it (git's racy rule, with the two seconds of the coarsest disks).
"""

import os
import stat
import time
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

RACY_NS = 2_000_000_000

Facts = tuple[int, int, int, int]
"""When it was touched and modified (ns), its size, its inode; all 0 where nothing is."""

NO_FILE: Facts = (0, 0, 0, 0)
_REFS = ("HEAD", "packed-refs", "config", "index", "reftable/tables.list")
"""What decides, beside the loose references, which commit a name means; and what git carries at all."""


class Stamp(NamedTuple):
    """What the disk said of some files; `settled` says whether an equal one proves anything."""

    said: tuple[object, ...]
    settled: bool

    def proves(self, earlier: "Stamp | None") -> bool:
        """Whether nothing has changed since the earlier one."""
        return earlier is not None and earlier.settled and self.said == earlier.said


facts_of: Callable[[os.stat_result], Facts] = attrgetter(
    "st_ctime_ns", "st_mtime_ns", "st_size", "st_ino"
)
"""Return what tells one state of a file from the next.

`ctime` moves with every write, rename and change of rights, and no program can set it back.
"""


def is_settled(facts: Facts, now_ns: int) -> bool:
    """Whether a change after `now_ns`, when the facts were asked for, must change them."""
    touched = facts[0] if os.name == "posix" else max(facts[:2])  # elsewhere ctime is the birth
    return touched < now_ns - RACY_NS


def stamp(paths: Iterable[str | Path]) -> Stamp:
    """Return what the disk says of these files now, in this order; one that is not there is told by that."""
    now = time.time_ns()
    said = tuple(map(_facts_at, paths))
    return Stamp(said, all(is_settled(each, now) for each in said))


def of_database(path: Path) -> Stamp:
    """Return the stamp of an SQLite database; a journal without content, as closing leaves it, is none.

    Every commit writes the file or its journal. Opening and closing it without a write changes neither.
    """
    now = time.time_ns()
    file, journal = (_facts_at(f"{path}{suffix}") for suffix in ("", "-wal"))
    said = (file, journal if journal[2] else NO_FILE)
    return Stamp(said, all(is_settled(each, now) for each in said))


def of_references(folder: Path) -> Stamp:
    """Return the stamp of everything by which git knows its commits, for the repository of `folder`.

    A reference that moves is renamed into place, hence its folder is touched. Where no repository is found it is
    never settled: git may have been told of one in other ways.
    """
    now = time.time_ns()
    found = _git_folders(folder)
    paths = [str(place / name) for place in found for name in _REFS]
    for place in found:
        paths += _folders_below(str(place / "refs"))
    facts = list(map(_facts_at, paths))
    settled = bool(found) and all(is_settled(each, now) for each in facts)
    return Stamp(tuple(zip(paths, facts, strict=True)), settled)


def _git_folders(folder: Path) -> list[Path]:
    """Return the folder of the work tree's own references, and the one it shares, if that is another."""
    for above in (folder, *folder.parents):
        mark = above / ".git"
        if mark.is_dir():
            return [mark]
        if mark.is_file():
            own = _named_in(mark, "gitdir:", above)
            return [own, *([shared] if (shared := _shared(own)) != own else [])]
    return []


def _shared(own: Path) -> Path:
    return _named_in(own / "commondir", "", own) if (own / "commondir").is_file() else own


def _named_in(file: Path, before: str, base: Path) -> Path:
    try:
        text = file.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return base
    return Path(os.path.normpath(base / text.removeprefix(before).strip()))


def _folders_below(folder: str) -> list[str]:
    """Return `folder` and every folder in it."""
    found = [folder]
    try:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return found
    for each in sorted(inner):
        found += _folders_below(each)
    return found


def _facts_at(path: str | Path) -> Facts:
    try:
        found = os.lstat(path)
    except OSError:
        return NO_FILE
    return facts_of(found) if not stat.S_ISLNK(found.st_mode) else _through(path)


def _through(link: str | Path) -> Facts:
    try:
        return facts_of(os.stat(link))  # noqa: PTH116 - any path
    except OSError:
        return NO_FILE
