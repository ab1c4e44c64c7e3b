"""Test that the vectors of the last questions are kept, and are those of the engine."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding.engine import MAX_EMBEDDED_QUERY_CHARS
from code_intel.embedding.recent_vectors import RecentVectors
from code_intel.errors import EmbeddingError, UsageError
from doubles import HashEmbedder


class CountingEngine:
    """Embeds questions, and remembers which."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.words = HashEmbedder()

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self.words.queries(texts)
        self.asked += texts
        return vectors


def test_a_question_is_embedded_once_and_keeps_its_vector() -> None:
    engine, recent = CountingEngine(), RecentVectors()
    for texts in (["login"], ["login", "cart"], ["cart", "fee", "login", "cart"], ["login"], []):
        found = recent.queries(texts, engine.queries)
        assert np.array_equal(found, HashEmbedder().queries(texts))
    assert engine.asked == ["login", "cart", "fee"]


def test_the_question_that_was_asked_longest_ago_is_dropped() -> None:
    engine, recent = CountingEngine(), RecentVectors(limit=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        recent.queries([text], engine.queries)
    assert engine.asked == ["a", "b", "c", "b"]


def test_more_questions_than_are_kept_get_their_vectors() -> None:
    recent, texts = RecentVectors(limit=2), ["a", "b", "c", "a"]
    found = recent.queries(texts, CountingEngine().queries)
    assert np.array_equal(found, HashEmbedder().queries(texts))


def test_a_vector_that_the_caller_changes_is_not_returned_again() -> None:
    engine, recent = CountingEngine(), RecentVectors()
    for _ in range(2):
        vector = recent.queries(["login"], engine.queries)[0]
        assert np.array_equal(vector, HashEmbedder().queries(["login"])[0])
        vector *= 2


def test_questions_that_differ_where_no_engine_reads_share_a_vector() -> None:
    engine, recent = CountingEngine(), RecentVectors()
    start = "a" * MAX_EMBEDDED_QUERY_CHARS
    recent.queries([f"{start}b"], engine.queries)
    recent.queries([f"{start}c"], engine.queries)
    assert engine.asked == [start]


def test_a_failure_is_not_kept() -> None:
    def broken(_texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbeddingError("The weights are damaged.")

    recent, engine = RecentVectors(), CountingEngine()
    with pytest.raises(EmbeddingError):
        recent.queries(["login"], broken)
    assert recent.queries(["login"], engine.queries).shape == (1, 384)


@pytest.mark.parametrize("texts", ["login", [b"login"], [None]])
def test_the_engine_refuses_what_is_no_list_of_texts(texts: list[str]) -> None:
    def refusing(given: Sequence[str]) -> NDArray[np.float32]:
        assert given is texts
        raise UsageError("texts is wrong.")

    with pytest.raises(UsageError):
        RecentVectors().queries(texts, refusing)
