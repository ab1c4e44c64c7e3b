"""Run an operation on a disk whose n-th change fails, for every n.

All changes of files go through `durable`, so a fault there is a fault of the disk.

- In this process: `with on(Faulty(3, "fails").disk): work()`.
- In a child that may die: `outcome(work, point, way)`.
- Every change of an operation in turn, each on its own copy of a project: `trials`.
- The same for an operation on a whole project that must be undone or completed: `faults`.

The last three fork. Call them in a separate program (`programs.output_of`), because a test process
may have threads.
"""

import errno
import os
import re
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.foundation.durable import Disk

WAYS = ("dies before", "dies torn", "dies after", "fails", "fails for good", "writes half")
"""How a change fails; one that writes nothing dies before, not torn, and never writes half."""
TAKEN, REFUSED, DIED, UNEXPECTED = 0, 1, 2, 9
"""Results of a work: exit codes of the child that runs it."""
RESULTS = {TAKEN: "taken", REFUSED: "refused", DIED: "died"}
NEVER = 0
REAL = Disk()


@contextmanager
def on(disk: Disk) -> Iterator[None]:
    """Replace the disk of this process for a block."""
    before, durable.DISK = durable.DISK, disk
    try:
        yield
    finally:
        durable.DISK = before


class Faulty:
    """A disk on which the n-th change fails in one way.

    Attributes:
        disk: For `on`.
        calls: The changes so far, by name.
    """

    def __init__(self, point: int = NEVER, way: str = "fails", code: int = errno.ENOSPC) -> None:
        self.point = point
        self.way = way
        self.code = code
        self.calls: list[str] = []
        self.disk = Disk(*map(self._operation, Disk._fields))

    def _operation(self, name: str) -> Callable[..., Any]:
        real = getattr(REAL, name)

        def change(*args: Any, **named: Any) -> Any:
            self.calls.append(name)
            if not self._now():
                return real(*args, **named)
            return self._go_wrong(name, lambda: real(*args, **named), args)

        return change

    def _now(self) -> bool:
        count = len(self.calls)
        later = self.way == "fails for good" and 0 < self.point < count
        return count == self.point or later

    def _go_wrong(self, name: str, change: Callable[[], Any], args: tuple[Any, ...]) -> Any:
        torn = self.way in {"dies torn", "writes half"} and name == "write"
        half = os.write(args[0], args[1][: len(args[1]) // 2]) if torn else 0
        if self.way == "writes half":
            return half if torn else change()
        if self.way == "dies after":
            change()
        if self.way.startswith("dies"):
            os._exit(DIED)
        raise OSError(self.code, os.strerror(self.code))


def changes(work: Callable[[], object]) -> int:
    """Run an operation in a child and return the number of its changes. Its effects stay."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        faulty = Faulty()
        with on(faulty.disk):
            work()
        os.write(writer, str(len(faulty.calls)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    return int(os.read(reader, 100))


def outcome(work: Callable[[], object], point: int, way: str, code: int = errno.ENOSPC) -> int:
    """Run an operation in a child whose disk fails; return its result.

    An error other than StorageError has no next step for users. It is printed and fails the test.
    """
    child = os.fork()
    if child == 0:
        try:
            with on(Faulty(point, way, code).disk):
                work()
        except StorageError:
            os._exit(REFUSED)
        except Exception:  # noqa: BLE001 - it is printed, and counted
            traceback.print_exc()
            os._exit(UNEXPECTED)
        os._exit(TAKEN)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Trial(NamedTuple):
    """A copy of a project after one change of an operation failed."""

    way: str
    point: int
    came: int
    root: Path


def trials(
    start: Path, root: Path, work: Callable[[Path], object], ways: Mapping[str, int]
) -> Iterator[Trial]:
    """Yield a copy of `start` after each change of an operation failed.

    Args:
        start: The project before the operation.
        root: The folder of the copies, which follow one another.
        work: The operation.
        ways: How changes fail, and the step between two tried ones.
    """
    shutil.copytree(start, root)
    count = changes(lambda: work(root))
    for way, step in ways.items():
        for point in range(1, count + 1, step):
            shutil.rmtree(root)
            shutil.copytree(start, root)
            code = errno.EROFS if way == "fails for good" else (errno.EIO, errno.ENOSPC)[point % 2]
            yield Trial(way, point, outcome(lambda: work(root), point, way, code), root)
    shutil.rmtree(root)


def leftovers(root: Path) -> list[str]:
    """Return the temporary files below a folder."""
    return [path.name for path in root.rglob("*.tmp")]


PROJECT_WAYS = {"dies torn": 1, "fails": 1, "fails for good": 5}
"""How operations on whole projects are interrupted."""
TIME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
KEPT = re.compile(r"/backup/")
Work = Callable[[Path], None]
Tree = dict[str, bytes]
EMPTY = b"(an empty folder)"
Next = dict[Work, tuple[Tree, Tree]]
"""The next step, and the project after it.

There are two: one if the first work was undone, one if it was completed.
"""


def tree(root: Path) -> Tree:
    """Return the files of a project except locks, and its empty folders.

    Its path and times are left out.
    """
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
    """Leave out the files whose names match a pattern."""
    return {name: data for name, data in files.items() if not parts.search(name)}


def faults(
    start: Path,
    root: Path,
    work: Work,
    then: Next,
    found: Counter[str],
    loose: re.Pattern[str] | None = None,
    ways: str = "",
    every: int = 1,
) -> Iterator[str]:
    """Interrupt an operation at each of its changes, do a next step, and yield the faults.

    Args:
        start: The project before, two folders deep, as `root`.
        root: The folder of the trials.
        work: The operation.
        then: The next steps, tried in turn; the first is the operation itself.
        found: Counts the results.
        loose: Files that may remain after everything else is done; None if nothing is undone.
        ways: The only way to fail, or empty for all.
        every: Try every n-th change only.
    """
    before, end = tree(start), next(iter(then.values()))[1]
    chosen = {way: step * every for way, step in PROJECT_WAYS.items() if ways in {"", way}}
    for way, point, came, _ in trials(start, root, work, chosen):
        found[RESULTS.get(came, f"exit {came}")] += 1
        where = f"{work.__name__}, {way} at {point}: "
        now = tree(root)
        yield from (where + text for text in _mixed(now, before, end))
        if way == "fails":
            yield from (f"{where}{name} was left" for name in leftovers(root))
            if loose:
                yield from (where + text for text in _halves(now, before, end, came, loose))
        again, wanted = list(then.items())[point % len(then)]
        again(root)
        is_done = without(now, KEPT) == without(end, KEPT)
        if tree(root) not in wanted[: 1 + is_done]:
            yield f"{where}{again.__name__} then ends otherwise: {_apart(tree(root), wanted[0])}"


def _mixed(now: Tree, before: Tree, end: Tree) -> Iterator[str]:
    """Yield the files that are neither old nor new."""
    old, new = without(before, KEPT), without(end, KEPT)
    for name, data in without(now, KEPT).items():
        if data not in (old.get(name), new.get(name), EMPTY):
            yield f"{name} is neither old nor new"
    for name in old.keys() & new.keys() - now.keys():
        yield f"{name} is gone"


def _halves(now: Tree, before: Tree, end: Tree, came: int, loose: re.Pattern[str]) -> Iterator[str]:
    """Yield how a refused operation differs from both the start and the end."""
    parts = KEPT if came == TAKEN else loose  # a copy may wait for the next run
    if now != before and without(now, parts) != without(end, parts):
        yield f"was done by half: {_apart(now, before)}"
    if came == TAKEN and now == before:
        yield "was not done, and reported no error"


def _apart(one: Tree, other: Tree) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
