import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import EmbeddingError
from code_intel.index.facade import Index
from code_intel.index.indexer import Activity, Indexer
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from index.samples import DIMENSIONS, HashEmbedder, index_config
from sampling import sampled

LONG = 120.0
"""Seconds after which a test gives up waiting; nothing takes that long."""


def project(tmp_path: Path, files: int = 3) -> IndexConfig:
    folder = tmp_path / "p"
    folder.mkdir()
    for number in range(files):
        (folder / f"f{number}.py").write_text(f"def f{number}(): pass\n", encoding="utf-8")
    return index_config(folder)


@contextmanager
def running(config: IndexConfig, embedder: HashEmbedder | None = None) -> Iterator[Indexer]:
    indexer = Indexer(config, embedder=embedder, interval=0.05)
    indexer.start()
    try:
        yield indexer
    finally:
        indexer.stop()


def documents(config: IndexConfig) -> int:
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        return store.document_count()


def test_the_indexer_indexes_and_embeds_changes_in_the_background(tmp_path: Path) -> None:
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


def test_one_of_two_indexers_leads_and_the_other_takes_over(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("failing", [False, True])
def test_stopping_does_not_wait_for_a_slow_embedding_or_log_its_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, failing: bool
) -> None:
    entered, release, left = Event(), Event(), Event()

    def slow(_text: str, _row: object) -> None:
        entered.set()
        assert release.wait(LONG)
        left.set()
        if failing:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    config = project(tmp_path)
    with running(config, HashEmbedder(spoil=slow)) as indexer:
        assert entered.wait(LONG)
        indexer.stop()
        assert not left.is_set()
        release.set()
        assert left.wait(LONG)
    assert caplog.records == []
    assert documents(config) == 3


def test_without_a_model_words_are_indexed_with_a_note(tmp_path: Path) -> None:
    def missing(_text: str, _row: object) -> None:
        raise EmbeddingError("There is no model.")

    config = project(tmp_path)
    with running(config, HashEmbedder(spoil=missing)) as indexer:
        assert indexer.wait(lambda status: bool(status.degraded), LONG)
        assert indexer.status.degraded == "embedding: There is no model."
        assert documents(config) == 3


def test_a_project_that_disappears_and_returns_keeps_its_index(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        config.folder.rename(tmp_path / "away")
        assert indexer.wait(lambda status: "is missing" in status.problem, LONG)
        assert documents(config) == 3
        (tmp_path / "away").rename(config.folder)
        assert indexer.wait(lambda status: not status.problem, LONG)


def test_a_damaged_database_is_rebuilt_by_the_lease_holder(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("seed", sampled(range(6), 0, 1))
def test_a_process_killed_at_any_moment_leaves_an_intact_index(tmp_path: Path, seed: int) -> None:
    config = project(tmp_path, files=40)
    dice = random.Random(seed)
    with indexing(config) as child:
        read_lines(child, dice.randrange(1, 30))
        Event().wait(dice.random() * 0.02)
    assert documents(config) in {0, 40}
    assert_completes(config)


def test_two_processes_index_one_project(tmp_path: Path) -> None:
    config = project(tmp_path, files=40)
    with indexing(config) as one, indexing(config) as other:
        for _ in range(15):
            read_lines(one, 1)
            read_lines(other, 1)
    assert_completes(config)


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


def assert_completes(config: IndexConfig) -> None:
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        sync(store, config)
        embed_pending(store, HashEmbedder("last"), None)
        assert store.document_count() == 40
        assert (store.model(), store.pending_count()) == ("last", 0)
        assert store.check() == []
        assert not sync(store, config).changed


def test_a_working_indexer_updates_its_heartbeat(tmp_path: Path) -> None:
    config = project(tmp_path)
    with running(config) as indexer:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        (holder,) = tmp_path.glob("*.indexer.json")
        os.utime(holder, (0, 0))
        assert indexer.wait(lambda _: holder.stat().st_mtime > 0, LONG)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_scan_pauses_for_requests_unless_they_wait_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    monkeypatch.setattr("code_intel.index.indexer.PAUSE_S", 0.02)
    monkeypatch.setattr("code_intel.index.indexer.MAX_PAUSE_S", 0.1)
    activity, pauses = Activity(), list[float]()
    other = Indexer(index_config(tmp_path, corpus="map"), activity=activity)
    pause = Indexer._pause_for_requests  # noqa: SLF001 - called before each file

    def pause_after_a_request(self: Indexer) -> None:
        other.request()
        before = time.monotonic()
        pause(self)
        pauses.append(time.monotonic() - before)

    monkeypatch.setattr(Indexer, "_pause_for_requests", pause_after_a_request)
    config = project(tmp_path, files=40)
    with Index(config, activity=activity) as index:
        if not is_first:
            index.complete(words_only=True)
            pauses.clear()
            for number in range(40, 80):
                (config.folder / f"f{number}.py").write_text("def f(): pass\n", encoding="utf-8")
        index.start()
        assert index.indexer is not None
        files = 40 if is_first else 80
        assert index.indexer.wait(
            lambda status: status.scans > 0 and index.freshness().files == files, LONG
        )
    long_pauses = sum(seconds >= 0.018 for seconds in pauses)
    assert long_pauses == 0 if is_first else 3 <= long_pauses <= 15
    assert len(pauses) >= 40
