"""Hold a connection to an index file behind a lock, and translate its errors.

A file that is replaced or deleted while it is open is opened again at the next call. Damage is
reported to the indexer, and the error says whether it is being repaired.
"""

import errno
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from code_intel.errors import BusyError, CodeIntelError, NotFoundError, StorageError
from code_intel.index import cancellation, schema
from code_intel.index.opening import (
    DAMAGE,
    OPENING_REMEDIES,
    UNUSABLE,
    aside,
    connect_writable,
    immediate,
    inspect,
    set_aside,
)

DAMAGED = "index_damaged"
"""Error code of a damaged index, which must be rebuilt."""
UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk that refuses writes and may still be read."""
NEWER_INDEX = "index_newer"
"""Error code of an index of a newer version, which is never written here."""


class Database:
    """An open index file, usable from any thread, one at a time.

    Args:
        path: The file.
        readonly: Do not write, create or move anything.
        command: The command line that builds this index, for hints.
        on_damage: Called when a call meets damage; returns whether it is being repaired.
    """

    def __init__(
        self,
        path: Path,
        *,
        readonly: bool,
        command: str = "code-intel sync",
        on_damage: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self.readonly = readonly
        self.command = command
        self.on_damage = on_damage
        self._lock = threading.RLock()
        self._depth = 0
        self._connected = 0
        self._connection: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        with self._opened():
            pass

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a statement."""
        with self._opened() as connection:
            return connection.execute(sql, values).fetchall()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.rows(sql, values)
        return rows[0][0] if rows else None

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """Execute a statement once per row of values, in the open batch; return its results."""
        with self._opened() as connection:
            return connection.executemany(sql, rows).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Return a cursor over a statement's rows; close it before the snapshot around it ends."""
        with self._opened() as connection:
            return connection.execute(sql, values)

    def broken(self, also: Callable[[], None] = lambda: None) -> list[str]:
        """Return one line per broken invariant; empty for an intact database.

        `also` is a further check, which raises StorageError for damage.
        """
        try:
            with self.snapshot():
                found = self._malformed() or self._contradictions()
                if not found:
                    also()
                return found
        except StorageError as error:
            if error.error != DAMAGED:
                raise
            return [error.message]

    def _contradictions(self) -> list[str]:
        counts = [(self.value(sql), what) for what, sql in schema.INVARIANTS]
        for sql in schema.READABLE:
            for _ in self.stream(sql):
                pass
        return [f"{what}: {count}" for count, what in counts if count]

    def _malformed(self) -> list[str]:
        """Return the first problem that SQLite finds in its pages, and how many more there are."""
        rows = self.rows("PRAGMA integrity_check")
        lines = [line for row in rows for line in str(row[0]).splitlines()]
        found = [line for line in lines if line != "ok" and not line.startswith("***")]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return [found[0] + more] if found else []

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement in its own transaction, or in the open one."""
        with self.batch():
            self.rows(sql, values)

    def state(self) -> tuple[int, ...] | None:
        """Return a value that changes with every write by any process; None while writing."""
        with self._opened() as connection:
            if connection.txn_state() == apsw.SQLITE_TXN_WRITE:
                return None
            version = connection.pragma("data_version")  # changes with writes of other connections
            return self._connected, version, connection.total_changes()

    def size(self) -> int:
        """Return the size of the file in bytes, including pages still in the journal."""
        return int(self.value("PRAGMA page_count")) * int(self.value("PRAGMA page_size"))

    def vacuum(self) -> int:
        """Rewrite the file without its unused pages; return its size."""
        with self._opened() as connection:
            connection.execute("VACUUM")
            # Truncates as much of the journal as readers allow; a later checkpoint takes the rest.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return self.size()

    @contextmanager
    def batch(self) -> Iterator[apsw.Connection]:
        """Run the block in a write transaction, or in a savepoint inside another batch."""
        with self._opened() as connection, immediate(connection):
            if self._is_newer(connection):
                raise self._unusable("newer")
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let several reads see one state of the database."""
        with self._opened() as connection:
            if not connection.get_autocommit():
                yield
                return
            connection.execute("BEGIN")
            try:
                yield
            finally:
                if not connection.get_autocommit():
                    connection.execute("ROLLBACK")

    def rebuild(self, reason: str) -> None:
        """Set the file aside and create an empty one."""
        with self._lock, self._translated():
            self.close()
            set_aside(self.path, reason)
            with self._opened():
                pass

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        with self._lock, self._translated():
            cancellation.raise_if_cancelled()
            if self._depth == 0 and (self._connection is None or self._replaced()):
                self.close()
                self._connection = self._connect()
                self._connection.set_progress_handler(cancellation.is_cancelled, cancellation.STEPS)
                self._connected += 1
                self._identity = _identity(self.path)
            assert self._connection is not None  # noqa: S101 - opened above, or by the outer call
            self._depth += 1
            try:
                yield self._connection
            finally:
                self._depth -= 1

    def _replaced(self) -> bool:
        return _identity(self.path) != self._identity

    def _connect(self) -> apsw.Connection:
        """Open the index; create or replace it if needed and allowed.

        Raises:
            NotFoundError: Read-only, and there is no index.
            StorageError: Read-only and not usable, of a newer version, or refused by the disk.
            BusyError: Another process has been creating it for more than five seconds.
        """
        try:
            connection, reason = (
                inspect(self.path, readonly=True) if self.readonly else connect_writable(self.path)
            )
        except (OSError, StorageError) as error:
            if connection := self._connect_unwritable(error):
                return connection
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{self.path} cannot be used: {error.strerror or error}.") from error
        if connection is None:
            raise self._unusable(reason)
        return connection

    def _connect_unwritable(self, error: OSError | StorageError) -> apsw.Connection | None:
        """Open the index for reading if the disk refuses only writes."""
        cause = error if isinstance(error, OSError) else error.__cause__
        if self.readonly or not isinstance(cause, OSError) or cause.errno not in UNWRITABLE:
            return None
        with suppress(OSError):
            return inspect(self.path, readonly=True)[0]
        return None

    def _is_newer(self, connection: apsw.Connection) -> bool:
        """Whether a newer program replaced the index while it was open here."""
        with suppress(apsw.Error):
            return bool(connection.pragma("user_version") > schema.SCHEMA_VERSION)
        return False

    def _unusable(self, reason: str) -> CodeIntelError:
        copy = aside(self.path, reason).name
        rebuild = f"Run `{{command}}`: it keeps the file as {copy} and builds a new one."
        remedy = OPENING_REMEDIES.get(reason, rebuild)
        hint = remedy.format(command=self.command, name=self.path.name)
        if reason == "missing":
            return NotFoundError(f"There is no index at {self.path}.", hint=hint)
        return StorageError(
            f"{self.path.name} {UNUSABLE[reason]} and cannot be read.",
            code={"corrupt": DAMAGED, "newer": NEWER_INDEX}.get(reason, "index_unusable"),
            hint=hint,
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate SQLite's errors."""
        name = self.path.name
        try:
            yield
        except CodeIntelError:
            raise
        except apsw.InterruptError as error:
            raise BusyError(f"{name} was not read: the call was cancelled.") from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise BusyError(f"{name} is being written by another process.") from error
        except apsw.ReadOnlyError as error:
            self._identity = None  # open it again at each call until the disk accepts writes
            raise StorageError(f"{name} cannot be written: {error}.") from error
        except DAMAGE as error:
            if self._connection is not None and self._is_newer(self._connection):
                raise self._unusable("newer") from error
            repaired = "It is being rebuilt from the files. Try again in a few seconds."
            raise StorageError(
                f"{name} is damaged: {error}.",
                code=DAMAGED,
                hint=repaired
                if self.on_damage()
                else f"Run `{self.command}`: it rebuilds the index from the files.",
            ) from error
        except apsw.Error as error:
            raise StorageError(f"{name} cannot be used: {error}.") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
