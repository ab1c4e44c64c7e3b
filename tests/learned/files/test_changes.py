"""Several processes write at once, and one stops while it holds a lock."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import BusyError
from code_intel.index.facade import Index
from code_intel.learned.files import changes
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from code_intel.tools.context.corpus_service import CorpusService
from learned.builders import NOW, agreements_of, confirmed_keys, pairs_of, rewrite
from programs import quick_folder

LEARNER = """
import sys
from pathlib import Path
from code_intel.config import load_settings
from code_intel.errors import BusyError
from code_intel.learned.learn import learn
from code_intel.records import Agreement
settings, who, many = load_settings(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(many):
    told = Agreement(
        f"決済 {who} {number}", f"Pay{who}.refund{number}", (f"refund {number} of {who}",)
    )
    while True:
        try:
            learn(settings, told, confirmed=number % 2 == 0)
            break
        except BusyError as error:
            assert "Try again" in error.hint
"""


@pytest.mark.covers("rule.pairs.no_loss")
@pytest.mark.parametrize(
    ("processes", "each"), [(3, 10), pytest.param(8, 25, marks=pytest.mark.long)]
)
def test_concurrent_processes_lose_nothing(processes: int, each: int) -> None:
    with quick_folder() as folder:
        learners = [
            subprocess.Popen(
                [sys.executable, "-c", LEARNER, folder, str(who), str(each)],
                cwd=Path(__file__).parents[3],
                stdin=subprocess.DEVNULL,
            )
            for who in range(processes)
        ]
        assert [learner.wait() for learner in learners] == [0] * processes
        settings = load_settings(folder)
        wanted = {
            (f"決済 {who} {number}", f"Pay{who}.refund{number}")
            for who in range(processes)
            for number in range(each)
        }
        assert agreements_of(settings).keys() == pairs_of(settings).keys() == wanted
        assert len(list(settings.agreements.iterdir())) == len(wanted)
        sure = {key for key in wanted if int(key[0].split()[-1]) % 2 == 0}
        assert confirmed_keys(settings) == sure
        assert not changes.sync(settings, NOW).steps
        assert not list(settings.state.rglob("*.tmp"))


FEE = Agreement("送料計算", "shipping_fee", ("charges by weight",))
HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def stopped_holder(lock: Path) -> Iterator[None]:
    """Stop a process that holds a lock, for a block."""
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.kill()


def test_search_ignores_a_held_lock_and_a_writer_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(tmp_path, {"CODE_INTEL_EMBEDDING": "off"})
    file = learn(settings, FEE, confirmed=True, now=NOW).agreement_file
    with Index(settings.map) as index, Index(settings.forest) as forest:
        index.complete(words_only=True)
        service = CorpusService(settings, index, forest, LazyEmbedder(settings, []))
        with stopped_holder(changes.lock_path(settings)):
            rewrite(file, lambda text: text.replace("by weight", "by size"))
            answer = service.search("送料計算", 3)
            monkeypatch.setattr(changes, "LOCK_TIMEOUT_S", 0.1)
            with pytest.raises(BusyError, match=r"learned\.lock"):
                learn(settings, FEE, confirmed=True)
    assert answer.hits[0].agreement
    assert "by size" in answer.hits[0].chunk
    learn(settings, replace(FEE, evidence=("learned",)), confirmed=True)
    (pair,) = pairs_of(settings).values()
    assert "learned" in pair.code_evidence
