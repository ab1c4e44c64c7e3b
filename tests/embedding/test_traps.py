"""Test every engine with hostile input and with threads."""

import os
import threading

import numpy as np
import pytest

from benchmarks.engines import ENGINES as SHIPPED_ENGINES
from code_intel.embedding.engine import MAX_PASSAGE_CHARS, Embedder, embeddable
from code_intel.embedding.sentence_transformers_engine import SentenceTransformersEngine
from code_intel.errors import UsageError

MODEL = os.environ.get("CODE_INTEL_TEST_MODEL", "")
"""Folder of a model for sentence-transformers; `.ci/sentence-transformers` has one."""

ENGINES = dict(SHIPPED_ENGINES)
if MODEL:
    ENGINES["sentence-transformers"] = lambda: SentenceTransformersEngine(MODEL)

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Embedder:
    shared = {"q4": "faithful", "int8": "fast"}.get(request.param)
    engine: Embedder = request.getfixturevalue(shared) if shared else ENGINES[request.param]()
    return engine


def cosine(engine: Embedder, one: str, other: str) -> float:
    first, second = engine.passages([one, other])
    return float(first @ second)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(engine: Embedder) -> None:
    texts = [f"在庫 {number} " + "word " * (number % 7) for number in range(9)]
    together = engine.passages(texts)
    assert together.shape == (9, engine.dimensions)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-3)
    alone = np.concatenate([engine.passages([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-4)
    assert np.allclose(together, engine.passages(texts), atol=1e-6)


def test_no_texts_give_no_rows(engine: Embedder) -> None:
    assert engine.queries([]).shape == (0, engine.dimensions)
    assert engine.passages([]).shape == (0, engine.dimensions)


def test_a_query_is_closer_to_a_passage_of_the_same_meaning(engine: Embedder) -> None:
    query = engine.queries(["lower the number of articles in the warehouse"])[0]
    right, wrong = engine.passages(["decrease the stock", "render the login page"]) @ query
    assert right > wrong + 0.02


def test_text_after_a_nul_is_read(engine: Embedder) -> None:
    assert cosine(engine, "decrease\0 the stock of a shop", "decrease") < 0.99
    assert cosine(engine, "decrease\0the stock", "decrease the stock") > 0.999


def test_a_lone_surrogate_is_replaced(engine: Embedder) -> None:
    vectors = engine.passages(["broken \ud83d emoji", "whole"])
    assert np.allclose(vectors[0], engine.passages(["broken \ufffd emoji"])[0], atol=1e-4)


@pytest.mark.parametrize("token", ["</s>", "<mask>", "[SEP]", "[MASK]"])
def test_a_control_token_in_a_text_is_read_as_letters(engine: Embedder, token: str) -> None:
    text = "decrease the stock of an article after an order was paid"
    assert cosine(engine, f"{token} {text}", f"{token[0]} {token[1:]} {text}") > 0.97


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\0", "\u3000", "\u200b\ufeff", "\ud83d"])
def test_a_text_without_visible_characters_is_refused(engine: Embedder, text: str) -> None:
    assert not embeddable(text)
    with pytest.raises(UsageError, match=r"texts\[1\]") as caught:
        engine.queries(["good", text])
    assert caught.value.details == {"field": "texts[1]"}


@pytest.mark.parametrize("text", [None, 7, b"bytes", ["nested"]])
def test_a_value_that_is_not_a_string_is_refused(engine: Embedder, text: object) -> None:
    with pytest.raises(UsageError, match="must be a string"):
        engine.passages([text])  # type: ignore[list-item]


def test_a_single_text_is_refused(engine: Embedder) -> None:
    with pytest.raises(UsageError, match="Pass a list"):
        engine.passages("login")


def test_long_texts_are_read_up_to_the_limit(engine: Embedder) -> None:
    text = "decrease " * 300
    assert cosine(engine, text, text[:MAX_PASSAGE_CHARS]) > 0.9999


def test_concurrent_threads_get_correct_vectors(engine: Embedder) -> None:
    texts = [f"query number {number} about 在庫" for number in range(6)]
    expected = [engine.queries([text])[0] for text in texts]
    wrong: list[str] = []

    def ask(place: int) -> None:
        for _ in range(5):
            if not np.allclose(engine.queries([texts[place]])[0], expected[place], atol=1e-4):
                wrong.append(texts[place])  # noqa: PERF401 - a thread's report

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong
