"""Who indexes in bulk, and what the others say when nothing is heard of it."""

import os
import signal
import subprocess
import sys
import tempfile
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
from index.samples import DIMENSIONS
from privileges import without_root

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from code_intel.index.lease import IndexerLease
role = IndexerLease(Path(sys.argv[1]), every=0)
assert role.acquire()
print("leading", flush=True)
for _ in sys.stdin:
    role.heartbeat()
    print("beat", flush=True)
"""
MINUTES = 180.0


@pytest.fixture
def config(tmp_path: Path) -> IndexConfig:
    (tmp_path / "a.py").write_text("def a(): pass\n", encoding="utf-8")
    found = IndexConfig(
        path=tmp_path / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=tmp_path / "db" / "forest.db",
        dimensions=DIMENSIONS,
    )
    with Index(found) as index:
        index.complete()
    return found


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


def quiet_for(config: IndexConfig, seconds: float) -> None:
    (holder,) = config.db_path.parent.glob("*.indexer.json")
    when = holder.stat().st_mtime - seconds
    os.utime(holder, (when, when))


@pytest.mark.skipif(os.name == "nt", reason="stops a process by a signal")
def test_an_index_whose_leader_has_stopped_is_stale_and_says_whom_to_end(
    config: IndexConfig,
) -> None:
    with leading(config) as leader, Index(config, readonly=True) as follower:
        fresh = follower.freshness()
        assert (fresh.state, fresh.degraded) == ("fresh", ())
        leader.send_signal(signal.SIGSTOP)
        quiet_for(config, MINUTES)
        said = follower.freshness()
        assert said.state == "stale"
        assert f"process {leader.pid}" in said.degraded[0]
        assert "3 min" in said.degraded[0]
        assert any("3 min" in finding.what for finding in examine(config))
        leader.send_signal(signal.SIGCONT)
        assert leader.stdin is not None
        assert leader.stdout is not None
        print("go on", file=leader.stdin, flush=True)
        assert leader.stdout.readline() == "beat\n"
        assert follower.freshness() == fresh


def test_a_leader_that_has_died_is_not_waited_for(config: IndexConfig) -> None:
    with Index(config, readonly=True) as follower:
        with leading(config):
            quiet_for(config, MINUTES)
            assert follower.freshness().state == "stale"
        assert follower.freshness().state == "fresh"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_complete_index_is_read_where_nothing_can_be_written() -> None:
    with tempfile.TemporaryDirectory() as name:  # where others than root may come
        folder = Path(name)
        (folder / "a.py").write_text("def a(): pass\n", encoding="utf-8")
        settled = IndexConfig(
            path=folder / "devrag-forest.json",
            corpus="forest",
            patterns=(".",),
            db_path=folder / "forest.db",
        )
        with Index(settled) as index:
            index.complete()
        before = {path: path.read_bytes() for path in folder.iterdir()}
        for path in before:
            path.chmod(0o444)
        for mode in (0o555, 0o777):  # a folder, then a file that others made
            folder.chmod(mode)
            with without_root(), Index(settled, readonly=True) as index:
                assert index.store.word_hits(["a"], "body", 3)
                assert index.store.check() == []
                assert index.freshness().state == "fresh"
                assert "No process is indexing" in examine(settled)[-1].what
        folder.chmod(0o755)
        assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_one_s_own_silence_is_none(config: IndexConfig) -> None:
    role = IndexerLease(config.db_path)
    assert role.acquire()
    quiet_for(config, MINUTES)
    assert role.overdue() == 0.0
    assert IndexerLease(config.db_path).overdue() >= MINUTES
    role.heartbeat()
    assert IndexerLease(config.db_path).overdue() == 0.0
    role.release()


def test_who_only_asks_whether_the_role_is_free_keeps_nobody_from_it(
    config: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.index.lease.ACQUIRE_TIMEOUT_S", 60.0)
    asking, role = IndexerLease(config.db_path), IndexerLease(config.db_path)
    assert asking.acquire()
    with ThreadPoolExecutor(1) as threads:
        taken = threads.submit(role.acquire)
        time.sleep(0.2)  # long enough for who does not wait to have been refused
        asking.release()
        assert taken.result()
    role.release()
