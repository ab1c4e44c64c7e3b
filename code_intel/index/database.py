"""One connection to an index file, behind a lock; errors in our words.

A file that is replaced or deleted while it is open is noticed at the next call and opened again.
Damage is told to whoever can repair it, and the caller learns whether somebody does.
"""

import errno
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from code_intel.errors import BusyError, CodeIntelError, NotFoundError, StorageError
from code_intel.index import schema, waiting
from code_intel.index.opening import (
    DAMAGE,
    REMEDIES,
    UNUSABLE,
    aside,
    connect_writable,
    immediate,
    inspect,
    set_aside,
)

DAMAGED = "index_damaged"
"""`error` of the StorageError that asks for a rebuild."""
UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""What says of a disk that it can still be read."""
NEWER = "index_newer"
"""`error` of the StorageError that asks for an upgrade: nothing here will write that file."""


class Database:
    """An open index file: any thread may call, one at a time; errors come in our words.

    Args:
        path: The file.
        readonly: Whether nothing may be written, made or moved.
        command: The command line that builds this index, for hints.
        noticed: Told when a call meets damage; returns whether somebody repairs it now.
    """

    def __init__(
        self,
        path: Path,
        *,
        readonly: bool,
        command: str = "code-intel sync",
        noticed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self.readonly = readonly
        self.command = command
        self.noticed = noticed
        self._lock = threading.RLock()
        self._depth = 0
        self._connected = 0
        self._connection: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        with self._opened():
            pass

    def close(self) -> None:
        """Give the file back; the next call opens it again."""
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
        """Execute a statement once for each row of values, in the open batch; return what it returns."""
        with self._opened() as connection:
            return connection.executemany(sql, rows).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Return a cursor over a statement's rows; close it before the surrounding snapshot ends."""
        with self._opened() as connection:
            return connection.execute(sql, values)

    def broken(self, also: Callable[[], None] = lambda: None) -> list[str]:
        """Return every broken invariant in one line each; empty for a sound database.

        `also` reads what it knows to be there; a StorageError of its for damage is one more line.
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
        """Return what SQLite finds wrong with its pages: the first finding, and how many more."""
        rows = self.rows("PRAGMA integrity_check")
        lines = [line for row in rows for line in str(row[0]).splitlines()]
        found = [line for line in lines if line != "ok" and not line.startswith("***")]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return [found[0] + more] if found else []

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Execute one statement in a transaction of its own, or in the open one."""
        with self.batch():
            self.rows(sql, values)

    def state(self) -> tuple[int, ...] | None:
        """Return what is another whenever anybody has written; None inside a transaction that writes."""
        with self._opened() as connection:
            if connection.txn_state() == apsw.SQLITE_TXN_WRITE:
                return None
            theirs = connection.pragma("data_version")
            return self._connected, theirs, connection.total_changes()

    def size(self) -> int:
        """Return the bytes the file takes, or will once its journal is taken in."""
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
        """Hold a write transaction; inside another batch, a savepoint of it."""
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
        """Set the file aside and start an empty one; the index is a cache."""
        with self._lock, self._translated():
            self.close()
            set_aside(self.path, reason)
            with self._opened():
                pass

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        with self._lock, self._translated():
            waiting.check()
            if self._depth == 0 and (self._connection is None or self._replaced()):
                self.close()
                self._connection = self._connect()
                self._connection.set_progress_handler(waiting.is_over, waiting.STEPS)
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
        """Open the index, making or replacing it when needed and allowed.

        Raises:
            NotFoundError: Read-only, and there is none.
            StorageError: Read-only and not usable, a newer version's, or the disk refuses.
            BusyError: Another process is building it for more than five seconds.
        """
        try:
            connection, reason = (
                inspect(self.path, readonly=True) if self.readonly else connect_writable(self.path)
            )
        except (OSError, StorageError) as error:
            if seen := self._looked_at(error):
                return seen
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{self.path} cannot be used: {error.strerror or error}.") from error
        if connection is None:
            raise self._unusable(reason)
        return connection

    def _looked_at(self, error: OSError | StorageError) -> apsw.Connection | None:
        """Open the index for reading after all, where the disk takes no writing: it still answers."""
        cause = error if isinstance(error, OSError) else error.__cause__
        if self.readonly or not isinstance(cause, OSError) or cause.errno not in UNWRITABLE:
            return None
        with suppress(OSError):
            return inspect(self.path, readonly=True)[0]
        return None

    def _is_newer(self, connection: apsw.Connection) -> bool:
        """Whether a newer program has migrated the file while it was open here."""
        with suppress(apsw.Error):
            return bool(connection.pragma("user_version") > schema.VERSION)
        return False

    def _unusable(self, reason: str) -> CodeIntelError:
        kept = f"it keeps the file as {aside(self.path, reason).name} and builds a new one."
        remedy = REMEDIES.get(reason, f"Run `{{command}}`: {kept}")
        hint = remedy.format(command=self.command, name=self.path.name)
        if reason == "missing":
            return NotFoundError(f"There is no index at {self.path}.", hint=hint)
        return StorageError(
            f"{self.path.name} {UNUSABLE[reason]} and cannot be read.",
            code={"corrupt": DAMAGED, "newer": NEWER}.get(reason, "index_unusable"),
            hint=hint,
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        name = self.path.name
        try:
            yield
        except CodeIntelError:
            raise
        except apsw.InterruptError as error:
            raise BusyError(f"{name} is not read for a call that was cancelled.") from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise BusyError(f"{name} is being written by another process.") from error
        except apsw.ReadOnlyError as error:
            self._identity = None  # opened anew each time, until the disk takes it
            raise StorageError(f"{name} cannot be written: {error}.") from error
        except DAMAGE as error:
            if self._connection is not None and self._is_newer(self._connection):
                raise self._unusable("newer") from error
            repaired = "It is being rebuilt from the files; ask again in a few seconds."
            raise StorageError(
                f"{name} is damaged: {error}.",
                code=DAMAGED,
                hint=repaired
                if self.noticed()
                else f"It is a cache; `{self.command}` rebuilds it.",
            ) from error
        except apsw.Error as error:
            raise StorageError(f"{name} cannot be used: {error}.") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
