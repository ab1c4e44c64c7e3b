"""An index of an earlier version is brought up to date; one of a later version is left alone."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index import schema
from code_intel.index.database import NEWER
from code_intel.index.facade import Index
from code_intel.index.migration import MIGRATIONS, copies
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index import version_1
from index.samples import DIMENSIONS, chunks_of, parsed, unit_vector

ROOT = Path(__file__).resolve().parents[2]
CUT_SHORT = """
import os, signal, sys
from pathlib import Path
from code_intel.index.facade import Index
from code_intel.index.migration import migrate
from code_intel.index.opening import _connection, immediate
path = Path(sys.argv[1])
connection = _connection(path)
with immediate(connection):
    migrate(connection, path)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def dump(path: Path) -> list[str]:
    with closing(apsw.Connection(str(path))) as database:
        plain = ("documents", "chunks", "symbols", "imports", "meta", "vectors_rowids")
        rows = [
            str(row)
            for name in plain
            for row in database.execute(f"SELECT * FROM {name}")  # noqa: S608 - constants
        ]
        return [*rows, str(database.pragma("user_version"))]


def shape(path: Path) -> dict[str, object]:
    """Return every table with its columns and every index with its own, save the vectors' tables."""
    with closing(apsw.Connection(str(path))) as database:
        names = database.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {
            f"{kind} {name}": database.execute(
                f"PRAGMA {'table_xinfo' if kind == 'table' else 'index_xinfo'}({name})"
            ).fetchall()
            for kind, name in names
            if not str(name).startswith(("vectors", "sqlite_autoindex_vectors", "words"))
        }


def test_every_earlier_version_has_a_way_to_this_one() -> None:
    assert sorted(MIGRATIONS) == list(range(1, schema.VERSION))


def test_an_index_of_version_1_keeps_its_documents_and_its_vectors(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    version_1.make(path)
    with Store.open(path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        assert [row.path for row in store.documents()] == ["a.py", "docs/b.md"]
        assert [row.text for row in chunks_of(store, "a.py")] == ["def login", "poison", "}"]
        assert [chunk for chunk, _ in store.word_hits(["login"], "body", 9)] == [1, 7]
        assert [found.file for found in store.definitions("login", exact=True, limit=2)] == ["a.py"]
        assert store.get_meta("scanned_ns") == "77"
        assert store.model() == "m"
        ((chunk, cosine),) = store.vector_hits(unit_vector("login"), 9)
        assert chunk == 1
        assert cosine == pytest.approx(1, abs=1e-5)
        assert store.pending(9) == [(7, "card of about")]
        refused = store.generations.refused(store.generations.newest())
        assert refused == [("a.py", 1, "the model gives no vector")]
        store.put_document(DocumentRow("a.py", "e"), parsed("new"))
        assert store.check() == []


def test_what_is_migrated_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    version_1.make(tmp_path / "old.db")
    for name in ("old.db", "new.db"):
        Store.open(tmp_path / name).close()
    assert shape(tmp_path / "old.db") == shape(tmp_path / "new.db")


def test_without_a_model_every_card_waits(tmp_path: Path) -> None:
    version_1.make(tmp_path / "x.db", model="")
    with Store.open(tmp_path / "x.db") as store:
        assert (store.model(), store.pending_count()) == (None, 3)
        assert store.check() == []


def test_the_file_as_it_was_is_kept_beside_it_until_vacuum(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    version_1.make(path)
    before = dump(path)
    with Store.open(path) as store:
        assert dump(tmp_path / "x.db.v1-bak") == before
        assert copies(path) == [tmp_path / "x.db.v1-bak"]
        store.vacuum()
    assert copies(path) == []


def test_a_process_killed_while_it_migrates_leaves_the_old_index_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    version_1.make(path)
    before = dump(path)
    killed = subprocess.run([sys.executable, "-c", CUT_SHORT, path], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert dump(path) == before
    with Store.open(path, dimensions=DIMENSIONS) as store:
        assert store.vector_hits(unit_vector("login"), 1)[0][0] == 1
        assert store.check() == []


def test_a_damaged_index_of_version_1_is_set_aside_and_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    version_1.make(path)
    with closing(apsw.Connection(str(path))) as database, database:
        database.execute("DROP TABLE vectors_chunks")
    with Store.open(path) as store:
        assert store.documents() == []
        assert store.check() == []
    assert (tmp_path / "x.db.corrupt-bak").exists()


def test_reading_does_not_migrate_and_says_what_does(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    version_1.make(path)
    before, there = path.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(StorageError, match="older version") as refusal:
        Store.open(path, readonly=True)
    assert "`code-intel sync`: it brings the index up to date" in refusal.value.hint
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, there)


# Not with the standard library's sqlite3: two SQLites in one process undo each other's locks.
def newer(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as database:
        database.execute(f"PRAGMA user_version = {schema.VERSION + 1}")


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize("journal", [True, False])
def test_a_newer_index_is_refused_and_not_one_byte_of_it_changes(
    tmp_path: Path, *, readonly: bool, journal: bool
) -> None:
    path, beside = tmp_path / "x.db", tmp_path / "copies"
    Store.open(path).close()
    with closing(apsw.Connection(str(path))) as holder:
        newer(path)
        if journal:
            holder.execute("INSERT INTO meta VALUES ('kept', 'in the journal')")
        beside.mkdir()
        for file in tmp_path.glob("x.db*"):
            (beside / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in beside.iterdir() if "-shm" not in file.name}
    with pytest.raises(StorageError, match="newer version") as refusal:
        Store.open(beside / "x.db", readonly=readonly)
    assert refusal.value.error == NEWER
    assert "Upgrade code-intel" in refusal.value.hint
    after = {file.name: file.read_bytes() for file in beside.iterdir()}
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if "-bak" in name]


def test_an_index_that_a_newer_program_migrates_meanwhile_is_not_written_any_more(
    store: Store,
) -> None:
    store.put_document(DocumentRow("a.py", "d"), parsed("login"))
    newer(store.path)
    with pytest.raises(StorageError, match="newer version"):
        store.put_document(DocumentRow("b.py", "d"), parsed("login"))
    with closing(apsw.Connection(str(store.path))) as database:
        database.execute("ALTER TABLE documents RENAME TO files")
    with pytest.raises(StorageError, match="newer version"):
        store.documents()
    with pytest.raises(StorageError, match="newer version"):
        store.mend()
    assert not list(store.path.parent.glob("*-bak*"))


def test_beside_a_newer_index_a_server_says_so_and_leaves_it(tmp_path: Path) -> None:
    place = IndexConfig(
        path=tmp_path / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=tmp_path / "x.db",
    )
    Store.open(place.db_path).close()
    newer(place.db_path)
    before = place.db_path.read_bytes()
    with Index(place) as index:
        index.start()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: bool(status.problem), 120)
        said = index.freshness()
        assert said.state == "missing"
        (reason,) = said.degraded
        assert "newer version" in reason
        assert "Upgrade" in reason
        with pytest.raises(StorageError, match="newer version"):
            index.complete()
    assert place.db_path.read_bytes() == before
    assert not list(tmp_path.glob("*-bak*"))
