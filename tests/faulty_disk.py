"""A disk on which the n-th change goes wrong, for whatever goes through `durable`.

In process: `with durable.on(Faulty(3, "fails").disk): work()`. To die there, a child is forked (`outcome`);
fork in a program of its own, not in the process that runs the tests, which may have threads.
"""

import errno
import os
from collections.abc import Callable
from typing import Any

from code_intel.durable import Disk, on
from code_intel.errors import StorageError

WAYS = ("dies before", "dies torn", "dies after", "fails", "fails for good", "writes half")
"""How a change goes wrong: what does not write cannot be torn or half, and dies before, or succeeds."""
TAKEN, REFUSED, DIED = 0, 1, 2
"""What came of a work: exit codes of the child that does it."""
NEVER = 0
REAL = Disk()


class Faulty:
    """A disk on which the n-th change goes wrong in one way.

    Attributes:
        disk: For `durable.on`.
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
    """Return how many changes a work makes; it is done in a child, and its effects stay."""
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
    """Do a work in a child whose disk goes wrong; return what came of it."""
    child = os.fork()
    if child == 0:
        try:
            with on(Faulty(point, way, code).disk):
                work()
        except StorageError:
            os._exit(REFUSED)
        os._exit(TAKEN)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
