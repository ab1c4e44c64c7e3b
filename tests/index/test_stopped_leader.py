"""The process that indexes is stopped (SIGSTOP), also in the middle of a transaction."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import BusyError
from code_intel.index.facade import Index
from code_intel.index.lease import HEARTBEAT_TIMEOUT_S
from code_intel.index.opening import BUSY_MS
from code_intel.index.store import Store
from index.samples import DIMENSIONS, HashEmbedder, index_config
from programs import TESTS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stops a process by a signal")
FILES = 30
LONG = 120.0
SLACK = 20.0
"""Seconds that a busy machine may take in addition to a time limit."""


@pytest.fixture
def config(tmp_path: Path) -> IndexConfig:
    """A project that is indexed, and has changed since."""
    folder = tmp_path / "p"
    folder.mkdir()
    config = index_config(folder, db_path=folder / ".code-intel" / "x.db")
    for turn in ("first", "second"):
        for number in range(FILES):
            text = f"def {turn}_{number}():\n    return {number}\n"
            (folder / f"a{number}.py").write_text(text, encoding="utf-8")
        if turn == "first":
            with Index(config, embedder=HashEmbedder()) as index:
                index.complete()
    return config


@contextmanager
def stopped(config: IndexConfig, place: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a leader until it stops itself."""
    leader = subprocess.Popen(
        [sys.executable, TESTS / "index" / "stopping_process.py", config.folder, config.db_path,
         str(place)],
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
        stdin=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, status = os.waitpid(leader.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status
        yield leader
    finally:
        leader.send_signal(signal.SIGCONT)
        leader.kill()
        leader.wait()


def names(config: IndexConfig) -> set[str]:
    files = [f"a{number}.py" for number in range(FILES)]
    with Store.open(config.db_path, dimensions=DIMENSIONS, readonly=True) as store:
        assert store.check() == []
        return {each.name for each in store.defined_in([*files, "own.py"])}


@pytest.mark.parametrize("place", [12, 30, 45, 60, 90, 150])
def test_others_go_on_while_the_leader_is_stopped_and_nothing_is_damaged(
    config: IndexConfig, place: int
) -> None:
    (config.folder / "own.py").write_text("def own():\n    return 1\n", encoding="utf-8")
    with stopped(config, place) as leader:
        began = time.monotonic()
        with Index(config, embedder=HashEmbedder()) as index:
            assert len(index.store.word_hits(["return"], "body", 99)) >= FILES
            assert time.monotonic() - began < SLACK
            holder = config.db_path.with_name(f"{config.db_path.name}.indexer.json")
            if holder.exists():
                when = holder.stat().st_mtime - HEARTBEAT_TIMEOUT_S - 1
                os.utime(holder, (when, when))
                freshness = index.freshness()
                assert (freshness.state, f"process {leader.pid}" in freshness.degraded[0]) == (
                    "stale",
                    True,
                )
            began = time.monotonic()
            with suppress(BusyError):  # the leader was stopped within a transaction
                index.refresh("own.py")
            assert time.monotonic() - began < BUSY_MS / 1000 + SLACK
        leader.send_signal(signal.SIGCONT)
        assert leader.stdin
        end = time.monotonic() + LONG
        wanted = {f"second_{number}" for number in range(FILES)} | {"own"}
        while names(config) != wanted:
            assert time.monotonic() < end, names(config)
        leader.stdin.close()
        assert leader.wait(LONG) == 0
    with Index(config, embedder=HashEmbedder()) as index:
        report = index.complete()
    assert (report.added, report.updated, report.deleted) == (0, 0, 0)
