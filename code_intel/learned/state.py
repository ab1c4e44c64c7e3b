"""What this machine alone remembers about agreements: `.code-intel/state.db`.

The bases of the last sync, which contents were confirmed here, when each agreement was last used, in
which sessions an alias was seen, what came of it when it was offered, and what was being learned if the
process died. Git does not carry it; without it agreements are merely unconfirmed, what was rejected is
offered again, and the two sides of each pair are united again.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from code_intel import durable
from code_intel.errors import BusyError, StorageError
from code_intel.learned.agreements import Key
from code_intel.learned.claims import when
from code_intel.learned.experience import Experience
from code_intel.learned.recall import fold
from code_intel.learned.state_versions import VERSION, migrate
from code_intel.mounts import journal_mode

MOST_EXPERIENCES = 100_000
"""Rows kept; the oldest go first, and with them their share of the counts."""
_PRUNE_EVERY = 1000
_DAMAGED = (apsw.NotADBError, apsw.CorruptError)
_NOTE = """
INSERT OR REPLACE INTO experience (nl_term, symbol, kind, wording, session_id, detail, at)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_EXPERIENCES = (
    "SELECT nl_term, symbol, kind, wording, session_id, detail, at FROM experience ORDER BY seq"
)
_CONTESTED = """
SELECT nl_term, symbol, kind, wording, session_id, detail, at FROM experience
WHERE kind <> 'offered' AND (nl_term, symbol) IN
    (SELECT nl_term, symbol FROM experience WHERE kind IN ('rejected', 'failed'))
ORDER BY seq
"""


class Base(NamedTuple):
    """Hashes of both sides of a pair when they last agreed, and the agreement's file."""

    pair: str
    agreement: str
    file: str


class Outline(NamedTuple):
    """How many bases there are, and how many agreements are still being learned."""

    bases: int
    pending: int


class Pending(NamedTuple):
    """An agreement that is being learned: its whole text, whether it is confirmed, and what it was called."""

    key: Key
    text: str
    confirmed: bool
    old: Key | None = None


class State:
    """The store; made by `open_state`. Every method is one short transaction of its own."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group several changes: all of them are kept, or none."""
        with _translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def bases(self) -> dict[Key, Base]:
        """Return every base of the last sync."""
        rows = self._rows("SELECT nl_term, symbol, pair, agreement, file FROM base")
        return {(row[0], row[1]): Base(*row[2:]) for row in rows}

    def outline(self) -> Outline:
        """Return what says, beside the files, whether the two sides must be brought together."""
        sql = "SELECT (SELECT count(*) FROM base), (SELECT count(*) FROM pending)"
        ((bases, pending),) = self._rows(sql)
        return Outline(bases, pending)

    def set_base(self, key: Key, base: Base | None) -> None:
        """Remember, or with None forget, what both sides were at a sync."""
        if base is None:
            self._rows("DELETE FROM base WHERE nl_term = ? AND symbol = ?", key)
        else:
            self._rows("INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?)", (*key, *base))

    def confirm(self, digest: str, now: datetime) -> None:
        """Remember that the content with this digest was confirmed on this machine."""
        self._rows("INSERT OR IGNORE INTO confirmed VALUES (?, ?)", (digest, now.isoformat()))

    def confirmed(self) -> set[str]:
        """Return the digests of all confirmed contents."""
        return {row[0] for row in self._rows("SELECT digest FROM confirmed")}

    def use(self, key: Key, now: datetime) -> None:
        """Remember a confirmed use: an agreement that led to a success does not grow old."""
        self._rows("INSERT OR REPLACE INTO used VALUES (?, ?, ?)", (*key, now.isoformat()))

    def last_uses(self) -> dict[Key, datetime]:
        """Return the last confirmed use of each agreement that had one."""
        rows = self._rows("SELECT nl_term, symbol, at FROM used")
        return {(row[0], row[1]): when(row[2]) for row in rows}

    def see_alias(self, key: Key, alias: str, session_id: str, now: datetime) -> None:
        """Remember that a session confirmed the alias, however it wrote it; twice in one session is once."""
        self._rows(
            "INSERT OR IGNORE INTO sighting VALUES (?, ?, ?, ?, ?)",
            (*key, fold(alias), session_id, now.isoformat()),
        )

    def withdraw_alias(self, key: Key, alias: str) -> None:
        """Forget every session that confirmed the alias."""
        sql = "DELETE FROM sighting WHERE nl_term = ? AND symbol = ? AND alias = ?"
        self._rows(sql, (*key, fold(alias)))

    def alias_sessions(self) -> dict[Key, dict[str, int]]:
        """Return for each agreement its aliases, folded, and in how many sessions each was confirmed."""
        found: dict[Key, dict[str, int]] = {}
        sql = "SELECT nl_term, symbol, alias, count(*) FROM sighting GROUP BY 1, 2, 3"
        for row in self._rows(sql):
            found.setdefault((row[0], row[1]), {})[row[2]] = int(row[3])
        return found

    def note(self, found: Experience) -> None:
        """Remember what came of an agreement; the same of the same session again only moves it up."""
        row = (*found.key, *found[1:-1], found.at.isoformat())
        self._rows(_NOTE, row)
        last = self._db.last_insert_rowid()
        if last % _PRUNE_EVERY == 0:
            self._rows("DELETE FROM experience WHERE seq <= ?", (last - MOST_EXPERIENCES,))

    def contested(self) -> list[Experience]:
        """Return everything but the offers of those agreements that somebody has objected to, in order."""
        return self._experiences(_CONTESTED)

    def experiences(self) -> list[Experience]:
        """Return all that is kept, in order."""
        return self._experiences(_EXPERIENCES)

    def rename(self, old: Key, new: Key) -> None:
        """Let all that is remembered of one agreement be remembered of another, new one."""
        for table in ("used", "sighting", "experience"):
            sql = f"UPDATE OR REPLACE {table} SET nl_term = ?, symbol = ? WHERE nl_term = ? AND symbol = ?"  # noqa: S608 - constants
            self._rows(sql, (*new, *old))

    def begin(self, pending: Pending) -> None:
        """Remember what is about to be written, so that it can be finished after a crash."""
        row = (*pending.key, pending.text, int(pending.confirmed), *(pending.old or (None, None)))
        self._rows("INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?)", row)

    def pending(self) -> list[Pending]:
        """Return what was begun and not finished."""
        sql = "SELECT nl_term, symbol, text, confirmed, old_term, old_symbol FROM pending"
        return [
            Pending((term, symbol), text, bool(confirmed), None if old[0] is None else (*old,))
            for term, symbol, text, confirmed, *old in self._rows(sql)
        ]

    def finish(self, key: Key) -> None:
        """Forget a pending agreement: everything about it is written."""
        self._rows("DELETE FROM pending WHERE nl_term = ? AND symbol = ?", key)

    def _experiences(self, sql: str) -> list[Experience]:
        return [
            Experience((term, symbol), kind, wording, session, detail, when(at))
            for term, symbol, kind, wording, session, detail, at in self._rows(sql)
        ]

    def _rows(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        with _translated():
            return list(self._db.execute(sql, tuple(values)))


@contextmanager
def open_state(folder: Path, *, create: bool = True, hurry: bool = False) -> Iterator[State]:
    """Open `folder`/state.db; a damaged one is set aside and begun anew, by the next if it is found in between.

    Args:
        folder: The project's state folder.
        create: With False a store that does not exist is an empty one in memory, and one on a
            read-only disk is only read: what answering needs.
        hurry: What is written may be lost with the machine's power, and does not wait for the disk.

    Raises:
        StorageError: It cannot be opened, or was written by a newer version.
        BusyError: Another process kept it too long.
    """
    path = folder / "state.db"
    journal_before = path.with_name("state.db-wal").exists()
    with _translated():
        try:
            connection = _connect(path, create=create)
        except _DAMAGED:
            _set_aside(path)
            connection = _connect(path, create=create)
    if hurry:
        connection.pragma("synchronous", "NORMAL")
    # The last to close moves the journal into the file and waits for the disk: no answer does that.
    # Where there was none, closing takes away again what looking has made.
    stays = hurry or (not create and journal_before)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(stays))
    opened = _inode(path)
    try:
        yield State(connection)
    except StorageError as error:
        connection.close()
        if isinstance(error.__cause__, _DAMAGED) and create and opened == _inode(path):
            _set_aside(path)
        raise
    finally:
        connection.close()


