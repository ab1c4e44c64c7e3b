"""Store what this machine records about agreements, in `.code-intel/state.db`.

The database contains the digests of confirmed agreements, the last use of each agreement, the
sessions that used an alias, the events of agreements, and the digests of learned_pairs.json. Git
does not track it. Without it, agreements are unconfirmed and rejected ones are offered again.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import apsw

from code_intel.errors import BusyError, ConflictError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.mounts import journal_mode
from code_intel.learned.files.agreements import Key
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.history.experience import AgreementExperience
from code_intel.learned.history.state_versions import STATE_VERSION, migrate
from code_intel.learned.recall.recall import fold
from code_intel.learned.recording import active

MAX_EXPERIENCES = 100_000
"""Limit of the events that are kept; the oldest are deleted first."""
_PRUNE_EVERY = 1000
_DAMAGED = (apsw.NotADBError, apsw.CorruptError)
_ADD_EXPERIENCE = """
INSERT OR REPLACE INTO experience (nl_term, symbol, kind, wording, session_id, detail, at)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_EXPERIENCES = (
    "SELECT nl_term, symbol, kind, wording, session_id, detail, at FROM experience ORDER BY seq"
)
_EXPERIENCES_OF = (
    "SELECT nl_term, symbol, kind, wording, session_id, detail, at FROM experience "
    "WHERE nl_term = ? AND symbol = ? ORDER BY seq"
)
_SIGHTINGS_OF = (
    "SELECT alias, session_id, at FROM sighting WHERE nl_term = ? AND symbol = ? ORDER BY at"
)
_OUTCOME_EVENTS = """
DELETE FROM experience WHERE session_id = ?
AND (kind IN ('accepted', 'confirmed', 'failed') OR (kind = 'rejected' AND detail = ?))
"""
ANOTHER_SYMBOL = "another symbol"
"""The detail of an objection by a success in which something else has changed."""
_CONTESTED = """
SELECT nl_term, symbol, kind, wording, session_id, detail, at FROM experience
WHERE kind <> 'offered' AND (nl_term, symbol) IN
    (SELECT nl_term, symbol FROM experience WHERE kind IN ('rejected', 'failed'))
ORDER BY seq
"""


_BY_KEY = MappingProxyType(
    {
        "used": ("at", "at"),
        "sighting": ("alias, session_id, at", "at"),
        "experience": ("kind, wording, session_id, detail, at", "seq"),
    }
)
"""The tables with the history of an agreement: their columns besides its key, and their order."""
_UNDOABLE = ("confirmed", *_BY_KEY)
"""The tables whose changes can be undone. The others describe learned_pairs.json."""


