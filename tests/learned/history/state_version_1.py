"""A state store as version 1 of its schema wrote it."""

from pathlib import Path

import apsw

SCHEMA = """
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
AT = "2026-01-05T09:00:00+00:00"
ROWS: dict[str, list[tuple[object, ...]]] = {
    "base": [("ログイン機能", "AuthService", "p", "a", "login.md")],
    "confirmed": [("digest-1", AT), ("digest-2", AT)],
    "used": [("ログイン機能", "AuthService", AT), ("old", "S", "2026-01-05T09:00:00")],
    "sighting": [
        ("ログイン機能", "AuthService", "Sign In", "s1", AT),
        ("ログイン機能", "AuthService", "ｓｉｇｎ in", "s2", AT),
        ("ログイン機能", "AuthService", "sign in", "s1", AT),
    ],
    "pending": [("送料計算", "shipping_fee", "text", 1)],
}


def make(folder: Path) -> Path:
    """Write the store into `folder`; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "state.db"
    database = apsw.Connection(str(path))
    database.pragma("journal_mode", "wal")
    database.execute(SCHEMA)
    for table, rows in ROWS.items():
        places = ", ".join("?" * len(rows[0]))
        for row in rows:
            database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608 - names of this file
    database.pragma("user_version", 1)
    database.close()
    return path
