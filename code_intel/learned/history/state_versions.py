"""Define the tables of state.db by version, and migrate older databases."""

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
    """Migrate a new or older database to the current version in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = int(db.pragma("user_version"))
        _require_known(version)
        if version < 1:
            db.execute(_FIRST)
        if version < 2:  # noqa: PLR2004 - a version
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
            f"state.db has version {version}, but this program supports only {STATE_VERSION}.",
            hint="Use the newer code-intel, or move state.db away; agreements are kept.",
        )


def _fold_aliases(db: apsw.Connection) -> None:
    """Fold the aliases, which version 1 stored as they were written."""
    rows = list(
        db.execute("SELECT nl_term, symbol, alias, session_id, at FROM sighting ORDER BY at")
    )
    db.execute("DELETE FROM sighting")
    for nl_term, symbol, alias, session_id, at in rows:
        row = (nl_term, symbol, fold(str(alias)), session_id, at)
        db.execute("INSERT OR IGNORE INTO sighting VALUES (?, ?, ?, ?, ?)", row)
