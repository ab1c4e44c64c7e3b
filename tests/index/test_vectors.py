from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from code_intel.embedding.cache import VectorCache
from code_intel.errors import EmbeddingError
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.vectors import embed_pending
from index.samples import DIMENSIONS, HashEmbedder, chunks_of, parsed


def fill(store: Store, documents: int = 5, chunks: int = 4) -> None:
    for number in range(documents):
        texts = [f"{number} {i}" for i in range(chunks)]
        store.put_document(DocumentRow(f"{number}.py", "d"), parsed(*texts))


def refused(store: Store) -> list[tuple[str, int, str]]:
    return store.generations.refused(store.generations.newest())


def poisoned(answer: float | None) -> HashEmbedder:
    """Return an embedder that fails on one text, as tokenizers do, or answers nonsense for it."""

    def spoil(text: str, row: NDArray[np.float32]) -> None:
        if "poison" in text:
            if answer is None:
                raise EmbeddingError("The tokenizer failed.")
            row[:] = answer

    return HashEmbedder(spoil=spoil)


def broken(text: str, _row: object) -> None:
    raise EmbeddingError(f"There is no model for {text}.")


def test_every_pending_chunk_gets_the_vector_of_its_card(store: Store) -> None:
    fill(store)
    embedder = HashEmbedder()
    left: list[int] = []
    assert embed_pending(store, embedder, None, progress=left.append) == 20
    assert left[-1] == store.pending_count() == 0
    chunk = chunks_of(store, "3.py")[2]
    assert store.vector_hits(embedder.queries([chunk.card])[0], 1)[0][0] == chunk.id
    assert store.model() == embedder.identity
    assert store.check() == []


def test_embedding_stops_between_steps_and_continues(store: Store) -> None:
    fill(store)
    left: list[int] = []
    first = embed_pending(
        store, HashEmbedder(), None, progress=left.append, stop=lambda: len(left) >= 2, batch=4
    )
    assert 0 < first < 20
    embedder = HashEmbedder()
    assert embed_pending(store, embedder, None) == 20 - first == len(embedder.embedded)


def test_cards_of_similar_length_are_embedded_together(store: Store) -> None:
    fill(store)
    embedder = HashEmbedder()
    embed_pending(store, embedder, None)
    lengths = [len(card) for card in embedder.embedded]
    assert lengths == sorted(lengths)


def test_a_document_that_is_deleted_meanwhile_gets_no_vector(store: Store) -> None:
    fill(store)

    def delete(left: int) -> None:
        if left > 10:
            store.delete_document("3.py")

    embed_pending(store, HashEmbedder(), None, progress=delete, batch=2)
    assert store.pending_count() == 0
    assert store.check() == []


def test_cached_cards_are_not_embedded_again(store: Store, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache")
    fill(store)
    embed_pending(store, HashEmbedder(), cache)
    with Store.open(tmp_path / "other.db", dimensions=DIMENSIONS) as other:
        fill(other)
        embedder = HashEmbedder()
        assert embed_pending(other, embedder, cache) == 20
        assert embedder.embedded == []
        assert other.check() == []
    cache.close()


def test_equal_cards_are_embedded_once(store: Store) -> None:
    store.put_document(DocumentRow("a.py", "d"), parsed(*["same"] * 9))
    embedder = HashEmbedder()
    assert embed_pending(store, embedder, None) == 9
    assert len(embedder.embedded) < 9


@pytest.mark.parametrize("answer", [None, float("nan"), 0.0, 7.0])
def test_a_text_without_a_vector_is_refused(store: Store, answer: float | None) -> None:
    store.put_document(DocumentRow("a.py", "d"), parsed("good", "poison", "fine", "better"))
    assert embed_pending(store, poisoned(answer), None) == 3
    assert store.pending_count() == 0
    ((path, position, reason),) = refused(store)
    assert (path, position) == ("a.py", 1)
    assert "no usable vector" in reason
    assert store.check() == []
    store.put_document(DocumentRow("a.py", "e"), parsed("good", "cured", "fine", "better"))
    assert embed_pending(store, poisoned(answer), None) == 1
    assert refused(store) == []


def test_a_broken_model_refuses_no_chunk(store: Store) -> None:
    fill(store)
    with pytest.raises(EmbeddingError, match="no model"):
        embed_pending(store, HashEmbedder(spoil=broken), None)
    assert store.pending_count() == 20
    assert refused(store) == []


def test_a_model_of_other_dimensions_is_refused(store: Store) -> None:
    fill(store)
    with pytest.raises(EmbeddingError, match="16 numbers"):
        embed_pending(store, HashEmbedder(dimensions=16), None)


class Failing(HashEmbedder):
    """Its first engine fails in the middle of the work; the second makes other vectors."""

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        if len(self.embedded) > 4:
            self.identity = "second"
        return super().passages(texts)


def test_no_vector_is_stored_with_the_identity_of_a_failed_engine(store: Store) -> None:
    fill(store)
    embedder = Failing("first")
    assert embed_pending(store, embedder, None) > 20
    assert store.model() == "second"
    rows = store.chunk_rows(range(1, 99))
    for chunk, vector in store.generations.vectors_of(rows).items():
        assert np.array_equal(vector, HashEmbedder("second").passages([rows[chunk].card])[0])
    assert len(store.generations.all()) == 1


def test_a_missing_engine_is_reported_before_its_dimensions(store: Store) -> None:
    fill(store)
    with pytest.raises(EmbeddingError, match="no model"):
        embed_pending(store, HashEmbedder(spoil=broken, dimensions=0), None)
