"""Run an operation on a machine whose n-th operation on a file fails, for every n.

SQLite runs on a VFS of its own, and `durable` on a disk of its own; both count and fail together.
So the product's code is the real one. `outcome` forks: call it in a separate program, because a
test process may have threads.
"""

import errno
import fcntl
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from code_intel.errors import CodeIntelError
from code_intel.foundation import durable
from code_intel.foundation.durable import Disk
from faulty_disk import DIED, REFUSED, TAKEN, UNEXPECTED
from unflushed import ALL, CONTENTS, SOME, Unflushed

Result = TypeVar("Result")
REAL = Disk()

READS = frozenset({"db read", "db lock"})
ALLOCATES = frozenset({"db open", "db write", "db sync", "open", "write", "fsync", "mkdir", "link"})
SYNCS = frozenset({"db sync", "fsync"})
WRITES = frozenset({"db write", "write"})
LOSSES = {"power loss": ALL, "loses contents": CONTENTS, "loses some": SOME, "lost sync": ALL}
WAYS = ("EIO", "EIO for good", "ENOSPC", "short write", *LOSSES)
"""How an operation fails. A power loss ends the process. A lost sync is reported as done; the power
is lost at the end of the work."""


def concerns(way: str, name: str) -> bool:
    """Return whether an operation can fail in a way so that it makes a difference."""
    match way:
        case "ENOSPC":
            return name in ALLOCATES
        case "short write":
            return name in WRITES
        case "lost sync":
            return name in SYNCS
        case _:
            return way.startswith("EIO") or name not in READS


