"""Does a work that changes several files once for every change it makes to the disk, and lets that change go wrong.

For programs of their own, since it forks: `migration/faults.py`, `cli/init_faults.py`.
"""

import errno
import os
import re
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from code_intel.errors import StorageError
from faulty_disk import DIED, REFUSED, TAKEN, changes, outcome

UNEXPECTED = 9
WAYS = (("dies torn", errno.EIO, 1), ("fails", errno.ENOSPC, 1), ("fails for good", errno.EROFS, 5))
"""How, why, and at each how manieth change; what dies torn dies before a change that writes nothing."""
TIME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
KEPT = re.compile(r"/backup/")
Work = Callable[[Path], None]
Tree = dict[str, bytes]
EMPTY = b"(an empty folder)"
Next = dict[Work, tuple[Tree, Tree]]
"""What may be done next, and the project after that: where the first work was not done, and where it was."""


def tree(root: Path) -> Tree:
    """Return every file of a project but locks, and every empty folder, by name: neither its place nor a time is told."""
    here = re.compile(re.escape(str(root.parents[1]).encode()) + rb"/[^/]+/p")
    return {
        TIME.sub("<time>", path.relative_to(root).as_posix()): here.sub(
            b"<root>", path.read_bytes()
        )
        if path.is_file()
        else EMPTY
        for path in sorted(root.rglob("*"))
        if path.suffix not in {".lock", ".tmp"}
        and (path.is_file() or not (any(path.iterdir()) or "backup" in path.parts))
    }


def without(files: Tree, parts: re.Pattern[str]) -> Tree:
    """Leave out what a pattern finds in a name."""
    return {name: data for name, data in files.items() if not parts.search(name)}


def faults(
    start: Path,
    root: Path,
    work: Work,
    then: Next,
    found: Counter[str],
    loose: re.Pattern[str] | None = None,
    ways: str = "",
) -> Iterator[str]:
    """Yield what is wrong after a work that was stopped at one of its changes, and what was done then.

    Args:
        start: A project as it is before, in a folder of a folder, as `root`.
        root: Where to try.
        work: What is stopped.
        then: What is done next, in turn; first the work itself.
        found: Counts what came of it.
        loose: Files that may be left where all else is done; None where what was done is not taken back.
        ways: How it goes wrong, if only in one way.
    """
    before, end = tree(start), next(iter(then.values()))[1]
    shutil.copytree(start, root)
    count = changes(lambda: work(root))
    for way, code, step in (row for row in WAYS if ways in {"", row[0]}):
        for point in range(1, count + 1, step):
            shutil.rmtree(root)
            shutil.copytree(start, root)
            came = outcome(lambda: _typed(work, root), point, way, code)
            found[{TAKEN: "taken", REFUSED: "refused", DIED: "died"}.get(came, f"exit {came}")] += 1
            where = f"{work.__name__}, {way} at {point}: "
            now = tree(root)
            yield from (where + text for text in _mixed(now, before, end))
            if way == "fails":
                yield from (f"{where}{path.name} was left" for path in root.rglob(".*.tmp"))
                if loose:
                    yield from (where + text for text in _halves(now, before, end, came, loose))
            again, wanted = list(then.items())[point % len(then)]
            again(root)
            is_done = without(now, KEPT) == without(end, KEPT)
            if tree(root) not in wanted[: 1 + is_done]:
                yield f"{where}{again.__name__} then ends otherwise: {_apart(tree(root), wanted[0])}"


def _typed(work: Work, root: Path) -> None:
    """Do a work; an error that has no next step is a defect."""
    try:
        work(root)
    except StorageError:
        raise
    except Exception:  # noqa: BLE001 - it is told, and counted
        traceback.print_exc()
        os._exit(UNEXPECTED)


def _mixed(now: Tree, before: Tree, end: Tree) -> Iterator[str]:
    """Yield the files that are neither as they were nor as they will be."""
    old, new = without(before, KEPT), without(end, KEPT)
    for name, data in without(now, KEPT).items():
        if data not in (old.get(name), new.get(name), EMPTY):
            yield f"{name} is neither old nor new"
    for name in old.keys() & new.keys() - now.keys():
        yield f"{name} is gone"


def _halves(now: Tree, before: Tree, end: Tree, came: int, loose: re.Pattern[str]) -> Iterator[str]:
    """Yield what a work is that the disk refused once, unless it is done, or as if it had not begun."""
    parts = KEPT if came == TAKEN else loose  # a copy may wait for the next run
    if now != before and without(now, parts) != without(end, parts):
        yield f"was done by half: {_apart(now, before)}"
    if came == TAKEN and now == before:
        yield "was not done, and nobody is told"


def _apart(one: Tree, other: Tree) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
