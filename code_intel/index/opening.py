"""Open a database file as an index, after checking what it is.

A damaged file, or a file of another program (such as devrag), is never changed: it is moved to
`<name>.<reason>-bak`, and a new index is created. An index of an older version is replaced. An
index of a newer version is left alone, because a newer code-intel is in use. Opening an index for
reading never moves or creates a file.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import apsw

from code_intel.config import STATE_FOLDER
from code_intel.errors import StorageError
from code_intel.foundation.durable import locked, make_folder, move, remove
from code_intel.foundation.mounts import journal_mode
from code_intel.index import schema

BUSY_MS = 5000
PAGE_BYTES = 8192
"""Holds five vectors of 384 numbers; a page of 4,096 bytes would hold two and waste a quarter."""
_JOURNALS = ("-journal", "-shm", "-wal")
WAL_LIMIT = 16 << 20
CACHE_KIB = 16 << 10
"""Of a connection that writes; with SQLite's 2 MiB, indexing writes many pages several times."""
DAMAGE = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.ConstraintError,
    apsw.MismatchError,
    apsw.FormatError,
    UnicodeDecodeError,
)
"""Errors that a damaged database causes. An intact index can execute every statement of this
package, so an SQLError means damage, too."""
UNUSABLE: Mapping[str, str] = MappingProxyType(
    {
        "corrupt": "is damaged",
        "devrag": "was created by devrag",
        "foreign": "belongs to another program",
        "newer": "was created by a newer version of code-intel",
        "older": "was created by an older version of code-intel",
    }
)
"""Why an existing file is not a usable index."""
OPENING_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "missing": "Run `{command}`.",
        "newer": "Upgrade code-intel, or move {name} away and run `{command}` to build an index"
        " for this version.",
        "older": "Run `{command}`: it rebuilds the index.",
    }
)
"""What to do about an index that a writer would not set aside."""


def prepare_folder(home: Path, path: Path) -> None:
    """Create the folder of the index at `path`, but not `home`, the folder of the configuration.

    Raises:
        StorageError: `home` no longer exists, or `path` is outside the project and belongs to
            another program.
    """
    if path.parent.is_dir():
        _check_owner(home, path)
        return
    if not home.is_dir():
        raise StorageError(
            f"{home} and its index no longer exist.", hint="Restore the folder, then try again."
        )
    with suppress(StorageError):  # opening the index raises the reason
        make_folder(path.parent)


def _check_owner(home: Path, path: Path) -> None:
    """Refuse a file outside the project that was never an index.

    Opening an index moves other programs' files aside, and the configuration of a cloned repository
    may name any file as the database.

    Raises:
        StorageError: `path` is such a file.
    """
    project = home.parent if home.name == STATE_FOLDER else home
    folder = Path(os.path.realpath(path.parent))
    is_inside = folder.is_relative_to(os.path.realpath(project))
    if is_inside or not path.is_file() or _was_index(path):
        return
    connection, reason = inspect(path, readonly=True)
    if connection is not None:
        connection.close()
    if reason in {"corrupt", "foreign"}:
        raise StorageError(
            f"{path} is not an index of code-intel and is outside the project. It was not changed.",
            hint="Set another `db_path` in the configuration, or move that file away.",
        )


def _was_index(path: Path) -> bool:
    """Return whether the lock file or the header shows that a file is, or once was, an index."""
    if Path(f"{path}.lock").exists():
        return True
    with suppress(OSError), path.open("rb") as file:
        return file.read(72)[68:] == schema.APPLICATION_ID.to_bytes(4)
    return False


