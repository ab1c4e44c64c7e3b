"""How a file becomes an index, and one connection to it behind a lock.

A file that is not ours (devrag's own database, another program's, another version's, a damaged one)
is never altered: it is moved to `<name>.<reason>-bak` and a new one is built in its place. A file
that is replaced or deleted while it is open is noticed at the next call and opened again.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from code_intel.durable import locked
from code_intel.errors import BusyError, CodeIntelError, NotFoundError, StorageError
from code_intel.index import schema

BUSY_MS = 5000
WAL_LIMIT = 16 << 20
DAMAGED = "index_damaged"
"""`error` of the StorageError that asks for a rebuild."""


class Database:
    """An open index file: any thread may call, one at a time; errors come in our words."""

    def __init__(self, path: Path, *, dimensions: int, readonly: bool) -> None:
        self.path = path
        self.dimensions = dimensions
        self.readonly = readonly
        self._lock = threading.RLock()
        self._depth = 0
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

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Execute one statement in a transaction of its own, or in the open one."""
        with self.batch():
            self.rows(sql, values)

    @contextmanager
    def batch(self) -> Iterator[apsw.Connection]:
        """Hold a write transaction; inside another batch, a savepoint of it."""
        with self._opened() as connection, immediate(connection):
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
                connection.execute("ROLLBACK")

    def rebuild(self, reason: str) -> None:
        """Set the file aside and start an empty one; the index is a cache."""
        with self._lock, translated(self.path):
            self.close()
            set_aside(self.path, reason)
            with self._opened():
                pass

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        with self._lock, translated(self.path):
            if self._depth == 0 and (self._connection is None or self._replaced()):
                self.close()
                self._connection = connect(
                    self.path, dimensions=self.dimensions, readonly=self.readonly
                )
                self._identity = _identity(self.path)
            assert self._connection is not None  # noqa: S101 - opened above, or by the outer call
            self._depth += 1
            try:
                yield self._connection
            finally:
                self._depth -= 1

    def _replaced(self) -> bool:
        return _identity(self.path) != self._identity


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def connect(path: Path, *, dimensions: int, readonly: bool) -> apsw.Connection:
    """Open the index at `path`, making or replacing it when needed and allowed.

    Raises:
        NotFoundError: Read-only, and there is none.
        StorageError: Read-only and not usable, or the disk refuses.
        BusyError: Another process is building it for more than five seconds.
    """
    try:
        with translated(path):
            if readonly:
                return _connect_readonly(path, dimensions)
            return _connect_writable(path, dimensions)
    except OSError as error:
        raise StorageError(f"{path} cannot be used: {error.strerror or error}.") from error


def set_aside(path: Path, reason: str) -> Path | None:
    """Move a database with its journal files to `<name>.<reason>-bak`; return where, if anywhere.

    The first copy made for a reason is kept for good (it may be a user's); later ones share a name.
    """
    target = path.with_name(f"{path.name}.{reason}-bak")
    if target.exists():
        target = path.with_name(f"{path.name}.{reason}-bak2")
    for suffix in ("-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").replace(f"{target}{suffix}")
    return target if target.exists() else None


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """Hold a write transaction; inside another one, a savepoint of it."""
    if not connection.get_autocommit():
        with connection:
            yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the disk's errors into ours."""
    try:
        yield
    except CodeIntelError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise BusyError(f"{path.name} is being written by another process.") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StorageError(
            f"{path.name} is damaged: {error}.",
            code=DAMAGED,
            hint=f"It is a cache: delete {path.name}, it will be rebuilt.",
        ) from error
    except apsw.Error as error:
        raise StorageError(f"{path.name} cannot be used: {error}.") from error


