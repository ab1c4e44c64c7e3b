"""An index as version 1 made it: its tables as they were released, and a few rows of every kind."""

import sys
from contextlib import closing
from pathlib import Path

import apsw
import sqlite_vec

from index.samples import DIMENSIONS, unit_vector

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  language TEXT NOT NULL, lines INTEGER NOT NULL, problem TEXT NOT NULL,
  indexed_at TEXT NOT NULL, priority INTEGER NOT NULL);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL, position INTEGER NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL, symbols TEXT NOT NULL,
  card TEXT NOT NULL, card_digest TEXT NOT NULL, priority INTEGER NOT NULL, state INTEGER NOT NULL,
  problem TEXT NOT NULL DEFAULT '', UNIQUE(document_id, position));
CREATE INDEX chunks_pending ON chunks(priority, position, id) WHERE state = 1;
CREATE INDEX chunks_quarantined ON chunks(id) WHERE state = 3;
CREATE TABLE symbols(
  id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL,
  folded TEXT NOT NULL, kind TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  signature TEXT NOT NULL, doc TEXT NOT NULL, digest TEXT NOT NULL);
CREATE INDEX symbols_name ON symbols(name);
CREATE INDEX symbols_document ON symbols(document_id);
CREATE TABLE imports(document_id INTEGER NOT NULL, position INTEGER NOT NULL, target TEXT NOT NULL,
  PRIMARY KEY(document_id, position)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(body, names, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* P* S* Co'");
"""
ROWS = """
INSERT INTO documents VALUES
  (1, 'a.py', 'd1', 9, 1, 1, 'python', 3, '', '2026-01-01T00:00:00+00:00', 0),
  (4, 'docs/b.md', 'd2', 5, 2, 2, 'markdown', 1, '', '2026-01-01T00:00:00+00:00', 1);
INSERT INTO chunks VALUES
  (1, 1, 0, 1, 1, 'def login', 'login', 'card of login', 'c1', 0, 2, ''),
  (2, 1, 1, 2, 2, 'poison', '', 'card of poison', 'c2', 0, 3, 'the model gives no vector'),
  (3, 1, 2, 3, 3, '}', '', '', '', 0, 0, ''),
  (7, 4, 0, 1, 1, 'about login', '', 'card of about', 'c3', 1, 1, '');
INSERT INTO symbols VALUES (1, 1, 'login', 'login', 'login', 'function', 1, 1, 'def login', '', 'x');
INSERT INTO imports VALUES (1, 0, 'os');
INSERT INTO words(rowid, body, names) VALUES
  (1, 'def login', 'a login'), (2, 'poison', 'a'), (3, '}', 'a'), (7, 'about login', 'docs b');
INSERT INTO meta VALUES ('scanned_ns', '77');
PRAGMA application_id = 1128875096;
PRAGMA user_version = 1;
"""


def make(path: Path, model: str = "m") -> None:
    """Make an index of version 1; without a model its vectors have not been begun."""
    with closing(apsw.Connection(str(path))) as database:
        database.enable_load_extension(True)  # noqa: FBT003 - apsw takes it by position
        database.load_extension(sqlite_vec.loadable_path())
        database.pragma("journal_mode", "wal")
        database.execute(TABLES + ROWS)
        database.execute(
            "CREATE VIRTUAL TABLE vectors"
            f" USING vec0(embedding float[{DIMENSIONS}] distance_metric=cosine)"
        )
        meta = [("dimensions", str(DIMENSIONS)), *([("model", model)] if model else [])]
        database.executemany("INSERT INTO meta VALUES (?, ?)", meta)
        if model:
            values = (1, unit_vector("login").tobytes())
            database.execute("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", values)
        else:
            database.execute("UPDATE chunks SET state = 1, problem = '' WHERE card != ''")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
