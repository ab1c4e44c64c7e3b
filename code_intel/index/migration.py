"""How an index of an earlier version becomes one of this version, in one transaction.

`MIGRATIONS` says for each version how it becomes the next one. The statements are written out and not
taken from `schema`, which goes on changing. The file as it was is copied to `<name>.v<version>-bak`
first; `vacuum` deletes the copy (docs/decisions/0016).
"""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType

import apsw

from code_intel import durable
from code_intel.errors import StorageError
from code_intel.index import schema

PAGES = 4096
"""Copied at once."""


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the open index at `path` to this version, inside the caller's write transaction."""
    version = connection.pragma("user_version")
    _copy(path, path.with_name(f"{path.name}.v{version}-bak"))
    while version < schema.VERSION:
        MIGRATIONS[version](connection)
        version += 1
    connection.pragma("user_version", version)


def copies(path: Path) -> list[Path]:
    """Return the copies that migrations of the index at `path` have left."""
    return sorted(path.parent.glob(f"{path.name}.v*-bak"))


def _copy(path: Path, target: Path) -> None:
    """Copy what is committed, the journal included; readers and the caller's transaction go on."""
    beside = target.with_name(f"{target.name}.part")
    for suffix in ("", "-journal", "-wal", "-shm"):
        durable.remove(Path(f"{beside}{suffix}"), flushed=False)
    try:
        with (
            closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as source,
            closing(apsw.Connection(str(beside))) as copy,
            copy.backup("main", source, "main") as backup,
        ):
            while not backup.done:
                backup.step(PAGES)
        durable.move(beside, target, over=True)
    except BaseException:
        with suppress(StorageError):
            durable.remove(beside, flushed=False)
        raise


def _generations(connection: apsw.Connection) -> None:
    """1 to 2: what a chunk's `state` said belongs to a generation of vectors; choices are new."""
    rows = connection.execute("SELECT key, value FROM meta").fetchall()
    meta = {str(key): str(value) for key, value in rows}
    identity = meta.get("model", "")
    dimensions = int(meta.get("dimensions", "0")) if identity else 0
    connection.execute(GENERATIONS)
    values = (identity, dimensions)
    connection.execute("INSERT INTO generations VALUES (1, ?, ?, 1)", values)
    if dimensions:
        connection.execute(
            "CREATE VIRTUAL TABLE vectors_1"
            f" USING vec0(embedding float[{dimensions}] distance_metric=cosine)"
        )
        # Copied, since sqlite-vec cannot write a table that was renamed.
        connection.execute(
            "INSERT INTO vectors_1(rowid, embedding) SELECT rowid, embedding FROM vectors"
        )
    else:
        connection.execute("UPDATE passages SET state = 1, problem = ''")
    connection.execute("DROP TABLE vectors")


GENERATIONS = """
CREATE TABLE generations(
  id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, dimensions INTEGER NOT NULL,
  active INTEGER NOT NULL UNIQUE CHECK(active IN (0, 1)));
CREATE TABLE passages(
  generation INTEGER NOT NULL, chunk INTEGER NOT NULL, priority INTEGER NOT NULL,
  position INTEGER NOT NULL, state INTEGER NOT NULL, problem TEXT NOT NULL,
  PRIMARY KEY(generation, chunk)) WITHOUT ROWID;
CREATE INDEX passages_pending ON passages(generation, priority, position, chunk) WHERE state = 1;
CREATE INDEX passages_refused ON passages(generation, chunk) WHERE state = 3;
CREATE TABLE choices(path TEXT PRIMARY KEY, wanted INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO passages
  SELECT 1, id, priority, position, state, problem FROM chunks WHERE card != '';
DROP INDEX chunks_pending;
DROP INDEX chunks_quarantined;
ALTER TABLE chunks DROP COLUMN state;
ALTER TABLE chunks DROP COLUMN problem;
DELETE FROM meta WHERE key IN ('model', 'dimensions');
"""


def _bodies(connection: apsw.Connection) -> None:
    """2 to 3: symbols are known by their text without their name; the next sync says it of each."""
    connection.execute(BODIES)


BODIES = """
ALTER TABLE symbols ADD COLUMN body TEXT NOT NULL DEFAULT '';
CREATE INDEX symbols_body ON symbols(body) WHERE body != '';
"""

MIGRATIONS: Mapping[int, Callable[[apsw.Connection], None]] = MappingProxyType(
    {1: _generations, 2: _bodies}
)
"""From version to the next."""