class Machine:
    """A machine on which one operation fails in one way; installed for the rest of the process.

    Attributes:
        calls: The operations so far, by name.
        unflushed: What a power loss would undo.
    """

    def __init__(self, shelf: Path, point: int = 0, way: str = "EIO") -> None:
        self.point = point
        self.way = way
        self.calls: list[str] = []
        self.unflushed = Unflushed(shelf)

    def install(self) -> None:
        """Let SQLite and `durable` run on this machine."""
        durable.DISK = Disk(
            open=self._open,
            write=self._write,
            fsync=self._fsync,
            truncate=self._truncate,
            rename=self._on_entries("rename"),
            link=self._on_entries("link"),
            unlink=self._on_entries("unlink"),
            mkdir=self._on_entries("mkdir"),
            rmdir=self._on_entries("rmdir"),
        )
        self._vfs = _FaultyVFS(self)
        apsw.Connection = _Connection  # type: ignore[misc] # what the product then opens
        sys.unraisablehook = lambda _: None

    def attempt(
        self,
        name: str,
        change: Callable[[], Result],
        failure: Callable[[int], BaseException],
        half: Callable[[], object] = lambda: None,
    ) -> Result | None:
        """Do an operation, or fail; a sync that is lost returns None.

        Args:
            name: Its name.
            change: Does it.
            failure: Makes the error for a code of `errno`.
            half: Does half of it.
        """
        self.calls.append(name)
        here = len(self.calls)
        for_good = self.way == "EIO for good" and here > self.point > 0
        if not (here == self.point or for_good):
            return change()
        if self.way == "lost sync":
            return None
        if self.way in LOSSES:
            self.lose()
        if self.way == "short write":
            half()
        code = errno.EIO if self.way.startswith("EIO") else errno.ENOSPC
        raise failure(code)

    def lose(self, code: int = DIED) -> None:
        """Lose the power; the process ends with a code."""
        self.unflushed.lose(LOSSES[self.way], random.Random(self.point))
        os._exit(code)

    # --- the disk of `durable`

    def _open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        def change() -> int:
            if flags & os.O_CREAT and not os.path.lexists(path):
                self.unflushed.before_entry(Path(path))
            return REAL.open(path, flags, mode)

        return _given(self.attempt("open", change, _os_error))

    def _write(self, handle: int, data: bytes) -> int:
        def write(part: bytes) -> int:
            appends = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_APPEND
            offset = None if appends else os.lseek(handle, 0, os.SEEK_CUR)
            self.unflushed.before_write(handle, offset, bytes(part))
            return REAL.write(handle, part)

        half = data[: len(data) // 2]
        return _given(
            self.attempt("write", lambda: write(data), _os_error, half=lambda: write(half))
        )

    def _truncate(self, handle: int, size: int) -> None:
        def change() -> None:
            self.unflushed.before_truncate(handle, size)
            REAL.truncate(handle, size)

        self.attempt("truncate", change, _os_error)

    def _fsync(self, handle: int) -> None:
        def change() -> None:
            path = Path(f"/proc/self/fd/{handle}")
            if path.is_dir():
                self.unflushed.flush_folder(path.readlink())
            else:
                self.unflushed.flush(handle)

        self.attempt("fsync", change, _os_error)

    def _on_entries(self, name: str) -> Callable[..., Any]:
        real = getattr(REAL, name)

        def operation(*args: Any, **named: Any) -> Any:
            def change() -> Any:
                paths = [Path(arg) for arg in args if not isinstance(arg, int)]
                if name in {"rename", "link"} and paths[0].is_dir():
                    return real(*args, **named)
                changed = paths[1:] if name == "link" else paths
                for path in changed:
                    self.unflushed.before_entry(path)
                return real(*args, **named)

            return self.attempt(name, change, _os_error)

        return operation


def _given(value: Result | None) -> Result:
    assert value is not None
    return value


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


class _Connection(apsw.Connection):
    """A connection whose `close` reports no error of its last checkpoint, as in SQLite itself."""

    def close(self, force: bool = False) -> None:  # type: ignore[explicit-override]  # noqa: FBT001, FBT002 - as in apsw
        try:
            super().close(force)
        except (apsw.IOError, apsw.FullError):
            super().close(force)


class _FaultyFile(apsw.VFSFile):
    def __init__(self, machine: Machine, name: Any, flags: list[int], *, is_new: bool) -> None:
        super().__init__("unix", name, flags)
        self._machine = machine
        self._path = _path_of(name)
        self._is_new_journal = is_new and self._path.name.endswith(("-wal", "-journal"))

    def xRead(self, amount: int, offset: int) -> bytes:  # type: ignore[explicit-override]  # noqa: N802
        read = super().xRead
        return _given(
            self._machine.attempt(
                "db read", lambda: read(amount, offset), _sqlite_error(apsw.SQLITE_IOERR_READ)
            )
        )

    def xWrite(self, data: Any, offset: int) -> None:  # type: ignore[explicit-override]  # noqa: N802
        real = super().xWrite

        def write(part: bytes) -> None:
            self._machine.unflushed.before_write(self._path, offset, part)
            real(part, offset)

        whole = bytes(data)
        self._machine.attempt(
            "db write",
            lambda: write(whole),
            _sqlite_error(apsw.SQLITE_IOERR_WRITE),
            half=lambda: write(whole[: len(whole) // 2]),
        )

    def xTruncate(self, size: int) -> None:  # type: ignore[explicit-override]  # noqa: N802
        real = super().xTruncate

        def change() -> None:
            self._machine.unflushed.before_truncate(self._path, size)
            real(size)

        self._machine.attempt("db truncate", change, _sqlite_error(apsw.SQLITE_IOERR_TRUNCATE))

    def xSync(self, flags: int) -> None:  # type: ignore[explicit-override]  # noqa: ARG002, N802
        def change() -> None:
            self._machine.unflushed.flush(self._path)
            if self._is_new_journal:  # SQLite then flushes the folder, too
                self._machine.unflushed.flush_folder(self._path.parent)
                self._is_new_journal = False

        self._machine.attempt("db sync", change, _sqlite_error(apsw.SQLITE_IOERR_FSYNC))

    def xLock(self, level: int) -> None:  # type: ignore[explicit-override]  # noqa: N802
        real = super().xLock
        self._machine.attempt("db lock", lambda: real(level), _sqlite_error(apsw.SQLITE_IOERR_LOCK))


class _FaultyVFS(apsw.VFS):
    def __init__(self, machine: Machine) -> None:
        super().__init__("faulty", "unix", makedefault=True)
        self._machine = machine

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # type: ignore[explicit-override]  # noqa: N802
        if name is None:  # a temporary file, which no one sees
            return apsw.VFSFile("unix", name, flags)
        path = _path_of(name)

        def change() -> _FaultyFile:
            is_new = bool(flags[0] & apsw.SQLITE_OPEN_CREATE) and not path.exists()
            if is_new:
                self._machine.unflushed.before_entry(path)
            return _FaultyFile(self._machine, name, flags, is_new=is_new)

        return _given(self._machine.attempt("db open", change, _sqlite_error(apsw.SQLITE_CANTOPEN)))

    def xDelete(self, name: str, syncdir: bool) -> None:  # type: ignore[explicit-override]  # noqa: FBT001, N802
        real, path = super().xDelete, Path(name)

        def change() -> None:
            self._machine.unflushed.before_entry(path)
            real(name, False)  # noqa: FBT003 - apsw takes it by position
            if syncdir:
                self._machine.unflushed.flush_folder(path.parent)

        try:
            self._machine.attempt("db delete", change, _sqlite_error(apsw.SQLITE_IOERR_DELETE))
        except (apsw.IOError, apsw.FullError):
            if not name.endswith("-wal"):  # SQLite ignores that a journal of this kind stays
                raise


def _path_of(name: Any) -> Path:
    return Path(name.filename() if isinstance(name, apsw.URIFilename) else name)


def _sqlite_error(extended: int) -> Callable[[int], BaseException]:
    """Return a function that makes SQLite's error for a code of the system."""

    def error(code: int) -> BaseException:
        return apsw.exception_for(apsw.SQLITE_FULL if code == errno.ENOSPC else extended)

    return error


def operations(work: Callable[[], object], shelf: Path) -> list[str]:
    """Run a work in a child and return the names of its operations on files. Its effects stay."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            machine = Machine(shelf)
            machine.install()
            work()
            with os.fdopen(writer, "w", encoding="utf-8") as pipe:
                pipe.write("\n".join(machine.calls))
        except BaseException:  # noqa: BLE001 - it is printed, and fails the caller
            traceback.print_exc()
            os._exit(UNEXPECTED)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        names = pipe.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0, "The work fails on a machine without faults."
    return names


def points(names: Sequence[str], way: str, every: int = 1, start: int = 0) -> Iterator[int]:
    """Yield the numbers of operations that may fail in a way, and for losses one after the last."""
    found = [number for number, name in enumerate(names, 1) if concerns(way, name)]
    if way in LOSSES and way != "lost sync":
        yield len(names) + 1
    yield from found[start % every :: every]


class Trial(NamedTuple):
    """How a work ended: `faulty_disk.RESULTS`, and what it printed."""

    came: int
    said: str


def outcome(work: Callable[[], object], shelf: Path, point: int, way: str) -> Trial:
    """Run a work in a child whose machine fails; return how it ended.

    After the last operation, the power is lost if the way is a loss.
    """

    def faulty() -> int:
        machine = Machine(shelf, point, way)
        machine.install()
        try:
            work()
        except CodeIntelError:
            came = REFUSED
        else:
            came = TAKEN
        if way in LOSSES:
            machine.lose(came)
        return came

    return in_child(faulty)


def in_child(work: Callable[[], int]) -> Trial:
    """Run a function in a child; return its result and what it printed on stderr."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        code = UNEXPECTED
        try:
            code = work()
        except BaseException:  # noqa: BLE001 - it is printed, and counted
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    return Trial(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said)
