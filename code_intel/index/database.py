"""Guard the connection to an index file with a lock, and translate SQLite's errors.

If the file is replaced or deleted while it is open, the next call opens it again. Damage is
reported to the indexer, and the error says whether it is being repaired.
"""

import errno
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import apsw

from code_intel.errors import BusyError, CodeIntelError, NotFoundError, StorageError
from code_intel.index import cancellation, schema
from code_intel.index.opening import (
    DAMAGE,
    OPENING_REMEDIES,
    UNUSABLE,
    backup_path,
    connect_writable,
    flushing,
    immediate,
    inspect,
    set_aside,
)

DAMAGED = "index_damaged"
"""Error code of an index that is damaged and must be rebuilt."""
UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""Operating system errors after which a file may still be readable."""
NEWER_INDEX = "index_newer"
"""Error code of an index that a newer version of code-intel created."""


class Database:
    """An open index file. Any thread may use it; a lock serialises the calls.

    Args:
        path: The file.
        readonly: Do not write, create or move anything.
        command: The command line that builds this index, which hints name.
        on_damage: Called when damage is found; returns whether the index is being repaired.
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
        self._connection_count = 0
        self._connection: apsw.Connection | None = None
        self._file_id: tuple[int, int] | None = None
        with self._open_connection():
            pass

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement and return all its rows."""
        with self._open_connection() as connection:
            return connection.execute(sql, values).fetchall()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Execute a statement and return the first column of its first row, or None."""
        rows = self.rows(sql, values)
        return rows[0][0] if rows else None

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """Execute a statement for each row of values inside a `batch`; return all results."""
        with self._open_connection() as connection:
            return connection.executemany(sql, rows).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Return a cursor over a statement's rows; use and close it inside one `snapshot`."""
        with self._open_connection() as connection:
            return connection.execute(sql, values)

    def problems(self, extra_check: Callable[[], None] = lambda: None) -> list[str]:
        """Return one line for each broken invariant; none if the database is intact.

        `extra_check` raises StorageError if it finds damage.
        """
        try:
            with self.snapshot():
                found = self._integrity_problems() or self._violations()
                if not found:
                    extra_check()
                return found
        except StorageError as error:
            if error.error != DAMAGED:
                raise
            return [error.message]

    def _violations(self) -> list[str]:
        counts = [(self.value(sql), what) for what, sql in schema.INVARIANTS]
        for sql in schema.READABLE:
            for _ in self.stream(sql):
                pass
        return [f"{what}: {count}" for count, what in counts if count]

    def _integrity_problems(self) -> list[str]:
        """Return the first problem that SQLite's integrity check finds, and count the others."""
        rows = self.rows("PRAGMA integrity_check")
        lines = [line for row in rows for line in str(row[0]).splitlines()]
        found = [line for line in lines if line != "ok" and not line.startswith("***")]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return [found[0] + more] if found else []

    def write(self, sql: str, values: Sequence[Any] = (), *, flushed: bool = False) -> None:
        """Execute a statement in its own transaction, or in the open one; see `batch`."""
        with self.batch(flushed=flushed):
            self.rows(sql, values)

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that every committed write changes; None in a write transaction."""
        with self._open_connection() as connection:
            if connection.txn_state() == apsw.SQLITE_TXN_WRITE:
                return None
            version = connection.pragma("data_version")  # counts writes by other connections
            return self._connection_count, version, connection.total_changes()

    def size(self) -> int:
        """Return the size of the file in bytes, including pages still in the journal."""
        return int(self.value("PRAGMA page_count")) * int(self.value("PRAGMA page_size"))

    def vacuum(self) -> int:
        """Rewrite the file without its unused pages; return its size."""
        with self._open_connection() as connection:
            connection.execute("VACUUM")
            # Readers may keep part of the journal in use; a later checkpoint truncates that.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return self.size()

    @contextmanager
    def batch(self, *, flushed: bool = False) -> Iterator[apsw.Connection]:
        """Run the block in a write transaction, or in a savepoint inside another batch.

        With `flushed`, an outer batch also survives a power loss. The files restore all but the
        user's choices, so only these need it.
        """
        with (
            self._open_connection() as connection,
            flushing(connection) if flushed else nullcontext(),
            immediate(connection),
        ):
            if self._is_newer(connection):
                raise self._unusable_error("newer")
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Run the block in a read transaction, in which all reads see the same data."""
        with self._open_connection() as connection:
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
        with self._lock, self._translate_errors():
            self.close()
            set_aside(self.path, reason)
            with self._open_connection():
                pass

    @contextmanager
    def _open_connection(self) -> Iterator[apsw.Connection]:
        with self._lock, self._translate_errors():
            cancellation.raise_if_cancelled()
            if self._depth == 0 and (
                self._connection is None or self._file_id != _file_identity(self.path)
            ):
                self.close()
                self._connection = self._connect()
                self._connection.set_progress_handler(cancellation.is_cancelled, cancellation.STEPS)
                self._connection_count += 1
                self._file_id = _file_identity(self.path)
            assert self._connection is not None  # noqa: S101 - opened above, or by the outer call
            self._depth += 1
            try:
                yield self._connection
            finally:
                self._depth -= 1

    def _connect(self) -> apsw.Connection:
        """Open the index; unless it is read-only, create or replace it if needed.

        Raises:
            NotFoundError: The index is read-only and does not exist.
            StorageError: The file cannot be opened, was created by a newer version, or is read-only
                and not a usable index.
            BusyError: Another process has been creating the index for more than five seconds.
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
            raise self._unusable_error(reason)
        return connection

    def _connect_unwritable(self, error: OSError | StorageError) -> apsw.Connection | None:
        """Open the index for reading if the error means that it cannot be written."""
        cause = error if isinstance(error, OSError) else error.__cause__
        if self.readonly or not isinstance(cause, OSError) or cause.errno not in UNWRITABLE:
            return None
        with suppress(OSError):
            return inspect(self.path, readonly=True)[0]
        return None

    def _is_newer(self, connection: apsw.Connection) -> bool:
        """Return whether a newer version replaced the index while this process had it open."""
        with suppress(apsw.Error):
            return bool(connection.pragma("user_version") > schema.SCHEMA_VERSION)
        return False

    def _unusable_error(self, reason: str) -> CodeIntelError:
        rebuild = "Run `{command}`: it keeps the file as {backup} and builds a new index."
        hint = OPENING_REMEDIES.get(reason, rebuild).format(
            command=self.command, name=self.path.name, backup=backup_path(self.path, reason).name
        )
        if reason == "missing":
            return NotFoundError(f"There is no index at {self.path}.", hint=hint)
        return StorageError(
            f"{self.path.name} {UNUSABLE[reason]} and cannot be read.",
            code={"corrupt": DAMAGED, "newer": NEWER_INDEX}.get(reason, "index_unusable"),
            hint=hint,
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise a `CodeIntelError` for an error of SQLite."""
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
            self._file_id = None  # reopen the file at each call until it can be written again
            raise StorageError(f"{name} cannot be written: {error}.") from error
        except DAMAGE as error:
            if self._connection is not None and self._is_newer(self._connection):
                raise self._unusable_error("newer") from error
            hint = f"Run `{self.command}`: it rebuilds the index from the files."
            if self.on_damage():
                hint = "It is being rebuilt from the files. Try again in a few seconds."
            raise StorageError(f"{name} is damaged: {error}.", code=DAMAGED, hint=hint) from error
        except apsw.Error as error:
            raise StorageError(f"{name} cannot be used: {error}.") from error


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
