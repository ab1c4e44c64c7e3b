"""What was acknowledged of a journal, kept where a tool that edits the project does not reach.

`<state folder>/sessions/<project>/<name>.head` has a line a commit, `seq end hash`: the number of the
journal's last line, the bytes up to its end, its hash. The last complete line counts. It is written
after the journal's lines and before anybody hears of them, so that the journal may be ahead, never
behind (docs/decisions/0029).
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from code_intel import durable
from code_intel.errors import SessionError, StorageError
from code_intel.session import files
from code_intel.session.handles import unknown
from code_intel.session.locking import lock, unlock

KEPT_SECONDS = 30 * 24 * 3600.0
"""How long a head is kept after its last step when its journal is gone."""
ADVICE = "Make room there, or set CODE_INTEL_STATE_DIR to a folder outside the project that you may write."

_LINE = re.compile(rb"([1-9][0-9]{0,11}) ([1-9][0-9]{0,17}) ([0-9a-f]{64})")
_LONGEST = 256  # bytes: more than two lines
PRIVATE = 0o600
"""Journals and heads are for their owner's eyes alone."""
_OWNER = "journals.txt"  # in a project's folder of heads: where its journals are


class Head(NamedTuple):
    """The last acknowledged line of a journal.

    Attributes:
        seq: Its number.
        end: Bytes of the journal up to and with it.
        digest: Its hash.
    """

    seq: int
    end: int
    digest: str

    def line(self) -> bytes:
        """Return it as a line of a head file."""
        return b"%d %d %s\n" % (self.seq, self.end, self.digest.encode("ascii"))


class Place(NamedTuple):
    """Where the sessions of one project are.

    Attributes:
        root: The project.
        journals: The folder of their journals, inside the project.
        heads: The folder of their heads, outside.
    """

    root: Path
    journals: Path
    heads: Path

    @property
    def project(self) -> str:
        """The project in one word, which its sessions are bound to."""
        return self.heads.name

    def journal(self, name: str) -> Path:
        """Return a session's journal."""
        return self.journals / f"{name}.jsonl"

    def head(self, name: str) -> Path:
        """Return a session's head."""
        return self.heads / f"{name}.head"


def place_of(root: Path, journals: Path, state: Path) -> Place:
    """Return where a project's sessions are; `state` is the user's folder for what outlives a process."""
    real = os.fsencode(os.path.realpath(root))
    project = hashlib.sha256(real).hexdigest()[:32]
    return Place(root, journals, state / "sessions" / project)


class HeldHead:
    """A session's head under its lock.

    Attributes:
        head: What was last acknowledged.
    """

    def __init__(self, handle: int, head: Head, end: int) -> None:
        self.head = head
        self._handle = handle
        self._end = end

    def advance(self, head: Head) -> None:
        """Acknowledge a line; raises OSError when the disk refuses, and then nothing was acknowledged."""
        line = head.line()
        durable.extend(self._handle, line, self._end)
        self.head, self._end = head, self._end + len(line)


def create(place: Place, name: str, head: Head) -> None:
    """Acknowledge a journal's first line.

    Raises:
        StorageError: The name is taken (its cause is a FileExistsError), or the disk refused; there is no
            head then.
    """
    durable.create(place.head(name), head.line(), PRIVATE)


def make_folder(place: Place) -> None:
    """Make the folder of a project's heads, for its owner's eyes alone.

    Raises:
        StorageError: It cannot be made, or there is no home to make it in.
    """
    with files.disk(place.heads, ADVICE):
        if not place.heads.is_absolute():
            raise OSError("there is no home folder")
        if not (place.heads / _OWNER).exists():
            durable.make_folder(place.heads, 0o700)
            owner = os.fsencode(os.path.realpath(place.journals))
            durable.replace(place.heads / _OWNER, owner)


