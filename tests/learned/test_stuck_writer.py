"""A process that was stopped while it held a lock: questions are answered, soon, and say who is in the way."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.index.facade import Index
from code_intel.learned import journal, pairs
from code_intel.learned.agreements import lock_path
from code_intel.learned.learn import learn
from code_intel.learned.refresh import forget, refresh, why_not
from code_intel.records import Agreement
from code_intel.tools.shelf import Shelf

LOCKS: dict[str, Callable[[Settings], Path]] = {
    "learned.lock": journal.lock_path,
    "learned_pairs.json.lock": lambda settings: settings.state / f"{pairs.FILE}.lock",
    ".agreements.lock": lambda settings: lock_path(settings.agreements),
}
LONG = 60.0
"""Seconds that no question takes which does not wait."""
HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def stopped_holding(lock: Path) -> Iterator[None]:
    held = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = load_settings(tmp_path, {"CODE_INTEL_EMBEDDING": "off"})
    told = Agreement("送料計算", "shipping_fee", ("charges by weight",))
    learn(found, told, confirmed=True, now=datetime(2026, 3, 1, tzinfo=UTC))
    forget()
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_question_is_answered_soon_and_says_who_is_in_the_way(
    settings: Settings, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(settings.agreements.glob("*.md"))
    with Index(settings.map) as index, Index(settings.forest) as forest:
        index.complete(words_only=True)
        shelf = Shelf(settings, index, forest, LazyEmbedder(settings, []))
        with stopped_holding(LOCKS[name](settings)):
            file.write_text(file.read_text("utf-8").replace("by weight", "by size"), "utf-8")
            asked = time.monotonic()
            answer = shelf.search("送料計算", 3)
            assert time.monotonic() - asked < journal.PATIENCE  # as whoever changes something waits
            monkeypatch.setattr("code_intel.learned.refresh.PATIENCE", 10 * LONG)
            asked = time.monotonic()
            assert shelf.search("送料計算", 3).hits
            assert time.monotonic() - asked < LONG
        assert answer.hits[0].agreement
        assert any(name in note for note in answer.index.degraded)
        again = shelf.search("送料計算", 3)
    assert not any(name in note for note in again.index.degraded)
    assert why_not(settings) == ""
    assert "by size" in pairs.load(journal.pairs_path(settings)).pairs[0].code_evidence


def test_a_look_that_finds_nothing_new_asks_for_no_lock(settings: Settings) -> None:
    refresh(settings)
    refresh(settings)
    with stopped_holding(journal.lock_path(settings)):
        assert refresh(settings).notes == ()