def connect_writable(path: Path) -> tuple[apsw.Connection | None, str]:
    """Open the index at `path` for writing; replace an older one, set another program's file aside.

    A lock lets only one process do this at a time: closing a file that another process has set
    aside could delete the journal of its successor.

    Returns:
        The connection and an empty reason; or None and `newer` if the file was left alone.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist")
    with locked(path.with_name(f"{path.name}.lock"), BUSY_MS / 1000):
        connection, reason = inspect(path, readonly=False)
        if reason == "older":
            connection, reason = _replace_older(path)
        if connection is None and reason != "newer":
            if reason != "missing":
                set_aside(path, reason)
            connection = _create(path)
    return connection, reason


def inspect(path: Path, *, readonly: bool) -> tuple[apsw.Connection | None, str]:
    """Open `path` if it is a current index; otherwise return what it is, and leave it unchanged."""
    connection = None
    try:
        if path.stat().st_size == 0:
            return None, "missing"
        with closing(_open_untouched(path)) as untouched:
            reason = _classify(untouched)
        if reason:
            return None, reason
        # Read-write even for reading: a read-only connection would leave journal files behind.
        connection = _connection(path, readonly=readonly)
        reason = _classify(connection)
        if not reason:
            return connection, ""
    except FileNotFoundError:
        reason = "missing"
    except DAMAGE:
        reason = "corrupt"
    if connection is not None:
        connection.close()
    return None, reason


def _is_immutable(path: Path) -> bool:
    """Return whether a file has no journal, and this process may not write to it or its folder."""
    effective = os.access in os.supports_effective_ids
    writable = all(
        os.access(target, os.W_OK, effective_ids=effective) for target in (path, path.parent)
    )
    return not writable and not Path(f"{path}-wal").exists()


def _replace_older(path: Path) -> tuple[apsw.Connection | None, str]:
    """Replace the index of an earlier version with an empty one that keeps the user's choices."""
    try:
        choices = _choices(path)
    except DAMAGE:
        return None, "corrupt"
    new_path = path.with_name(f"{path.name}.part")
    for file in (new_path, path):
        for suffix in _JOURNALS:
            remove(Path(f"{file}{suffix}"), flushed=False)
    remove(new_path, flushed=False)
    with closing(_create(new_path)) as connection:
        with connection:
            connection.executemany("INSERT INTO choices VALUES (?, ?)", choices)
        # Closing would do this, too, but report no error. The journal does not move with the file.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    move(new_path, path, overwrite=True)
    return _connection(path), ""


def _choices(path: Path) -> list[tuple[str, int]]:
    """Return an older index's `choices`, the only table that cannot be rebuilt from the files."""
    with closing(_open_untouched(path)) as connection:
        if connection.pragma("user_version") == 1:
            return []  # the table came with version 2
        rows = connection.execute("SELECT path, wanted FROM choices")
        return [(str(document), int(str(wanted))) for document, wanted in rows]


def _open_untouched(path: Path) -> apsw.Connection:
    """Open a file, which may be another program's, without leaving journal files behind."""
    if Path(f"{path}-wal").exists():
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(BUSY_MS)  # another process may be recovering the journal
        return connection
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags)


def _classify(connection: apsw.Connection) -> str:
    version = connection.pragma("user_version")
    if connection.pragma("application_id") == schema.APPLICATION_ID:
        if version == schema.SCHEMA_VERSION:
            connection.execute("SELECT key FROM meta LIMIT 1").fetchall()
            return ""
        if 0 < version < schema.SCHEMA_VERSION:
            return "older"
        return "newer" if version > schema.SCHEMA_VERSION else "foreign"
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables and version == 0:
        return "missing"
    return "devrag" if {"documents", "chunks", "vec_chunks"} <= tables else "foreign"


def set_aside(path: Path, reason: str) -> Path | None:
    """Move a database with its journal files to `<name>.<reason>-bak`; return the new path, if any.

    The first copy for each reason is never overwritten, because it may be a user's file; a second
    one is.
    """
    target = backup_path(path, reason)
    for suffix in (*_JOURNALS, ""):
        if (file := Path(f"{path}{suffix}")).exists():
            move(file, Path(f"{target}{suffix}"), overwrite=True)
    return target if target.exists() else None


def backup_path(path: Path, reason: str) -> Path:
    """Return the path to which `set_aside` would move a database."""
    first = path.with_name(f"{path.name}.{reason}-bak")
    return path.with_name(f"{first.name}2") if first.exists() else first


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """Run the block in a write transaction, or in a savepoint inside another one."""
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
def flushing(connection: apsw.Connection) -> Iterator[None]:
    """Flush the transactions of the block to the disk; do nothing inside a transaction."""
    if not connection.get_autocommit():
        yield
        return
    connection.pragma("synchronous", "full")
    try:
        yield
    finally:
        connection.pragma("synchronous", "normal")


def _connection(
    path: Path, flags: int = 0, *, readonly: bool = False, page_size: int = 0
) -> apsw.Connection:
    if readonly and _is_immutable(path):
        connection = _open_untouched(path)
    else:
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | flags)
    connection.set_busy_timeout(BUSY_MS)
    try:
        if readonly:
            connection.pragma("query_only", True)  # noqa: FBT003 - apsw takes it by position
        else:
            if page_size:
                connection.pragma("page_size", page_size)
            connection.pragma("journal_mode", journal_mode(path))
            connection.pragma("synchronous", "normal")
            connection.pragma("journal_size_limit", WAL_LIMIT)
            connection.pragma("cache_size", -CACHE_KIB)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> apsw.Connection:
    connection = _connection(path, apsw.SQLITE_OPEN_CREATE, page_size=PAGE_BYTES)
    with immediate(connection):
        connection.execute(schema.TABLES)
        connection.execute(schema.FIRST_GENERATION)
        connection.pragma("application_id", schema.APPLICATION_ID)
        connection.pragma("user_version", schema.SCHEMA_VERSION)
    return connection