def read(place: Place, name: str) -> Head | None:
    """Return what was acknowledged of a journal; None when nothing ever was.

    Raises:
        SessionError: `session_broken`: the file is no head.
        StorageError: It cannot be read.
    """
    handle = _opened(place.head(name), os.O_RDONLY)
    if handle is None:
        return None
    try:
        return _last(place.head(name), handle)[0]
    finally:
        os.close(handle)


def history(place: Place, name: str) -> tuple[Head, ...]:
    """Return every commit of a journal, the oldest first; raises what `read` raises."""
    path = place.head(name)
    handle = _opened(path, os.O_RDONLY)
    if handle is None:
        return ()
    try:
        with files.disk(path, ADVICE):
            raw = files.read(handle, 0, os.fstat(handle).st_size)
    finally:
        os.close(handle)
    return tuple(_head(path, line) for line in raw.split(b"\n")[:-1])


@contextmanager
def held(place: Place, name: str, timeout: float) -> Iterator[HeldHead]:
    """Hold a session's head, and with it its journal, against every other writer.

    Raises:
        SessionError: No such session, or `session_broken`: the file is no head.
        BusyError: Another process kept it longer than `timeout` seconds.
        StorageError: It cannot be used.
    """
    handle = _opened(place.head(name), files.GROW)
    if handle is None:
        raise unknown(name)
    try:
        with files.disk(place.head(name), ADVICE):  # a file system may have no locks
            lock(handle, name, timeout)
        head, end = _last(place.head(name), handle)
        if head is None:
            raise unknown(name)
        yield HeldHead(handle, head, end)
    finally:
        with suppress(OSError):
            unlock(handle)
        os.close(handle)


def sweep(place: Place) -> None:
    """Delete heads whose journals are gone, and unused, for `KEPT_SECONDS`; what resists stays.

    Also those of other projects, where nothing was started meanwhile.
    """
    old = time.time() - KEPT_SECONDS
    with suppress(OSError, StorageError):
        _sweep(place.heads, place.journals, old)
        for folder in place.heads.parent.iterdir():
            with suppress(OSError, StorageError):
                if folder != place.heads and folder.stat().st_mtime < old:
                    _sweep_other(folder, old)


def _sweep_other(folder: Path, old: float) -> None:
    """Sweep another project's folder, which goes whole when nothing is left of the project."""
    owner = folder / _OWNER
    journals = Path(os.fsdecode(owner.read_bytes()))
    if journals.is_absolute():
        _sweep(folder, journals, old)
        if not journals.exists() and not _named(folder, ".head"):
            durable.remove(owner)
            durable.remove_folder(folder)


def _sweep(folder: Path, journals: Path, old: float) -> None:
    for name in _named(folder, ".head") - _named(journals, ".jsonl"):
        head = folder / f"{name}.head"
        with suppress(OSError, StorageError):
            if head.stat().st_mtime < old:
                durable.remove(head, flushed=False)


def _named(folder: Path, suffix: str) -> set[str]:
    """Return the names of a folder's files of one kind, without the suffix."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return {e.name.removesuffix(suffix) for e in entries if e.name.endswith(suffix)}
    return set()


def _opened(path: Path, flags: int) -> int | None:
    with files.disk(path, ADVICE):
        try:
            return files.open_plain(path, flags)
        except FileNotFoundError:
            return None


def _last(path: Path, handle: int) -> tuple[Head | None, int]:
    """Return the last complete line and where it ends; what follows it was torn."""
    with files.disk(path, ADVICE):
        size = os.fstat(handle).st_size
        start = max(0, size - _LONGEST)
        raw = files.read(handle, start, size - start)
    whole = raw[: raw.rfind(b"\n") + 1]
    if not whole and not start:
        return None, 0
    return _head(path, whole[:-1].rpartition(b"\n")[2]), start + len(whole)


def _head(path: Path, line: bytes) -> Head:
    found = _LINE.fullmatch(line)
    if found is None:
        raise SessionError(
            f"{path} is damaged.",
            code="session_broken",
            hint="Start a new session with start_session; the file is left as it is.",
            details={"file": str(path)},
        )
    return Head(int(found[1]), int(found[2]), found[3].decode("ascii"))