def _connect(path: Path, *, create: bool) -> apsw.Connection:
    if not create and not path.exists():
        return _prepared(apsw.Connection(":memory:"))
    durable.make_folder(path.parent)
    try:
        return _prepared(apsw.Connection(str(path)))
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        if create:
            raise
        uri = f"{path.absolute().as_uri()}?immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return _prepared(_in_memory(apsw.Connection(uri, flags=flags)))
    except (apsw.IOError, apsw.FullError):
        if create:
            raise
        return _prepared(_in_memory(_alone(path)))


def _alone(path: Path) -> apsw.Connection:
    """Open a store, its journal with it, where a disk has no room for what processes share of it."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(5000)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.pragma("locking_mode", "exclusive")
    return db


def _in_memory(stored: apsw.Connection) -> apsw.Connection:
    """Return a copy of a store on a disk that cannot be written, so that an old one can be migrated."""
    copy = apsw.Connection(":memory:")
    try:
        with copy.backup("main", stored, "main") as backup:
            backup.step()
    finally:
        stored.close()
    return copy


def _prepared(db: apsw.Connection) -> apsw.Connection:
    try:
        db.set_busy_timeout(5000)
        db.pragma("journal_mode", journal_mode(Path(db.filename)))
        if int(db.pragma("user_version")) != VERSION:
            migrate(db)
        db.execute("SELECT count(*) FROM confirmed").fetchall()
    except BaseException:
        db.close()
        raise
    return db


def _inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm"):  # first: a journal must not outlive what it belongs to
        if path.with_name(path.name + suffix).exists():
            durable.move(path.with_name(path.name + suffix), aside.with_name(aside.name + suffix))
    durable.move(path, aside)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        raise BusyError("state.db is held by another process.") from error
    except _DAMAGED as error:
        hint = "It is set aside: try again. Agreements stay; what was confirmed here alone is not any more."
        raise StorageError(f"state.db is damaged: {error}.", hint=hint) from error
    except (apsw.Error, OSError) as error:
        raise StorageError(f"state.db cannot be used: {error}.") from error
