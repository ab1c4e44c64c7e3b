"""The tables of state.db, by version, and how an older store is migrated to this version."""

import apsw

from code_intel.errors import StorageError
from code_intel.learned.recall.recall import fold

STATE_VERSION = 4
_FIRST = """
CREATE TABLE base (
    nl_term TEXT, symbol TEXT, pair TEXT NOT NULL, agreement TEXT NOT NULL, file TEXT NOT NULL,
    PRIMARY KEY (nl_term, symbol)) WITHOUT ROWID;
CREATE TABLE confirmed (digest TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE used (
    nl_term TEXT, symbol TEXT, at TEXT NOT NULL, PRIMARY KEY (nl_term, symbol)) WITHOUT ROWID;
CREATE TABLE sighting (
    nl_term TEXT, symbol TEXT, alias TEXT, session_id TEXT, at TEXT NOT NULL,
    PRIMARY KEY (nl_term, symbol, alias, session_id)) WITHOUT ROWID;
CREATE TABLE pending (
    nl_term TEXT, symbol TEXT, text TEXT NOT NULL, confirmed INTEGER NOT NULL,
    PRIMARY KEY (nl_term, symbol)) WITHOUT ROWID;
"""
_SECOND = """
CREATE TABLE experience (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    nl_term TEXT NOT NULL, symbol TEXT NOT NULL, kind TEXT NOT NULL,
    wording TEXT NOT NULL, session_id TEXT NOT NULL, detail TEXT NOT NULL, at TEXT NOT NULL,
    UNIQUE (nl_term, symbol, kind, wording, session_id));
CREATE INDEX objection ON experience (nl_term, symbol) WHERE kind IN ('rejected', 'failed');
"""
_FOURTH = """
DROP TABLE base;
DROP TABLE pending;
CREATE TABLE generated (seq INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE);
"""


def migrate(db: apsw.Connection) -> None:
    """Bring a new store, or one of an older version, to this version: whole, or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = int(db.pragma("user_version"))
        _require_known(version)
        if version < 1:
            db.execute(_FIRST)
        if version < 2:  # noqa: PLR2004 - the version that brought them
            db.execute(_SECOND)
            _fold_aliases(db)
        if version < STATE_VERSION:
            db.execute(_FOURTH)
            db.pragma("user_version", STATE_VERSION)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _require_known(version: int) -> None:
    if version > STATE_VERSION:
        raise StorageError(
            f"state.db has version {version}; this program knows {STATE_VERSION}.",
            hint="Use the newer code-intel, or move state.db away: agreements stay.",
        )


def _fold_aliases(db: apsw.Connection) -> None:
    """Version 1 counted an alias by how it was written."""
    rows = list(
        db.execute("SELECT nl_term, symbol, alias, session_id, at FROM sighting ORDER BY at")
    )
    db.execute("DELETE FROM sighting")
    for nl_term, symbol, alias, session_id, at in rows:
        row = (nl_term, symbol, fold(str(alias)), session_id, at)
        db.execute("INSERT OR IGNORE INTO sighting VALUES (?, ?, ?, ?, ?)", row)