class State:
    """The state store, opened by `open_state`. Each method is a transaction of its own."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group several changes: all of them are stored, or none."""
        with _translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def generated(self) -> frozenset[str]:
        """Return the digests of the last contents of learned_pairs.json that this program wrote."""
        return frozenset(row[0] for row in self._rows("SELECT digest FROM generated"))

    def remember_generated(self, digest: str) -> None:
        """Record the digest of the next content of learned_pairs.json, and keep that before it.

        So the file is recognized whether or not the following write succeeds.
        """
        with self.transaction():
            self._rows("INSERT OR REPLACE INTO generated (digest) VALUES (?)", (digest,))
            self._rows("DELETE FROM generated WHERE seq <= (SELECT max(seq) FROM generated) - 2")

    def forget_generated(self) -> None:
        """Delete the digests of learned_pairs.json; its content then counts as edited."""
        self._rows("DELETE FROM generated")

    def confirm(self, digest: str, now: datetime) -> None:
        """Record that the content with this digest was confirmed on this machine."""
        self._rows("INSERT OR IGNORE INTO confirmed VALUES (?, ?)", (digest, now.isoformat()))

    def confirmed(self) -> set[str]:
        """Return the digests of all confirmed contents."""
        return {row[0] for row in self._rows("SELECT digest FROM confirmed")}

    def record_use(self, key: Key, now: datetime) -> None:
        """Record that an agreement led to a success, which postpones its expiry."""
        self._rows("INSERT OR REPLACE INTO used VALUES (?, ?, ?)", (*key, now.isoformat()))

    def last_uses(self) -> dict[Key, datetime]:
        """Return the time of the last successful use of each agreement that has one."""
        rows = self._rows("SELECT nl_term, symbol, at FROM used")
        return {(row[0], row[1]): when(row[2]) for row in rows}

    def record_alias(self, key: Key, alias: str, session_id: str, now: datetime) -> None:
        """Record that a session confirmed an alias; each session counts once per folded alias."""
        self._rows(
            "INSERT OR IGNORE INTO sighting VALUES (?, ?, ?, ?, ?)",
            (*key, fold(alias), session_id, now.isoformat()),
        )

    def withdraw_alias(self, key: Key, alias: str) -> None:
        """Delete the record of all sessions that confirmed an alias."""
        sql = "DELETE FROM sighting WHERE nl_term = ? AND symbol = ? AND alias = ?"
        self._rows(sql, (*key, fold(alias)))

    def alias_sessions(self) -> dict[Key, dict[str, int]]:
        """Return, for each agreement, the number of sessions per folded alias."""
        found: dict[Key, dict[str, int]] = {}
        sql = "SELECT nl_term, symbol, alias, count(*) FROM sighting GROUP BY 1, 2, 3"
        for row in self._rows(sql):
            found.setdefault((row[0], row[1]), {})[row[2]] = int(row[3])
        return found

    def add_experience(self, event: AgreementExperience) -> None:
        """Record an event; replace an equal event of the same session."""
        row = (*event.key, *event[1:-1], event.at.isoformat())
        self._rows(_ADD_EXPERIENCE, row)
        last = self._db.last_insert_rowid()
        if last % _PRUNE_EVERY == 0:
            self._rows("DELETE FROM experience WHERE seq <= ?", (last - MAX_EXPERIENCES,))

    def contested(self) -> list[AgreementExperience]:
        """Return the events of agreements that have an objection, except offers, in order."""
        return self._experiences(_CONTESTED)

    def experiences(self) -> list[AgreementExperience]:
        """Return all events, in order."""
        return self._experiences(_EXPERIENCES)

    def experiences_of(self, key: Key) -> list[AgreementExperience]:
        """Return the events of one agreement, in order."""
        return self._experiences(_EXPERIENCES_OF, key)

    def sightings_of(self, key: Key) -> list[tuple[str, str, str]]:
        """Return each confirmation of an alias of one agreement: folded alias, session, time."""
        return [(row[0], row[1], row[2]) for row in self._rows(_SIGHTINGS_OF, key)]

    def copy(self, old: Key, new: Key) -> None:
        """Copy the history of the agreement `old` to `new`."""
        for table, (columns, order) in _BY_KEY.items():
            sql = (
                # The table and its columns are constants.
                f"INSERT OR REPLACE INTO {table} (nl_term, symbol, {columns}) "  # noqa: S608
                f"SELECT ?, ?, {columns} FROM {table} "
                f"WHERE nl_term = ? AND symbol = ? ORDER BY {order}"
            )
            self._rows(sql, (*new, *old))

    def forget_outcome(self, session_id: str) -> None:
        """Delete the events and aliases that follow from the outcome of a session."""
        with self.transaction():
            self._rows(_OUTCOME_EVENTS, (session_id, ANOTHER_SYMBOL))
            self._rows("DELETE FROM sighting WHERE session_id = ?", (session_id,))

    def forget(self, key: Key) -> None:
        """Delete the history of an agreement: its last use, its alias sessions and its events."""
        for table in _BY_KEY:
            # The table and its columns are constants.
            self._rows(f"DELETE FROM {table} WHERE nl_term = ? AND symbol = ?", key)  # noqa: S608

    def undo(self, changeset: bytes) -> None:
        """Undo recorded changes.

        Raises:
            ConflictError: A row has changed since; nothing was undone.
        """
        with _translated():
            try:
                apsw.Changeset.apply(
                    apsw.Changeset.invert(changeset),
                    self._db,
                    conflict=lambda _reason, _change: apsw.SQLITE_CHANGESET_ABORT,
                )
            except apsw.AbortError as error:
                raise ConflictError(
                    "This machine has recorded something else since. Nothing was undone.",
                    hint="Look at the entry, and change it again if it is not as you want it.",
                ) from error

    def _experiences(self, sql: str, values: Iterable[object] = ()) -> list[AgreementExperience]:
        return [
            AgreementExperience((term, symbol), kind, wording, session, detail, when(at))
            for term, symbol, kind, wording, session, detail, at in self._rows(sql, values)
        ]

    def _rows(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        with _translated():
            return list(self._db.execute(sql, tuple(values)))


@contextmanager
def open_state(folder: Path, *, create: bool = True, hurry: bool = False) -> Iterator[State]:
    """Open `folder`/state.db; rename a damaged database and create a new one.

    Args:
        folder: The project's state folder.
        create: Whether to create the store if it is missing. Otherwise the store is only read,
            which also works on a read-only disk; a missing store is empty.
        hurry: Whether to skip waiting for the disk; a power failure may lose what is written.

    Raises:
        StorageError: The store cannot be opened, or was written by a newer version.
        BusyError: Another process holds a lock for too long.
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
    # The last connection to close checkpoints the journal and waits for the disk, which would delay
    # answers. But if there was no journal, closing must remove the one that reading has created.
    keep_journal = hurry or (not create and journal_before)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(keep_journal))
    opened = _inode(path)
    try:
        with _recorded(connection):
            yield State(connection)
    except StorageError as error:
        connection.close()
        if isinstance(error.__cause__, _DAMAGED) and create and opened == _inode(path):
            _set_aside(path)
        raise
    finally:
        connection.close()


@contextmanager
def planned_state(folder: Path) -> Iterator[State]:
    """Open a copy of the store in memory; its changes are lost. For errors, see `open_state`."""
    with _translated():
        connection = _copied(_connect(folder / "state.db", create=False))
    try:
        yield State(connection)
    finally:
        connection.close()


@contextmanager
def _recorded(connection: apsw.Connection) -> Iterator[None]:
    """Record the changes of a store if the caller records changes."""
    recording = active()
    if recording is None:
        yield
        return
    session = apsw.Session(connection, "main")
    try:
        for table in _UNDOABLE:
            session.attach(table)
        yield
        if changes := session.changeset():
            recording.states.append(changes)
    finally:
        session.close()


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
        return _prepared(_copied(apsw.Connection(uri, flags=flags)))
    except (apsw.IOError, apsw.FullError):
        if create:
            raise
        return _prepared(_copied(_open_exclusively(path)))


def _open_exclusively(path: Path) -> apsw.Connection:
    """Open a store exclusively, without shared memory, because the disk is full."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(5000)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.pragma("locking_mode", "exclusive")
    return db


def _copied(stored: apsw.Connection) -> apsw.Connection:
    """Copy a store to memory, where it can be changed or migrated, and close it."""
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
        if int(db.pragma("user_version")) != STATE_VERSION:
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
    for suffix in ("-wal", "-shm"):  # before the database: an orphaned journal is dangerous
        if path.with_name(path.name + suffix).exists():
            durable.move(path.with_name(path.name + suffix), aside.with_name(aside.name + suffix))
    durable.move(path, aside)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        raise BusyError("state.db is locked by another process.") from error
    except _DAMAGED as error:
        hint = (
            "It is renamed and created again: try again. Agreements are kept, but those confirmed "
            "only on this machine are now unconfirmed."
        )
        raise StorageError(f"state.db is damaged: {error}.", hint=hint) from error
    except (apsw.Error, OSError) as error:
        raise StorageError(f"state.db cannot be used: {error}.") from error
