"""Test that a database of devrag is renamed and an index built in its place."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.store import Store
from index.samples import DIMENSIONS, index_config, unit_vector

TABLES = """
CREATE TABLE documents(id INTEGER PRIMARY KEY AUTOINCREMENT, filename TEXT NOT NULL UNIQUE,
  indexed_at DATETIME DEFAULT CURRENT_TIMESTAMP, modified_at DATETIME NOT NULL);
CREATE TABLE chunks(id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL,
  position INTEGER NOT NULL, content TEXT NOT NULL,
  FOREIGN KEY(document_id) REFERENCES documents(id) ON DELETE CASCADE);
CREATE TABLE vec_chunks(embedding BLOB);
"""
ROWS = """
INSERT INTO documents VALUES (1, 'docs/a.md', '2026-01-01 00:00:00', '2026-01-01 00:00:00');
INSERT INTO chunks VALUES (1, 1, 0, 'How to log in');
"""
LATER = """
CREATE TABLE code_metadata(chunk_id INTEGER PRIMARY KEY, symbol_name TEXT, symbol_type TEXT,
  FOREIGN KEY(chunk_id) REFERENCES chunks(id) ON DELETE CASCADE);
CREATE TABLE code_relations(id INTEGER PRIMARY KEY, source TEXT, target TEXT, kind TEXT);
CREATE TABLE word_mapping(id INTEGER PRIMARY KEY, source TEXT, target TEXT);
"""
VARIANTS = {"1.0": TABLES, "1.4": TABLES + LATER}


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(path))) as database:
        yield database


def rows(path: Path) -> list[object]:
    with opened(path) as database:
        found = database.execute(
            "SELECT filename, position, content FROM documents d"
            " JOIN chunks c ON c.document_id = d.id ORDER BY c.id"
        ).fetchall()
        vectors = database.execute("SELECT rowid, embedding FROM vec_chunks").fetchall()
    return [*found, *vectors]


@pytest.fixture(params=[(name, mode) for name in VARIANTS for mode in ("delete", "wal", "killed")])
def devrag(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Make a database as devrag does; `killed` leaves it as a killed process does."""
    name, mode = request.param
    place, made = tmp_path / "p" / "vectors.db", tmp_path / "made.db"
    place.parent.mkdir()
    with opened(made) as database:
        database.pragma("journal_mode", "delete" if mode == "delete" else "wal")
        database.execute(VARIANTS[name])
        database.execute(ROWS)
        values = (1, unit_vector("log in", 384).tobytes())
        database.execute("INSERT INTO vec_chunks(rowid, embedding) VALUES (?, ?)", values)
        if mode == "killed":
            copy(made, place)
            return place
    copy(made, place)
    return place


def copy(source: Path, target: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        if Path(f"{source}{suffix}").exists():
            shutil.copy(f"{source}{suffix}", f"{target}{suffix}")


def data_files(folder: Path) -> dict[str, bytes]:
    """Return the files that hold data; -shm is memory that processes share."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if "-shm" not in file.name}


def config(path: Path) -> IndexConfig:
    return index_config(path.parent, corpus="map", db_path=path)


def test_a_devrag_database_is_set_aside_unchanged_and_replaced(devrag: Path) -> None:
    before = data_files(devrag.parent)
    (devrag.parent / "a.md").write_text("# How to log in\n", encoding="utf-8")
    with Index(config(devrag)) as index:
        report = index.complete()
        assert report.added == 1
        assert "The previous vectors.db is kept as vectors.db.devrag-bak." in report.warnings
        assert index.store.check() == []
        assert index.store.word_hits(["log"], "body", 3)
    after = data_files(devrag.parent)
    renamed = {
        name.replace("vectors.db", "vectors.db.devrag-bak"): data for name, data in before.items()
    }
    assert {name: after[name] for name in renamed} == renamed
    assert not devrag.with_name("vectors.db-journal").exists()
    (document, vector) = rows(devrag.with_name("vectors.db.devrag-bak"))
    assert document == ("docs/a.md", 0, "How to log in")
    assert vector == (1, unit_vector("log in", 384).tobytes())


def test_reading_a_devrag_database_reports_it_and_changes_nothing(devrag: Path) -> None:
    before = data_files(devrag.parent)
    with pytest.raises(StorageError, match="created by devrag") as refusal:
        Store.open(devrag, readonly=True)
    assert "it keeps the file as vectors.db.devrag-bak" in refusal.value.hint
    found = examine(config(devrag), command="devrag sync")
    (report,) = [finding for finding in found if "created by devrag" in finding.what]
    assert report.level == "error"
    assert report.remedy.startswith("Run `devrag sync`: it keeps the file as vectors.db.devrag-bak")
    with Index(config(devrag), readonly=True) as index:
        assert index.freshness().state == "missing"
    assert data_files(devrag.parent) == before


def test_the_journal_of_a_devrag_database_is_set_aside(tmp_path: Path) -> None:
    made, place = tmp_path / "made.db", tmp_path / "p" / "vectors.db"
    place.parent.mkdir()
    with opened(made) as database:
        database.execute(TABLES + ROWS)
        database.pragma("cache_size", 1)
        database.execute("BEGIN")
        long = "x" * 4000
        for number in range(2, 200):
            database.execute("INSERT INTO chunks VALUES (?, 1, ?, ?)", (number, number, long))
        copy(made, place)
    assert place.with_name("vectors.db-journal").stat().st_size > 0
    with Store.open(place, dimensions=DIMENSIONS) as store:
        assert store.check() == []
    assert not place.with_name("vectors.db-journal").exists()
    (journal,) = place.parent.glob("vectors.db.*-bak-journal")
    assert journal.stat().st_size > 0
    renamed = rows(journal.with_name(journal.name.removesuffix("-journal")))
    assert renamed[0] == ("docs/a.md", 0, "How to log in")
    assert len(renamed) == 1
