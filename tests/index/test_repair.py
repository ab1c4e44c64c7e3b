import random
import shutil
from contextlib import closing
from pathlib import Path
from threading import Event

import apsw
import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index import lease
from code_intel.index.database import DAMAGED
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.indexer import Indexer
from code_intel.index.lease import IndexerLease
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from index.samples import HashEmbedder, index_config, parsed, unit_vector
from sampling import sampled

FILES = 60
SIZE = 384
PAGE = 8192
LONG = 120.0
PAGES = [0, 1, 3, 8, 20, 37, 60, 62, -10]
"""The first of eight pages that are overwritten."""


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("p")
    for number in range(FILES):
        functions = "\n\n".join(
            f"def login_{number}_{i}():\n    return {'x y z ' * 50!r}" for i in range(6)
        )
        (folder / f"f{number}.py").write_text(functions + "\n", encoding="utf-8")
    config = index_config(folder, db_path=folder.parent / "intact.db", dimensions=SIZE)
    with Index(config, embedder=HashEmbedder(dimensions=SIZE)) as index:
        index.complete()
        assert index.store.pending_count() == 0
    data = config.db_path.read_bytes()
    assert len(data) > 75 * PAGE
    return folder, data


def damage(data: bytes, page: int) -> bytes:
    spoiled = bytearray(data)
    start = page * PAGE % len(data)
    noise = random.Random(page).randbytes(min(8 * PAGE, len(data) - start))
    spoiled[start : start + len(noise)] = noise
    return bytes(spoiled)


def config_of_copy(tmp_path: Path, intact: tuple[Path, bytes]) -> IndexConfig:
    """Return the configuration of a copy of the intact index."""
    config = index_config(intact[0], db_path=tmp_path / "x.db", dimensions=SIZE)
    config.db_path.write_bytes(intact[1])
    return config


def damaged_config(tmp_path: Path, intact: tuple[Path, bytes], page: int) -> IndexConfig:
    """Return the configuration of a copy of the index that is damaged at a page."""
    config = config_of_copy(tmp_path, intact)
    config.db_path.write_bytes(damage(intact[1], page))
    return config


def answers(index: Index) -> bool:
    store = index.store
    return (
        len(store.vector_hits(unit_vector("q", SIZE), 5)) == 5
        and len(store.word_hits(["login_3_3"], "body", 5)) > 0
        and len(store.documents()) == FILES
    )


@pytest.mark.parametrize("page", sampled(PAGES, 0, 20, -10))
def test_complete_rebuilds_damage(tmp_path: Path, intact: tuple[Path, bytes], page: int) -> None:
    config = damaged_config(tmp_path, intact, page)
    (tmp_path / "x.db.lock").touch()  # shows that the file outside the project was an index
    with Index(config, embedder=HashEmbedder(dimensions=SIZE)) as index:
        index.complete()
        assert answers(index)
        assert index.store.check() == []
    assert (tmp_path / "x.db.corrupt-bak").read_bytes() == damage(intact[1], page)


