"""Cache the vectors of passages for all projects of a user, so that a branch switch is cheap.

The cache is one SQLite file that processes share. SQLite and disk errors are never raised: without
the cache, vectors are computed again.
"""

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.foundation.mounts import journal_mode

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

CACHE_FILE = "passages.db"
MAX_CACHE_BYTES = 512 * 1024 * 1024
LOCK_TIMEOUT_MS = 2_000

_BATCH = 500
_ROW_OVERHEAD = 120
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors(
  id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, digest BLOB NOT NULL,
  vector BLOB NOT NULL, UNIQUE(identity, digest))
"""

Result = TypeVar("Result")


class VectorCache:
    """A cache of passage vectors by engine identity and SHA-256 of the text. Thread-safe.

    Args:
        folder: The folder of the file; created if missing. If the folder is not writable, an
            existing cache is read-only, and a missing one stays empty.
        max_bytes: Approximate maximum size; the oldest vectors are removed first.
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._path = folder / CACHE_FILE
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._database: apsw.Connection | None = None
        self._is_unusable = False

    def get(self, identity: str, texts: Sequence[str]) -> dict[str, "NDArray[np.float32]"]:
        """Return the cached vectors of `texts`, each float32 of shape (dimensions,)."""
        if not texts:
            return {}
        wanted = {_digest(text): text for text in texts}
        return self._run(lambda database: _read(database, identity, wanted), {})

    def put(self, identity: str, vectors: Mapping[str, "NDArray[np.float32]"]) -> int:
        """Store vectors by text in one transaction; return the number of new ones."""
        import numpy as np

        rows = [
            (identity, _digest(text), np.ascontiguousarray(vector, dtype="<f4").tobytes())
            for text, vector in vectors.items()
        ]
        if not rows:
            return 0
        max_rows = max(1, self._max_bytes // (len(rows[0][2]) + _ROW_OVERHEAD))
        return self._run(lambda database: _write(database, rows, max_rows), 0)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _run(self, work: Callable[["apsw.Connection"], Result], default: Result) -> Result:
        """Return the result of `work`, or `default` after an error; rename a damaged file."""
        import apsw

        with self._lock:
            for _attempt in range(2):
                try:
                    database = self._open()
                    return default if database is None else work(database)
                except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
                    self._set_aside()
                except apsw.Error:
                    return default
        return default

    def _open(self) -> "apsw.Connection | None":
        import apsw

        if self._database is None and not self._is_unusable:
            try:
                durable.make_folder(self._path.parent)
                self._database = _connect(self._path)
            except (StorageError, OSError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
                self._database = _connect_read_only(self._path)
                self._is_unusable = self._database is None
        return self._database

    def _set_aside(self) -> None:
        with suppress(Exception):
            self._disconnect()
        self._database = None
        mark = f"damaged-{os.getpid()}-{secrets.token_hex(4)}"
        for tail in ("-wal", "-shm", ""):
            file = self._path.with_name(self._path.name + tail)
            with suppress(StorageError):
                durable.move(file, file.with_name(f"{file.name}.{mark}"))


def _connect(path: Path) -> "apsw.Connection":
    import apsw

    database = apsw.Connection(str(path))
    try:
        database.set_busy_timeout(LOCK_TIMEOUT_MS)
        database.pragma("journal_mode", journal_mode(path))
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute(_SCHEMA)
        database.execute("SELECT identity, digest, vector FROM vectors LIMIT 1").fetchall()
    except apsw.Error:
        database.close()
        raise
    return database


def _connect_read_only(path: Path) -> "apsw.Connection | None":
    """Open the file read-only; return None if that fails."""
    import apsw

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with suppress(apsw.Error, ValueError):
        database = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
        database.execute("SELECT identity, digest, vector FROM vectors LIMIT 1").fetchall()
        return database
    return None


def _read(
    database: "apsw.Connection", identity: str, wanted: Mapping[bytes, str]
) -> dict[str, "NDArray[np.float32]"]:
    import numpy as np

    found: dict[bytes, NDArray[np.float32]] = {}
    digests = list(wanted)
    for start in range(0, len(digests), _BATCH):
        part = digests[start : start + _BATCH]
        marks = ",".join("?" * len(part))
        rows = database.execute(
            f"SELECT digest, vector FROM vectors "  # noqa: S608 - question marks only
            f"WHERE identity = ? AND digest IN ({marks})",
            (identity, *part),
        )
        for digest, blob in rows:
            vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
            if len(vector) and np.isfinite(vector).all():
                found[digest] = vector
    return {text: found[digest] for digest, text in wanted.items() if digest in found}


def _write(database: "apsw.Connection", rows: list[tuple[str, bytes, bytes]], max_rows: int) -> int:
    """Add rows and remove the oldest, whose ids have no gaps; return the number of new rows."""
    database.execute("BEGIN IMMEDIATE")
    try:
        before = database.total_changes()
        database.executemany(
            "INSERT INTO vectors(identity, digest, vector) VALUES(?, ?, ?) "
            "ON CONFLICT(identity, digest) DO NOTHING",
            rows,
        )
        added = database.total_changes() - before
        database.execute(
            "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?", (max_rows,)
        )
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    return added


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
