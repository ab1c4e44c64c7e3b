"""Test the lease of the indexer, and the notes about a holder without a heartbeat."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from index.samples import index_config

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from code_intel.index.lease import IndexerLease
lease = IndexerLease(Path(sys.argv[1]), interval=0)
assert lease.acquire()
print("leading", flush=True)
for _ in sys.stdin:
    lease.heartbeat()
    print("beat", flush=True)
"""
MINUTES = 180.0


@pytest.fixture
def config(tmp_path: Path) -> IndexConfig:
    (tmp_path / "a.py").write_text("def a(): pass\n", encoding="utf-8")
    config = index_config(tmp_path, db_path=tmp_path / "db" / "forest.db")
    with Index(config) as index:
        index.complete()
    return config


@contextmanager
def leading(config: IndexConfig) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDER, str(config.db_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as leader:
        try:
            assert leader.stdout is not None
            assert leader.stdout.readline() == "leading\n"
            yield leader
        finally:
            leader.kill()


def age_heartbeat(config: IndexConfig, seconds: float) -> None:
    (holder,) = config.db_path.parent.glob("*.indexer.json")
    when = holder.stat().st_mtime - seconds
    os.utime(holder, (when, when))


@pytest.mark.skipif(os.name == "nt", reason="stops a process by a signal")
def test_an_index_is_stale_if_its_indexer_hangs_and_names_the_process(
    config: IndexConfig,
) -> None:
    with leading(config) as leader, Index(config, readonly=True) as follower:
        fresh = follower.freshness()
        assert (fresh.state, fresh.degraded) == ("fresh", ())
        leader.send_signal(signal.SIGSTOP)
        age_heartbeat(config, MINUTES)
        freshness = follower.freshness()
        assert freshness.state == "stale"
        assert f"process {leader.pid}" in freshness.degraded[0]
        assert "3 min" in freshness.degraded[0]
        assert any("3 min" in finding.what for finding in examine(config))
        leader.send_signal(signal.SIGCONT)
        assert leader.stdin is not None
        assert leader.stdout is not None
        print("go on", file=leader.stdin, flush=True)
        assert leader.stdout.readline() == "beat\n"
        assert follower.freshness() == fresh


def test_a_dead_indexer_does_not_make_the_index_stale(config: IndexConfig) -> None:
    with Index(config, readonly=True) as follower:
        with leading(config):
            age_heartbeat(config, MINUTES)
            assert follower.freshness().state == "stale"
        assert follower.freshness().state == "fresh"


def test_the_holder_itself_is_never_overdue(config: IndexConfig) -> None:
    lease = IndexerLease(config.db_path)
    assert lease.acquire()
    age_heartbeat(config, MINUTES)
    assert lease.overdue() == 0.0
    assert IndexerLease(config.db_path).overdue() >= MINUTES
    lease.heartbeat()
    assert IndexerLease(config.db_path).overdue() == 0.0
    lease.release()


def test_the_next_holder_removes_what_a_killed_one_was_writing(config: IndexConfig) -> None:
    folder = config.db_path.parent
    old, young = (folder / f".x.db.indexer.json.{number}-0123abcd.tmp" for number in (1, 2))
    for file in (old, young):
        file.write_bytes(b"{")
    os.utime(old, (time.time() - 3600,) * 2)
    assert IndexerLease(config.db_path).acquire()
    assert (old.exists(), young.exists()) == (False, True)


def test_a_check_keeps_the_lease_free(config: IndexConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("code_intel.index.lease.ACQUIRE_TIMEOUT_S", 60.0)
    asking, lease = IndexerLease(config.db_path), IndexerLease(config.db_path)
    assert asking.acquire()
    with ThreadPoolExecutor(1) as threads:
        taken = threads.submit(lease.acquire)
        time.sleep(0.2)  # an acquisition that does not wait has failed by then
        asking.release()
        assert taken.result()
    lease.release()


def test_the_holder_is_named_while_it_holds_the_lease(tmp_path: Path) -> None:
    lease, other = IndexerLease(tmp_path / "x.db"), IndexerLease(tmp_path / "x.db")
    assert other.holder() is None
    assert list(tmp_path.iterdir()) == []
    assert lease.acquire()
    assert lease.acquire()
    assert not other.acquire()
    assert other.holder() == os.getpid()
    lease.release()
    assert other.holder() is None
    (tmp_path / "x.db.indexer.json").write_text('{"pid": 1}', encoding="utf-8")
    assert other.holder() is None
    assert other.acquire()
    other.release()