def test_a_truncated_file_is_rebuilt(tmp_path: Path, intact: tuple[Path, bytes]) -> None:
    folder, data = intact
    config = index_config(folder, db_path=tmp_path / "x.db", dimensions=SIZE)
    config.db_path.write_bytes(data[: len(data) // 2])
    with Index(config, embedder=HashEmbedder(dimensions=SIZE)) as index:
        report = index.complete()
        assert answers(index)
    assert (tmp_path / "x.db.corrupt-bak").exists()
    assert report.added == FILES


@pytest.mark.parametrize("page", PAGES)
def test_reading_damage_changes_nothing(
    tmp_path: Path, intact: tuple[Path, bytes], page: int
) -> None:
    config = damaged_config(tmp_path, intact, page)
    with Index(config, readonly=True, command="code-intel sync here") as index:
        with pytest.raises(StorageError) as refusal:
            answers(index)
        index.freshness()
    errors = [finding for finding in examine(config) if finding.level == "error"]
    assert refusal.value.error == DAMAGED
    assert "`code-intel sync here`" in refusal.value.hint
    assert len(errors) == 1
    assert "\n" not in errors[0].what
    assert list(tmp_path.iterdir()) == [config.db_path]
    assert config.db_path.read_bytes() == damage(intact[1], page)


@pytest.mark.parametrize("page", sampled([3, 20, 60, 62], 20))
def test_the_indexer_rebuilds_damage(tmp_path: Path, intact: tuple[Path, bytes], page: int) -> None:
    config = config_of_copy(tmp_path, intact)
    embedder = HashEmbedder(dimensions=SIZE)
    with Index(config, embedder=embedder) as index:
        index.indexer = Indexer(config, embedder=embedder, interval=10 * LONG)
        index.indexer.start()
        assert index.indexer.wait(lambda status: status.turns > 0, LONG)
        overwrite(config.db_path, damage(intact[1], page))
        with pytest.raises(StorageError) as refusal:
            answers(index)
        assert refusal.value.error == DAMAGED
        assert "being rebuilt" in refusal.value.hint
        assert index.indexer.wait(lambda status: status.report.added == FILES, LONG)
        assert index.indexer.wait(lambda _: answers(index), LONG)


def test_the_lease_holder_repairs_for_others(tmp_path: Path, intact: tuple[Path, bytes]) -> None:
    config = config_of_copy(tmp_path, intact)
    embedder = HashEmbedder(dimensions=SIZE)
    with Index(config, embedder=embedder) as leader, Index(config, embedder=embedder) as follower:
        leader.start()
        assert leader.indexer is not None
        assert leader.indexer.wait(lambda status: status.turns > 0, LONG)
        follower.start()
        assert follower.indexer is not None
        assert follower.indexer.wait(lambda status: status.turns > 0, LONG)
        assert not follower.indexer.status.leading
        overwrite(config.db_path, damage(intact[1], 20))
        with pytest.raises(StorageError, match="damaged"):
            answers(follower)
        assert leader.indexer.wait(lambda status: status.report.added == FILES, LONG)
        assert leader.indexer.wait(lambda _: answers(follower), LONG)


def test_cached_pages_do_not_hide_damage_from_a_repair(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    for number in range(20):
        (tmp_path / "p" / f"f{number}.py").write_text("def login(): pass\n", encoding="utf-8")
    config = index_config(tmp_path / "p", db_path=tmp_path / "x.db", dimensions=SIZE)
    with Store.open(config.db_path, dimensions=SIZE) as store:
        sync(store, config)
    size = config.db_path.stat().st_size
    with Store.open(config.db_path, dimensions=SIZE) as store:
        assert store.check() == []
        overwrite(config.db_path, random.Random(1).randbytes(size - 2 * PAGE), 2 * PAGE)
        assert store.check() == []
        assert store.repair()
        assert store.document_count() == 0


def test_complete_leaves_repair_to_the_holder(tmp_path: Path, intact: tuple[Path, bytes]) -> None:
    config = damaged_config(tmp_path, intact, 20)
    lease = IndexerLease(config.db_path)
    assert lease.acquire()
    with Index(config) as index:
        index.complete(words_only=True)
    assert lease.damage_reported()
    assert not (tmp_path / "x.db.corrupt-bak").exists()
    lease.release()


def test_invalid_utf8_is_damage(tmp_path: Path, intact: tuple[Path, bytes]) -> None:
    folder, data = intact
    config = index_config(folder, db_path=tmp_path / "x.db", dimensions=SIZE)
    config.db_path.write_bytes(data.replace(b"x y z x y z", b"\xff y z x y z"))
    with Store.open(config.db_path, dimensions=SIZE) as store:
        with pytest.raises(StorageError, match="damaged"):
            store.chunk_rows(range(1, 500))
        assert store.repair()
        assert store.check() == []


def test_complete_embeds_when_the_lease_is_free(tmp_path: Path, intact: tuple[Path, bytes]) -> None:
    folder, _ = intact
    config = index_config(folder, db_path=tmp_path / "x.db", dimensions=SIZE)
    lease, waiting = IndexerLease(config.db_path), Event()
    assert lease.acquire()

    def progress(_done: int, _total: int) -> None:
        if waiting.is_set():
            lease.release()

    with Index(config, embedder=HashEmbedder(dimensions=SIZE)) as index:
        index.complete(words_only=True)
        waiting.set()
        index.complete(progress=progress)
        assert index.store.pending_count() == 0


def overwrite(path: Path, data: bytes, offset: int = 0) -> None:
    """Change the bytes of a file that is open."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


JOURNALS = {
    "a copy of the file without its journal": ("new", None),
    "a journal of an earlier time": ("new", "old"),
    "a file of an earlier time": ("old", "new"),
    "a journal alone": (None, "new"),
}


@pytest.mark.parametrize("case", JOURNALS)
def test_a_journal_of_another_file_is_repaired(tmp_path: Path, case: str) -> None:
    path = tmp_path / "x.db"
    with Store.open(path, dimensions=SIZE) as store:
        for age, model in (("old", "one"), ("new", "two")):
            for number in range(20):
                parts = parsed(*(f"{age} {number} {place}" for place in range(5)))
                store.put_document(DocumentRow(f"{age}{number}.py", "d"), parts)
            embed_pending(store, HashEmbedder(model, dimensions=SIZE), None)
            shutil.copy(f"{path}-wal", tmp_path / f"{age}-wal")
            with closing(apsw.Connection(str(path))) as other:
                other.execute("PRAGMA wal_checkpoint").fetchall()
            shutil.copy(path, tmp_path / age)
    place = tmp_path / "mixed.db"
    for when, suffix in zip(JOURNALS[case], ("", "-wal"), strict=True):
        if when is not None:
            shutil.copy(tmp_path / f"{when}{suffix}", f"{place}{suffix}")
    with Store.open(place, dimensions=SIZE) as store:
        store.repair()
        assert store.check() == []
        embed_pending(store, HashEmbedder("two", dimensions=SIZE), None)
        assert store.pending_count() == 0
        assert store.check() == []


def checks(config: IndexConfig, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often `complete` checks the whole database."""
    counted: list[Store] = []
    check = Store.check

    def counting(store: Store) -> list[str]:
        counted.append(store)
        return check(store)

    with monkeypatch.context() as patch, Index(config) as index:
        patch.setattr(Store, "check", counting)
        index.complete(words_only=True)
    return len(counted)


def test_the_whole_database_is_checked_once_a_day_and_start(
    tmp_path: Path, intact: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of_copy(tmp_path, intact)
    (tmp_path / "x.db.lock").touch()
    assert [checks(config, monkeypatch) for _ in range(2)] == [1, 0]
    shutil.copy(config.db_path, tmp_path / "copy")
    shutil.move(tmp_path / "copy", config.db_path)  # another file
    assert [checks(config, monkeypatch) for _ in range(2)] == [1, 0]
    boot = tmp_path / "boot_id"
    boot.write_text("another start\n", encoding="ascii")
    monkeypatch.setattr(lease, "BOOT_ID", boot)
    assert [checks(config, monkeypatch) for _ in range(2)] == [1, 0]
    monkeypatch.setattr(lease, "CHECK_INTERVAL_S", 0.0)
    assert checks(config, monkeypatch) == 1


@pytest.mark.parametrize("reader", ["a search", "doctor"])
def test_damage_that_a_reader_finds_is_repaired_although_the_file_was_checked(
    tmp_path: Path, intact: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    config = config_of_copy(tmp_path, intact)
    (tmp_path / "x.db.lock").touch()
    assert checks(config, monkeypatch) == 1
    overwrite(config.db_path, damage(intact[1], 20))
    if reader == "doctor":
        assert [finding for finding in examine(config) if finding.level == "error"]
    else:
        with Index(config, readonly=True) as index, pytest.raises(StorageError):
            answers(index)
    with Index(config, embedder=HashEmbedder(dimensions=SIZE)) as index:
        index.complete()
        assert answers(index)
        assert index.store.check() == []


def test_damage_that_a_sync_finds_is_repaired_in_the_same_call(
    tmp_path: Path, intact: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of_copy(tmp_path, intact)
    (tmp_path / "x.db.lock").touch()
    assert checks(config, monkeypatch) == 1
    overwrite(config.db_path, random.Random(1).randbytes(len(intact[1]) - 2 * PAGE), 2 * PAGE)
    with Index(config) as index:
        assert index.complete(words_only=True).added == FILES
        assert index.store.check() == []
