"""Test that an older index is replaced and a newer one is not changed."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index import schema
from code_intel.index.database import NEWER_INDEX
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import DIMENSIONS, HashEmbedder, index_config, parsed

VIRTUAL_TABLE = """INSERT INTO sqlite_master VALUES ('table', 'vectors_1', 'vectors_1', 0,
  'CREATE VIRTUAL TABLE vectors_1 USING vec0(embedding float[8] distance_metric=cosine)')"""


def config_of(folder: Path) -> IndexConfig:
    return index_config(folder, db_path=folder / "x.db")


def make_older(path: Path, version: int) -> None:
    """Make an index of an earlier version, with a virtual table whose module is not installed."""
    with Store.open(path, dimensions=DIMENSIONS) as store:
        store.put_document(DocumentRow("a.py", "d"), parsed("login"))
        store.choose("wanted.txt", wanted=True)
        store.choose("unwanted.py", wanted=False)
    with closing(apsw.Connection(str(path))) as database:
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        database.pragma("writable_schema", True)  # noqa: FBT003 - apsw takes it by position
        database.execute(VIRTUAL_TABLE)
        database.execute("DROP TABLE vectors")
        if version == 1:
            database.execute("DROP TABLE choices")
        database.pragma("user_version", version)


@pytest.mark.parametrize("version", range(1, schema.SCHEMA_VERSION))
@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_an_older_index_is_replaced_by_an_empty_one_with_the_user_s_choices(
    tmp_path: Path, version: int, *, open_elsewhere: bool
) -> None:
    path = tmp_path / "x.db"
    make_older(path, version)
    with closing(apsw.Connection(str(path))) as other:
        if open_elsewhere:
            other.execute("INSERT INTO meta VALUES ('kept', 'in the journal')")
        with Store.open(path, dimensions=DIMENSIONS) as store:
            chosen = {"unwanted.py": False, "wanted.txt": True} if version > 1 else {}
            assert store.choices() == chosen
            assert store.documents() == []
            assert store.check() == []
            store.put_document(DocumentRow("a.py", "e"), parsed("new"))
            assert store.word_hits(["new"], "body", 1)
    with Store.open(path, dimensions=DIMENSIONS) as store:
        assert [row.path for row in store.documents()] == ["a.py"]
    assert not list(tmp_path.glob("*.part*"))


def test_the_next_sync_rebuilds_an_older_index(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def login(): pass\n", encoding="utf-8")
    config = config_of(tmp_path)
    make_older(config.db_path, schema.SCHEMA_VERSION - 1)
    with Index(config, embedder=HashEmbedder(dimensions=DIMENSIONS)) as index:
        report = index.complete()
        assert (report.added, index.store.pending_count()) == (1, 0)
        assert index.store.check() == []


def test_files_of_a_killed_migration_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_older(path, 3)
    with Store.open(tmp_path / "other.db", dimensions=DIMENSIONS) as store:
        store.put_document(DocumentRow("stale.py", "d"), parsed("stale"))
        for suffix in ("", "-wal"):
            shutil.copy(f"{store.path}{suffix}", f"{path}.part{suffix}")
    with Store.open(path, dimensions=DIMENSIONS) as store:
        assert store.documents() == []
        assert store.check() == []


def test_a_damaged_older_index_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_older(path, 3)
    with closing(apsw.Connection(str(path))) as database:
        database.execute("ALTER TABLE choices RENAME TO others")
    with Store.open(path) as store:
        assert store.documents() == []
        assert store.check() == []
    assert (tmp_path / "x.db.corrupt-bak").exists()


def test_reading_an_older_index_names_the_command(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_older(path, 3)
    before, files = path.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(StorageError, match="older version") as refusal:
        Store.open(path, readonly=True)
    assert refusal.value.hint == "Run `code-intel sync`: it rebuilds the index."
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, files)


# Not with the standard library's sqlite3: two SQLites in one process undo each other's locks.
def make_newer(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as database:
        database.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize("journal", [True, False])
def test_a_newer_index_is_refused(tmp_path: Path, *, readonly: bool, journal: bool) -> None:
    path, beside = tmp_path / "x.db", tmp_path / "copies"
    Store.open(path).close()
    with closing(apsw.Connection(str(path))) as holder:
        make_newer(path)
        if journal:
            holder.execute("INSERT INTO meta VALUES ('kept', 'in the journal')")
        beside.mkdir()
        for file in tmp_path.glob("x.db*"):
            (beside / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in beside.iterdir() if "-shm" not in file.name}
    with pytest.raises(StorageError, match="newer version") as refusal:
        Store.open(beside / "x.db", readonly=readonly)
    assert refusal.value.error == NEWER_INDEX
    assert "Upgrade code-intel" in refusal.value.hint
    after = {file.name: file.read_bytes() for file in beside.iterdir()}
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if "-bak" in name]


def test_an_index_migrated_by_a_newer_program_is_not_written(
    store: Store,
) -> None:
    store.put_document(DocumentRow("a.py", "d"), parsed("login"))
    make_newer(store.path)
    with pytest.raises(StorageError, match="newer version"):
        store.put_document(DocumentRow("b.py", "d"), parsed("login"))
    with closing(apsw.Connection(str(store.path))) as database:
        database.execute("ALTER TABLE documents RENAME TO files")
    with pytest.raises(StorageError, match="newer version"):
        store.documents()
    with pytest.raises(StorageError, match="newer version"):
        store.repair()
    assert not list(store.path.parent.glob("*-bak*"))


def test_a_server_reports_a_newer_index_and_does_not_change_it(tmp_path: Path) -> None:
    place = config_of(tmp_path)
    Store.open(place.db_path).close()
    make_newer(place.db_path)
    before = place.db_path.read_bytes()
    with Index(place) as index:
        index.start()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: bool(status.problem), 120)
        freshness = index.freshness()
        assert freshness.state == "missing"
        (reason,) = freshness.degraded
        assert "newer version" in reason
        assert "Upgrade" in reason
        with pytest.raises(StorageError, match="newer version"):
            index.complete()
    assert place.db_path.read_bytes() == before
    assert not list(tmp_path.glob("*-bak*"))
