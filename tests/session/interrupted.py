"""A step of a session that is interrupted at its n-th write: a program, since it forks.

    python interrupted.py FOLDER

Writes a JSON object for each point and way: what came of the step, what is found afterwards, and what of the
next step.
"""

import errno
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError, StorageError
from code_intel.session import journal, steps
from code_intel.session.heads import Place, place_of
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Intent

WAYS = ("dies before", "dies torn", "dies after", "fails", "fails for good", "writes half")
TAKEN, REFUSED, DIED = 0, 1, 2
"""What came of a step: exit codes of the child that takes it."""
NEVER = 10_000


class Disk(NamedTuple):
    """The functions that change what is on the disk."""

    write: Callable[[int, bytes], int]
    fsync: Callable[[int], None]
    ftruncate: Callable[[int, int], None]


REAL = Disk(os.write, os.fsync, os.ftruncate)


class Faulty:
    """A disk on which the n-th change goes wrong in one way."""

    def __init__(self, point: int, way: str) -> None:
        self.point = point
        self.way = way
        self.calls = 0

    def take_over(self) -> None:
        """Be the disk of this process from now on."""
        for name in Disk._fields:
            setattr(os, name, getattr(self, name))

    def now(self) -> bool:
        """Count one change; whether it is the one that goes wrong."""
        self.calls += 1
        return self.calls == self.point or (
            self.way == "fails for good" and self.calls > self.point
        )

    def change(self, change: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Make a change, or go wrong."""
        if not self.now():
            return change()
        if self.way == "dies torn" and half:
            half()
        if self.way == "writes half":
            return half() if half else change()
        if self.way == "dies after":
            change()
        if self.way.startswith("dies"):
            os._exit(DIED)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, handle: int, data: bytes) -> int:
        """As `os.write`."""
        half = data[: len(data) // 2]
        return int(self.change(lambda: REAL.write(handle, data), lambda: REAL.write(handle, half)))

    def fsync(self, handle: int) -> None:
        """As `os.fsync`."""
        self.change(lambda: REAL.fsync(handle))

    def ftruncate(self, handle: int, length: int) -> None:
        """As `os.ftruncate`."""
        self.change(lambda: REAL.ftruncate(handle, length))


def outcome(work: Callable[[], object], point: int, way: str) -> int:
    """Do the work in a child whose disk goes wrong; return what came of it."""
    child = os.fork()
    if child == 0:
        disk = Faulty(point, way)
        disk.take_over()
        try:
            work()
        except StorageError:
            os._exit(REFUSED)
        os._exit(TAKEN)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def changes(work: Callable[[], object]) -> int:
    """Return how many changes the work makes when nothing goes wrong."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        disk = Faulty(NEVER, "")
        disk.take_over()
        work()
        REAL.write(writer, str(disk.calls).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    return int(os.read(reader, 100))


def stepped(place: Place, handle: str, targets: list[str]) -> object:
    """Return the targets of a session's calls, or its error."""
    try:
        session = journal.load(place, handle)
    except CodeIntelError as error:
        return error.error
    return [call.target for call in session.calls[len(targets) :]]


def tell(what: dict[str, Any]) -> None:
    """Write a line for the test."""
    sys.stdout.write(json.dumps(what) + "\n")


def sweep_step(folder: Path) -> None:
    """Interrupt a step of two lines at each of its changes."""
    place = place_of(folder, folder / "sessions", folder / "state")
    _, handle = journal.create(place, Intent.MODIFY, "fix the login")
    kept: list[str] = []

    def work() -> object:
        two = (steps.called("query", text, found=1) for text in ("one", "two"))
        return journal.append(place, handle, *two)

    points = changes(work)
    kept += ["one", "two"]
    for way in WAYS:
        for point in range(1, points + 1):
            came = outcome(work, point, way)
            found = stepped(place, handle, kept)
            kept += found if isinstance(found, list) else []
            journal.append(place, handle, steps.called("query", "next", found=1))
            again = stepped(place, handle, kept)
            warned = journal.load(place, handle).warnings
            kept += ["next"]
            said = {"work": "step", "way": way, "point": point, "came": came}
            tell({**said, "found": found, "next": again, "warned": warned})


def sweep_start(folder: Path) -> None:
    """Interrupt the start of a session at each of its changes, in a project without any."""

    def start(place: Place) -> object:
        return journal.create(place, Intent.MODIFY, "fix the login")

    def empty() -> Place:
        new = Path(tempfile.mkdtemp(dir=folder))
        return place_of(new, new / "sessions", new / "state")

    points = changes(lambda: start(empty()))
    for way in WAYS:
        for point in range(1, points + 1):
            place = empty()
            came = outcome(lambda: start(place), point, way)  # noqa: B023 - done before the next
            found = [one.state for one in list_sessions(place)]
            _, handle = journal.create(place, Intent.MODIFY, "fix the login")
            again = [one.state for one in list_sessions(place)]
            used = journal.append(place, handle, steps.called("query", "next", found=1)).seq
            said = {"work": "start", "way": way, "point": point, "came": came}
            tell({**said, "found": found, "next": again, "used": used})


if __name__ == "__main__":
    sweep_step(Path(sys.argv[1]) / "step")
    sweep_start(Path(sys.argv[1]) / "start")
