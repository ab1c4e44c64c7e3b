"""What is handed to sentence-transformers, and what is refused of its answer."""

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding import sentence_transformers_engine
from code_intel.embedding.sentence_transformers_engine import SentenceTransformersE5
from code_intel.errors import EmbeddingError, UsageError


class Encoder:
    """Keeps what it was asked; answers one direction for all, or what it is told."""

    def __init__(self, length: float = 1.0) -> None:
        self.asked: list[str] = []
        self.length = length

    def encode(
        self, sentences: list[str], *, normalize_embeddings: bool, show_progress_bar: bool
    ) -> NDArray[np.float64]:
        assert normalize_embeddings
        assert not show_progress_bar
        self.asked += sentences
        return np.eye(1, 384).repeat(len(sentences), axis=0) * self.length


def test_questions_and_passages_get_their_prefixes() -> None:
    encoder = Encoder()
    engine = SentenceTransformersE5(encoder, "e5/f32/test")
    assert engine.queries(["在庫"]).dtype == np.float32
    assert engine.passages(["stock </s>", "\0x"]).shape == (2, 384)
    assert encoder.asked == ["query: 在庫", "passage: stock < /s>", "passage:  x"]


def test_nothing_to_embed_never_reaches_the_model() -> None:
    encoder = Encoder()
    engine = SentenceTransformersE5(encoder, "e5/f32/test")
    assert engine.passages([]).shape == (0, 384)
    with pytest.raises(UsageError):
        engine.queries([" "])
    assert encoder.asked == []


def test_an_answer_that_is_no_unit_vector_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="no unit vector"):
        SentenceTransformersE5(Encoder(2.0), "e5/f32/test").queries(["x"])


@pytest.mark.skipif(sentence_transformers_engine.installed(), reason="the extra is installed")
def test_without_the_extra_the_error_names_it() -> None:
    with pytest.raises(EmbeddingError, match="sentence_transformers"):
        SentenceTransformersE5()
