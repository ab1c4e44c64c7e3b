"""Processes that load or write a snapshot may die, meet each other, and meet a server's indexer."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from code_intel.index.lease import IndexerLease
from code_intel.index.snapshot import format as snapshots
from code_intel.index.snapshot import loading
from index.snapshot.clones import (
    FILES,
    clone,
    embedded_texts,
    index_of,
    load_into,
    repository,
    write,
)
from index.snapshot.dying_load import NEW, OLD, index_at

TESTS = Path(__file__).parents[2]
LONG = 60.0


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot with several parts."""
    monkeypatch.setattr(snapshots, "PART_BYTES", 100)
    file = tmp_path / "file.snapshot"
    write(repository(tmp_path / "origin"), file)
    return file


@pytest.fixture
def copy(snapshot: Path, tmp_path: Path) -> Path:
    """A fresh clone."""
    return clone(snapshot.with_name("origin"), tmp_path / "clone")


def ends_of(*words: Path | str) -> list[str]:
    """Return how the processes ended that died at one place after the other."""
    return subprocess.run(
        [sys.executable, TESTS / "index" / "snapshot" / "dying_load.py", *words],
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip


def test_a_killed_load_leaves_whole_files_and_another_load_completes_it(
    copy: Path, snapshot: Path
) -> None:
    ends = ends_of("load", copy, snapshot)
    assert ends[0] == "signal 9"
    assert ends[-1] == "done"
    assert len(ends) > 10
    counts = []
    for place in range(len(ends)):
        with index_at(copy, place) as index:
            assert index.store.check() == []
            counts.append(index.store.document_count())
            if place % 3 == 0:
                load_into(index, snapshot)
                index.complete()
                assert embedded_texts(index) == []
                assert index.store.check() == []
    assert counts == sorted(counts)
    assert {counts[0], counts[-1]} == {0, len(FILES) - 1}
    assert len(set(counts)) > 3


def test_a_killed_write_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "file.snapshot"
    ends = ends_of("write", file)
    found = [file.with_name(f"{file.name}.{place}").read_bytes() for place in range(len(ends))]
    assert set(found[:-1]) == {OLD, NEW}
    assert found == sorted(found, key=[OLD, NEW].index)


def test_several_loads_at_once_give_the_index_of_one(copy: Path, snapshot: Path) -> None:
    def one(_number: int) -> None:
        with index_of(copy) as index:
            load_into(index, snapshot)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))
    with index_of(copy) as index:
        assert index.store.document_count() == len(FILES) - 1
        assert index.store.check() == []
        assert set(load_into(index, snapshot).unused) == {loading.KNOWN}
        index.complete()
        assert embedded_texts(index) == []


def test_a_server_that_indexes_at_the_same_time_embeds_no_wrong_card(
    copy: Path, snapshot: Path
) -> None:
    with index_of(copy) as server, index_of(copy) as index:
        server.start()
        assert server.indexer is not None
        load_into(index, snapshot)
        server.request_scan()
        assert server.indexer.wait(lambda status: status.scans > 0, LONG)
        server.close()
        index.complete()
        assert index.store.check() == []
        assert index.store.pending_count() == 0
        with index_of(snapshot.with_name("origin")) as origin:
            assert vectors(index.store) == vectors(origin.store)


def vectors(store: object) -> dict[tuple[str, int], list[float]]:
    from code_intel.index.store import Store

    assert isinstance(store, Store)
    rows = store.chunks_of(row.path for row in store.documents())
    found = store.generations.vectors_of(row.id for row in rows)
    return {(row.path, row.position): found[row.id].tolist() for row in rows}


def test_a_load_gives_the_lease_back_and_does_without_it(copy: Path, snapshot: Path) -> None:
    with index_of(copy) as index:
        other = IndexerLease(index.config.db_path)
        index.store  # noqa: B018 - creates the folder
        assert other.acquire()
        assert load_into(index, snapshot).used == len(FILES) - 1
        other.release()
        load_into(index, snapshot)
        assert other.is_free()
