import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import EmbeddingError
from code_intel.index.indexer import Indexer
from code_intel.index.lease import IndexerLease
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from index.samples import DIMENSIONS, HashEmbedder

LONG = 120.0
"""Seconds after which a test gives up waiting; nothing takes that long."""


def project(tmp_path: Path, files: int = 3) -> IndexConfig:
    folder = tmp_path / "p"
    folder.mkdir()
    for number in range(files):
        (folder / f"f{number}.py").write_text(f"def f{number}(): pass\n", encoding="utf-8")
    return IndexConfig(
        path=folder / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=tmp_path / "forest.db",
        dimensions=DIMENSIONS,
    )


@contextmanager
def running(config: IndexConfig, embedder: HashEmbedder | None = None) -> Iterator[Indexer]:
    indexer = Indexer(config, embedder=embedder, every=0.05)
    indexer.start()
    try:
        yield indexer
    finally:
        indexer.stop()


def watches() -> Iterator[str]:
    """What this process has open to watch files with; what reads agreements has some."""
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if "inotify" in str(file.readlink()):
                yield file.name


def documents(config: IndexConfig) -> int:
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        return store.document_count()


def test_it_indexes_and_embeds_in_the_background_and_sees_changes(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config, HashEmbedder()) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        (config.folder / "new.py").write_text("def new(): pass\n", encoding="utf-8")
        assert indexer.wait(lambda _: documents(config) == 4, LONG)
        after = indexer.status.scans
        assert indexer.wait(lambda status: status.scans > after + 1, LONG)
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.document_count() == 4
        assert store.pending_count() == 0
        assert store.check() == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process watches")
def test_a_hundred_changes_at_once_are_seen_without_a_watch_that_could_overflow(
    tmp_path: Path,
) -> None:
    config, before = project(tmp_path), set(watches())
    with running(config, HashEmbedder()) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        assert set(watches()) <= before
        for number in range(100):
            (config.folder / f"new{number}.py").write_text("def new(): pass\n", encoding="utf-8")
        after = indexer.status.scans
        assert indexer.wait(lambda status: status.scans > after + 2, LONG)
    assert documents(config) == 103


def test_one_of_two_leads_and_the_other_takes_over(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as one, running(config) as other:
        assert one.wait(lambda _: one.status.leading or other.status.leading, LONG)
        leader, follower = (one, other) if one.status.leading else (other, one)
        assert leader.wait(lambda status: status.scans > 0, LONG)
        assert not follower.status.leading
        assert follower.lease.holder() == os.getpid()
        leader.stop()
        follower.request()
        assert follower.wait(lambda status: status.leading, LONG)


def test_the_holder_of_the_role_is_named_and_a_dead_one_is_not(tmp_path: Path) -> None:
    role, other = IndexerLease(tmp_path / "x.db"), IndexerLease(tmp_path / "x.db")
    assert other.holder() is None
    assert list(tmp_path.iterdir()) == []
    assert role.acquire()
    assert role.acquire()
    assert not other.acquire()
    assert other.holder() == os.getpid()
    role.release()
    assert other.holder() is None
    (tmp_path / "x.db.indexer.json").write_text('{"pid": 1}', encoding="utf-8")
    assert other.holder() is None
    assert other.acquire()
    other.release()


def test_stopping_does_not_wait_for_a_slow_embedding(tmp_path: Path) -> None:
    entered, release, left = Event(), Event(), Event()

    def slow(_text: str, _row: object) -> None:
        entered.set()
        assert release.wait(LONG)
        left.set()

    config = project(tmp_path)
    with running(config, HashEmbedder(spoil=slow)) as indexer:
        assert entered.wait(LONG)
        indexer.stop()
        assert not left.is_set()
        release.set()
        assert left.wait(LONG)
    assert documents(config) == 3


def test_what_fails_because_it_was_stopped_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entered, release, left = Event(), Event(), Event()

    def taken_away(_text: str, _row: object) -> None:
        entered.set()
        assert release.wait(LONG)
        left.set()
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    with running(project(tmp_path), HashEmbedder(spoil=taken_away)) as indexer:
        assert entered.wait(LONG)
        indexer.stop()
        release.set()
        assert left.wait(LONG)
    assert caplog.records == []


def test_without_a_model_words_are_indexed_and_the_reason_is_kept(tmp_path: Path) -> None:
    def missing(_text: str, _row: object) -> None:
        raise EmbeddingError("There is no model.")

    config = project(tmp_path)
    with running(config, HashEmbedder(spoil=missing)) as indexer:
        assert indexer.wait(lambda status: bool(status.degraded), LONG)
        assert indexer.status.degraded == "embedding: There is no model."
        assert documents(config) == 3


def test_a_project_that_disappears_keeps_its_index_and_comes_back(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        config.folder.rename(tmp_path / "away")
        assert indexer.wait(lambda status: "is missing" in status.problem, LONG)
        assert documents(config) == 3
        (tmp_path / "away").rename(config.folder)
        assert indexer.wait(lambda status: not status.problem, LONG)


def test_a_damaged_database_is_rebuilt_by_whoever_gets_the_role(tmp_path: Path) -> None:
    config = project(tmp_path, files=60)
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        sync(store, config)
    data = bytearray(config.db_path.read_bytes())
    dice = random.Random(1)
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = dice.randbytes(200)
    config.db_path.write_bytes(data)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
    assert documents(config) == 60
    assert config.db_path.with_name("forest.db.corrupt-bak").read_bytes() == bytes(data)


def test_a_database_deleted_under_the_indexer_is_built_again(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 1, LONG)
        for file in tmp_path.glob("forest.db*"):
            if "indexer" not in file.name:
                file.unlink()
        assert indexer.wait(lambda _: config.db_path.exists(), LONG)
        after = indexer.status.scans
        assert indexer.wait(lambda status: status.scans > after + 1, LONG)
    assert documents(config) == 3


@pytest.mark.parametrize("seed", range(6))
def test_a_process_killed_at_any_moment_leaves_a_sound_index(tmp_path: Path, seed: int) -> None:
    config = project(tmp_path, files=40)
    dice = random.Random(seed)
    with indexing(config) as child:
        read_lines(child, dice.randrange(1, 30))
        Event().wait(dice.random() * 0.02)
    assert documents(config) in {0, 40}
    settles(config)


def test_two_processes_may_index_one_project_at_once(tmp_path: Path) -> None:
    config = project(tmp_path, files=40)
    with indexing(config) as one, indexing(config) as other:
        for _ in range(15):
            read_lines(one, 1)
            read_lines(other, 1)
    settles(config)


@contextmanager
def indexing(config: IndexConfig) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that changes and indexes the project all the time; it is killed at the end."""
    here = Path(__file__).parents[1]
    child = subprocess.Popen(
        [sys.executable, here / "index/indexing_process.py", config.folder, config.db_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{here.parent}{os.pathsep}{here}"},
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate(timeout=LONG)


def read_lines(child: "subprocess.Popen[bytes]", count: int) -> None:
    assert child.stdout is not None
    for _ in range(count):
        assert child.stdout.readline()


def settles(config: IndexConfig) -> None:
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        sync(store, config)
        embed_pending(store, HashEmbedder("last"), None)
        assert store.document_count() == 40
        assert (store.model(), store.pending_count()) == ("last", 0)
        assert store.check() == []
        assert not sync(store, config).changed


def test_who_leads_is_heard_of_while_it_works(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        (holder,) = tmp_path.glob("*.indexer.json")
        os.utime(holder, (0, 0))
        assert indexer.wait(lambda _: holder.stat().st_mtime > 0, LONG)