def _connect_writable(path: Path, dimensions: int) -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection, _ = _inspect(path, apsw.SQLITE_OPEN_READWRITE)
    if connection is None:
        with locked(path.with_name(f"{path.name}.lock"), BUSY_MS / 1000):
            # Somebody else may have replaced it while we waited.
            connection, reason = _inspect(path, apsw.SQLITE_OPEN_READWRITE)
            if connection is None:
                if reason != "missing":
                    set_aside(path, reason)
                connection = _create(path, dimensions)
    _fit_dimensions(connection, dimensions)
    return connection


def _connect_readonly(path: Path, dimensions: int) -> apsw.Connection:
    connection, reason = _inspect(path, apsw.SQLITE_OPEN_READONLY)
    if connection is None and reason == "missing":
        raise NotFoundError(f"There is no index at {path}.", hint="Run `code-intel sync`.")
    if connection is None:
        raise StorageError(f"{path.name} is not a usable index ({reason}).")
    if read_dimensions(connection) != dimensions:
        raise StorageError(f"{path.name} was built for vectors of another size.")
    return connection


def _inspect(path: Path, flags: int) -> tuple[apsw.Connection | None, str]:
    """Open `path` if it is ours and current; else say what it is, leaving it untouched."""
    if not path.exists() or path.stat().st_size == 0:
        return None, "missing"
    connection = None
    try:
        connection = apsw.Connection(str(path), flags)
        connection.set_busy_timeout(BUSY_MS)
        reason = _classify(connection)
        if not reason:
            _prepare(connection, writable=flags == apsw.SQLITE_OPEN_READWRITE)
            return connection, ""
    except (apsw.CorruptError, apsw.NotADBError):
        reason = "corrupt"
    if connection is not None:
        connection.close()
    return None, reason


def _classify(connection: apsw.Connection) -> str:
    version = connection.pragma("user_version")
    if connection.pragma("application_id") == schema.APPLICATION_ID:
        if version == schema.VERSION:
            connection.execute("SELECT key FROM meta LIMIT 1").fetchall()
            return ""
        return "newer" if version > schema.VERSION else "older"
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables and version == 0:
        return "missing"
    return "devrag" if {"documents", "chunks", "vec_chunks"} <= tables else "foreign"


def _prepare(connection: apsw.Connection, *, writable: bool) -> None:
    import sqlite_vec

    connection.enable_load_extension(True)  # noqa: FBT003 - apsw takes it by position
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)  # noqa: FBT003 - apsw takes it by position
    if writable:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.pragma("journal_size_limit", WAL_LIMIT)


def _create(path: Path, dimensions: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    connection.set_busy_timeout(BUSY_MS)
    _prepare(connection, writable=True)
    with immediate(connection):
        connection.execute(schema.TABLES)
        _create_vectors(connection, dimensions)
        connection.pragma("application_id", schema.APPLICATION_ID)
        connection.pragma("user_version", schema.VERSION)
    return connection


def _create_vectors(connection: apsw.Connection, dimensions: int) -> None:
    connection.execute(schema.VECTORS.format(dimensions=int(dimensions)))
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES ('dimensions', ?)", (str(int(dimensions)),)
    )


def read_dimensions(connection: apsw.Connection) -> int:
    """Return how many numbers a vector of this database has."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'dimensions'").fetchone()
    return int(row[0]) if row else 0


def _fit_dimensions(connection: apsw.Connection, dimensions: int) -> None:
    """Drop vectors of another size; the words stay and the vectors are made again."""
    if read_dimensions(connection) == dimensions:
        return
    with immediate(connection):
        if read_dimensions(connection) != dimensions:
            drop_vectors(connection, dimensions)


def drop_vectors(connection: apsw.Connection, dimensions: int) -> None:
    """Forget every vector and ask for all of them again; inside the caller's transaction."""
    connection.execute("DROP TABLE IF EXISTS vectors")
    _create_vectors(connection, dimensions)
    connection.execute("DELETE FROM meta WHERE key = 'model'")
    connection.execute(
        "UPDATE chunks SET state = ?, problem = '' WHERE state IN (?, ?)",
        (schema.PENDING, schema.EMBEDDED, schema.QUARANTINED),
    )
