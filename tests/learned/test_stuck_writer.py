"""A process stopped while it held a lock: questions are answered, and writers name the process."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import BusyError
from code_intel.index.facade import Index
from code_intel.learned.files import changes, pairs
from code_intel.learned.files.agreements import lock_path
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from code_intel.tools.context.corpus_service import CorpusService

LOCKS: dict[str, Callable[[Settings], Path]] = {
    "learned.lock": changes.lock_path,
    ".agreements.lock": lambda settings: lock_path(settings.agreements),
}
TOLD = Agreement("送料計算", "shipping_fee", ("charges by weight",))
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
    learn(found, TOLD, confirmed=True, now=datetime(2026, 3, 1, tzinfo=UTC))
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_question_waits_for_no_lock_and_a_writer_says_who_is_in_the_way(
    settings: Settings, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(settings.agreements.glob("*.md"))
    with Index(settings.map) as index, Index(settings.forest) as forest:
        index.complete(words_only=True)
        service = CorpusService(settings, index, forest, LazyEmbedder(settings, []))
        with stopped_holding(LOCKS[name](settings)):
            file.write_text(file.read_text("utf-8").replace("by weight", "by size"), "utf-8")
            answer = service.search("送料計算", 3)
            monkeypatch.setattr("code_intel.learned.files.changes.LOCK_TIMEOUT_S", 0.1)
            with pytest.raises(BusyError, match=name):
                learn(settings, TOLD, confirmed=True)
    assert answer.hits[0].agreement
    assert "by size" in answer.hits[0].chunk
    learn(settings, replace(TOLD, evidence=("learned",)), confirmed=True)
    assert "learned" in pairs.load(pairs.path_of(settings)).pairs[0].code_evidence
