import os
import random
import sqlite3
from pathlib import Path
from threading import Thread, Timer

import apsw
import pytest

from code_intel.errors import CodeIntelError, StorageError
from code_intel.index.database import DAMAGED, Database
from code_intel.index.opening import UNUSABLE
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import DIMENSIONS, parsed, put_vectors, unit_vector
from sampling import sampled


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE recipes(id)")
    old.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all\n" * 500)


def broken_header(path: Path) -> None:
    Store.open(path, dimensions=DIMENSIONS).close()
    data = bytearray(path.read_bytes())
    data[:16] = b"\0" * 16
    path.write_bytes(data)


FOREIGN = [
    (foreign_database, "foreign"),
    (garbage, "corrupt"),
    (broken_header, "corrupt"),
]


@pytest.mark.parametrize(("make", "reason"), FOREIGN)
def test_a_foreign_file_is_set_aside(tmp_path: Path, make: "object", reason: str) -> None:
    path = tmp_path / "vectors.db"
    assert callable(make)
    make(path)
    before = path.read_bytes()
    with Store.open(path, dimensions=DIMENSIONS) as store:
        assert store.documents() == []
        assert store.check() == []
    assert (tmp_path / f"vectors.db.{reason}-bak").read_bytes() == before


@pytest.mark.parametrize(("make", "reason"), FOREIGN)
def test_reading_keeps_a_foreign_file(tmp_path: Path, make: "object", reason: str) -> None:
    path = tmp_path / "vectors.db"
    assert callable(make)
    make(path)
    before, there = path.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(StorageError, match=UNUSABLE[reason]) as refusal:
        Store.open(path, dimensions=DIMENSIONS, readonly=True)
    assert f"`code-intel sync`: it keeps the file as vectors.db.{reason}-bak" in refusal.value.hint
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == there


def test_the_first_copy_set_aside_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    for text in (b"first " * 99, b"second " * 99, b"third " * 99):
        path.write_bytes(text)
        Store.open(path, dimensions=DIMENSIONS).close()
    assert (tmp_path / "vectors.db.corrupt-bak").read_bytes() == b"first " * 99
    assert (tmp_path / "vectors.db.corrupt-bak2").read_bytes() == b"third " * 99


def test_an_empty_file_becomes_an_index(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    with Store.open(tmp_path / "x.db", dimensions=DIMENSIONS) as store:
        assert store.check() == []
    assert not list(tmp_path.glob("*-bak*"))


def test_a_folder_in_the_place_of_the_database_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Store.open(tmp_path, dimensions=DIMENSIONS)


@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_a_replaced_or_deleted_file_is_opened_again(tmp_path: Path, way: str) -> None:
    path = tmp_path / "x.db"
    with Store.open(path, dimensions=DIMENSIONS) as store:
        store.put_document(DocumentRow("old.py", "d"), parsed("old"))
        for file in tmp_path.glob("x.db*"):
            file.rename(file.with_name(f"gone-{file.name}"))
        if way == "replaced":
            with Store.open(path, dimensions=DIMENSIONS) as other:
                other.put_document(DocumentRow("new.py", "d"), parsed("new"))
        assert [row.path for row in store.documents()] == (["new.py"] if way == "replaced" else [])
        assert store.check() == []


@pytest.mark.parametrize("seed", sampled(range(25), step=6))
def test_a_damaged_page_is_a_storage_error_and_repaired(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "x.db"
    with Store.open(path, dimensions=DIMENSIONS) as store:
        for number in range(40):
            name = f"{number}.py"
            store.put_document(
                DocumentRow(name, "d"), parsed(*[f"login {number} {i}" for i in range(9)])
            )
    dice = random.Random(seed)
    data = bytearray(path.read_bytes())
    page = dice.randrange(len(data) // 4096) * 4096
    data[page : page + 4096] = dice.randbytes(4096)
    path.write_bytes(data)
    with Store.open(path, dimensions=DIMENSIONS) as store:
        damaged = is_damaged(store)
        assert bool(store.repair()) is damaged
        assert store.check() == []
        store.put_document(DocumentRow("new.py", "d"), parsed("login"))
        assert store.word_hits(["login"], "body", 1)


def is_damaged(store: Store) -> bool:
    try:
        store.word_hits(["login"], "body", 10)
        store.documents()
        return bool(store.check())
    except CodeIntelError as error:
        return error.error == DAMAGED


def test_every_broken_invariant_is_named(store: Store) -> None:
    store.put_document(DocumentRow("a.py", "d"), parsed("one", "two"))
    put_vectors(store, [(1, unit_vector("one"))], identity="m")
    connection = apsw.Connection(os.fspath(store.path))
    connection.execute("DELETE FROM documents")
    connection.execute("DELETE FROM words WHERE rowid = 1")
    connection.execute("UPDATE passages SET state = 2 WHERE chunk = 2")
    connection.close()
    assert store.check() == [
        "chunks without a document: 2",
        "chunks without words: 1",
        "cards in state `embedded` without a vector: 1",
    ]


def test_concurrent_opens_create_one_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"garbage " * 999)
    stores: list[Store] = []
    threads = [
        Thread(target=lambda: stores.append(Store.open(tmp_path / "x.db", dimensions=DIMENSIONS)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores[0].put_document(DocumentRow("a.py", "d"), parsed("login"))
    assert [store.document_count() for store in stores] == [1] * 8
    assert len(list(tmp_path.glob("*-bak*"))) == 1
    for store in stores:
        store.close()


def test_reading_waits_for_the_recovery_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    Store.open(path, dimensions=DIMENSIONS).close()
    other = apsw.Connection(str(path))
    other.pragma("locking_mode", "exclusive")
    other.execute("UPDATE meta SET value = value")
    assert path.with_name("index.db-wal").exists()
    done = Timer(0.3, other.close)
    done.start()
    store = Store(Database(path, readonly=True), dimensions=DIMENSIONS)
    assert store.document_count() == 0
    store.close()
    done.join()
