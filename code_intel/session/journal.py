"""Sessions on disk: a journal in the project, its head outside, appended under the head's lock.

A step counts once its lines are flushed and the head says so (docs/decisions/0008, 0029). Reading
takes no lock: the head first, then the journal, which may be ahead of it, never behind.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from code_intel import durable
from code_intel.errors import SessionError, StorageError, UsageError
from code_intel.session import files, heads
from code_intel.session.chain import FIRST, broken, check, encode, record
from code_intel.session.handles import (
    NAME,
    Handle,
    Token,
    mint,
    parse,
    random_token,
    unknown,
)
from code_intel.session.heads import Head, HeldHead, Place
from code_intel.session.listing import is_expired, prune
from code_intel.session.phases import Event, Intent
from code_intel.session.replay import VERSION, apply, replay
from code_intel.session.state import Record, Session, Step

Clock = Callable[[], datetime]

MOST_BASELINE = 500  # files a session remembers as changed before it began
AFRESH = "Check what stands there and who may use it, or start a new session with start_session."
FULL = "The session has recorded as many calls as it takes."
FULL_ADVICE = "Call record_outcome with what it came to, then start_session for what is left."
AHEAD = "What follows the last acknowledged step in the journal has been left out."
LONGEST = 16_000_000  # bytes of a journal, some 10,000 calls: each call reads all of it
_LONGEST_QUERY = 20_000  # characters
_LONGEST_START = 16_000_000  # bytes of a first line: it goes to a new file, nobody appends to it
_DRAWS = 100  # names tried before giving up


class Started(NamedTuple):
    """A new session, and the handle that only whoever started it is told."""

    session: Session
    handle: str


class Transaction:
    """A session under its lock; steps are written together when the block ends well.

    Attributes:
        session: The session, the steps appended so far included.
    """

    def __init__(self, session: Session, last: str, clock: Clock, *, full: bool = False) -> None:
        self.session = session
        self._full = full
        self.last = last
        self._clock = clock
        self._lines: list[bytes] = []

    def append(self, *steps: Step) -> Session:
        """Apply steps; raises what `state.apply` raises, and then nothing of the block is kept.

        Raises:
            StorageError: A call, and the journal has no room for more; how it ended can still be told.
        """
        for step in steps:
            if self._full and step.event is Event.CALLED:
                raise StorageError(FULL, hint=FULL_ADVICE)
            seq, now = self.session.seq + 1, self._clock()
            row, line, digest = encode(seq, now, step.event, step.data, self.last)
            self.session = apply(self.session, row)
            self._lines.append(line)
            self.last = digest
        return self.session

    def pending(self) -> bytes:
        """Return the lines to be written."""
        return b"".join(self._lines)


def utc_now() -> datetime:
    """Return the time with its offset."""
    return datetime.now(UTC)


def create(
    place: Place,
    intent: Intent,
    query: str,
    *,
    clock: Clock = utc_now,
    token: Token = random_token,
    baseline: Mapping[str, str] = MappingProxyType({}),
    commit: str | None = None,
) -> Started:
    """Start a session; missing folders are made, journals beyond `listing.KEPT` are pruned.

    `baseline` has the content hash of every file that is changed already, by path relative to the
    root: what was changed before is none of this session's work. `MOST_BASELINE` of them are kept. `commit` is what git
    has checked out, empty before the first commit; None where it cannot tell.

    Raises:
        UsageError: The query is empty or too long.
        StorageError: The journal or its head cannot be written.
    """
    if not query.strip() or len(query) > _LONGEST_QUERY:
        raise UsageError(
            f"query must have 1 to {_LONGEST_QUERY} characters.", details={"field": "query"}
        )
    with files.disk(place.journals):
        durable.make_folder(place.journals)
    heads.make_folder(place)
    now = clock()
    for _ in range(_DRAWS):
        handle = mint(now, token)
        data = {
            "version": VERSION,
            "name": handle.name,
            "seal": handle.seal,
            "project": place.project,
            "intent": intent.value,
            "query": query,
            "root": str(place.root),
            "baseline": dict(sorted(baseline.items())[:MOST_BASELINE]),
            **({} if commit is None else {"commit": commit}),
        }
        row, line, digest = encode(1, now, Event.STARTED, data, FIRST, longest=_LONGEST_START)
        session = apply(None, row)
        if _write_new(place, handle.name, line, digest):
            prune(place)
            return Started(session, handle.text)
    raise StorageError(f"No free session id in {place.journals}.")


def load(place: Place, handle: str, *, expire_hours: float = 0, clock: Clock = utc_now) -> Session:
    """Replay a session for its owner; `expire_hours` after its last event it is gone, 0 means never.

    Raises:
        SessionError: No such session, or `handle` is not its handle; expired (`session_expired`); a
            journal that is not what was acknowledged (`session_broken`, names the file).
        StorageError: Journal or head cannot be read.
    """
    key = parse(handle)
    head = heads.read(place, key.name)
    if head is None:
        raise unknown(key.name)
    session = _owned(_replayed(place, key.name, head), key)
    _check_age(session, expire_hours, clock())
    return session


def inspect(place: Place, name: str) -> Session:
    """Replay a session for people, by its name, however old; nothing can be done with it.

    Raises:
        SessionError: No such session; a journal that is not what was acknowledged (`session_broken`).
        StorageError: Journal or head cannot be read.
    """
    return _replayed(place, name, _head(place, name))


@contextmanager
def transaction(
    place: Place,
    handle: str,
    *,
    expire_hours: float = 0,
    clock: Clock = utc_now,
    timeout: float = 5.0,
    seen: Session | None = None,
) -> Iterator[Transaction]:
    """Hold a session's lock: load, decide, append. An error inside the block writes nothing.

    `seen` is the session as it was loaded before: it is not read again if its head has stayed the same.

    Raises:
        SessionError: As `load`.
        BusyError: Another process kept the lock longer than `timeout` seconds.
        StorageError: Journal or head cannot be written.
    """
    key = parse(handle)
    with heads.held(place, key.name, timeout) as held:
        same = seen is not None and (seen.name, seen.seq) == (key.name, held.head.seq)
        session = seen if seen and same else _replayed(place, key.name, held.head)
        _check_age(_owned(session, key), expire_hours, clock())
        work = Transaction(session, held.head.digest, clock, full=held.head.end > LONGEST)
        yield work
        if lines := work.pending():
            _write(place, held, lines, work)


def append(
    place: Place,
    handle: str,
    *steps: Step,
    expire_hours: float = 0,
    clock: Clock = utc_now,
    seen: Session | None = None,
) -> Session:
    """Append steps in a transaction of their own; arguments and errors as in `transaction`."""
    with transaction(place, handle, expire_hours=expire_hours, clock=clock, seen=seen) as held:
        return held.append(*steps)


def _head(place: Place, name: str) -> Head:
    """Return the head of a session that a person named.

    Raises:
        SessionError: As `inspect`.
    """
    if not NAME.fullmatch(name):
        raise SessionError(
            f"{name[:40]!a} is no name of a session.",
            hint="Copy one from the list of sessions.",
        )
    head = heads.read(place, name)
    if head is None:
        path = place.journal(name)
        raise broken(path, "nobody has acknowledged it here") if path.exists() else unknown(name)
    return head


def _read(place: Place, name: str, head: Head) -> tuple[tuple[Record, ...], bool]:
    """Return the records up to the head, and whether something follows them.

    Raises:
        SessionError: `session_broken`, as `load`.
        StorageError: The journal cannot be read.
    """
    path = place.journal(name)
    with files.disk(path, AFRESH):
        try:
            with files.opened(path) as handle:
                raw = files.read(handle, 0, head.end)
                ahead = os.fstat(handle).st_size > head.end
        except FileNotFoundError:
            raise broken(path, "it is gone") from None
    lines = enumerate(check(path, raw, head), 1)
    return tuple(record(path, number, line) for number, line in lines), ahead


def _replayed(place: Place, name: str, head: Head) -> Session:
    """Return the session as of its head; raises what `_read` raises."""
    path = place.journal(name)
    said, ahead = _read(place, name, head)
    try:
        session = replay(said)
    except SessionError as error:
        raise broken(path, error.message) from error
    if session.name != name:
        raise broken(path, f"it is the journal of {session.name}")
    if session.project != place.project:
        raise broken(path, f"it is the journal of a session in {session.root}")
    return session._replace(warnings=(AHEAD,) if ahead else ())


def _owned(session: Session, key: Handle) -> Session:
    """Return the session if the handle is its handle; whoever has only its name learns nothing."""
    if not key.opens(session.seal):
        raise unknown(key.name)
    return session


def _check_age(session: Session, expire_hours: float, now: datetime) -> None:
    """Refuse a session that was not used for long."""
    if is_expired(session.updated_at, expire_hours, now):
        raise SessionError(
            f"Session {session.name} was last used {session.updated_at} and has expired.",
            code="session_expired",
        )


def _write_new(place: Place, name: str, line: bytes, digest: str) -> bool:
    """Write a journal's first line, then its head; False when the name is taken.

    Raises:
        StorageError: The disk refused; there is neither of them.
    """
    path = place.journal(name)
    try:
        durable.create(path, line, heads.PRIVATE)
        try:
            with files.disk(place.heads, heads.ADVICE):
                heads.create(place, name, Head(1, len(line), digest))
        except StorageError:
            durable.remove(path)
            raise
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            return False
        raise
    return True


def _write(place: Place, held: HeldHead, lines: bytes, work: Transaction) -> None:
    """Append lines, then acknowledge them.

    When the head cannot be written, the lines stay: it may say yet that they count.
    """
    path, end = place.journal(work.session.name), held.head.end
    with files.disk(path, AFRESH), files.opened(path, files.GROW) as handle:
        durable.extend(handle, lines, end)
    with files.disk(place.heads, heads.ADVICE):
        held.advance(Head(work.session.seq, end + len(lines), work.last))
