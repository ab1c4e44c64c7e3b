"""Embed the cards of an index in small, resumable steps, from the vector cache where possible."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import EmbeddingError, UsageError
from code_intel.index.rows import Generation
from code_intel.index.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_LENGTH_TOLERANCE = 1e-3
_PROBE = "login"
_MAX_STEP_S = 0.4
WINDOW_CARDS = 1000
"""Pending cards that are sorted by length, so that a step has cards of similar length."""
MAX_CARDS = 10_000
NO_VECTOR_REASON = "the model returns no usable vector for it"


def embed_pending(
    store: Store,
    embedder: Embedder,
    cache: VectorCache | None,
    *,
    progress: Callable[[int], None] = lambda left: None,  # noqa: ARG005 - says nothing by default
    stop: Callable[[], bool] = lambda: False,
    batch: int = 64,
) -> int:
    """Embed the pending chunks until none is left or `stop` returns True.

    Each step is one short transaction, so the process may be killed at any time and others can
    write in between. While the model's vectors are incomplete, searches use the previous model's.
    If the model returns no usable vector for a chunk, the reason is recorded and the chunk is not
    tried again.

    Args:
        store: Open for writing.
        embedder: Computes the vectors.
        cache: Searched for vectors before the embedder is used; new vectors are added.
        progress: Called with the number of remaining chunks after each step.
        stop: Polled before each step.
        batch: Maximum texts per step; fewer if steps take too long, so that `stop` is polled often.

    Returns:
        The number of vectors that were stored.

    Raises:
        EmbeddingError: The model does not work, or has other dimensions than the index.
        BusyError: Another process kept the write lock for more than five seconds.
    """
    generation = _generation_to_fill(store, embedder)
    stored, size = 0, 1
    window: list[tuple[int, str]] = []
    while not stop():
        if generation.identity != embedder.identity:
            generation, window = _generation_to_fill(store, embedder), []
        if not window:
            window = store.generations.pending(generation, WINDOW_CARDS)
            window.sort(key=lambda pending: len(pending[1]))
            taken, window = _take_known(store, generation, cache, window)
            stored += taken
            if taken:
                progress(store.generations.pending_count(generation))
                continue
        if not window:
            if store.generations.finish(generation):
                break
            continue
        step, window = window[:size], window[size:]
        started = time.monotonic()
        stored += embed_chunks(store, generation, embedder, cache, step)
        is_slow = time.monotonic() - started > _MAX_STEP_S
        size = max(1, size // 2) if is_slow else min(batch, size * 2)
        progress(store.generations.pending_count(generation))
    return stored


def embed_document(store: Store, embedder: Embedder, cache: VectorCache | None, path: str) -> int:
    """Embed one document's cards now, in every generation; return how many vectors were stored.

    A generation of another model only gets vectors from the cache. No generation is begun for a new
    model, unless there are no vectors at all.

    Raises:
        EmbeddingError: The model does not work, or has other dimensions than the index.
    """
    if not any(generation.dimensions for generation in store.generations.all()):
        _generation_to_fill(store, embedder)
    stored = 0
    for generation in store.generations.all():
        step = store.generations.pending(generation, MAX_CARDS, path)
        if generation.identity == embedder.identity:
            stored += embed_chunks(store, generation, embedder, cache, step)
        elif cache is not None and step:
            known = cache.get(generation.identity, [card for _, card in step])
            found = [(chunk, known[card]) for chunk, card in step if card in known]
            stored += store.generations.put(generation, found)
    return stored


def embed_chunks(
    store: Store,
    generation: Generation,
    embedder: Embedder,
    cache: VectorCache | None,
    step: Sequence[tuple[int, str]],
) -> int:
    """Embed pairs of chunk id and card; return how many vectors were stored, in one transaction.

    If the embedder switched to another engine meanwhile, nothing is stored.

    Raises:
        EmbeddingError: The model does not work.
    """
    identity, size = generation.identity, generation.dimensions
    vectors = card_vectors(embedder, cache, identity, size, [card for _, card in step])
    if vectors is None:
        return 0
    with store.batch():
        found = [(chunk, vectors[card]) for chunk, card in step if card in vectors]
        stored = store.generations.put(generation, found)
        for chunk, card in step:
            if card not in vectors:
                store.generations.refuse(generation, chunk, NO_VECTOR_REASON)
    return stored


def _take_known(
    store: Store,
    generation: Generation,
    cache: VectorCache | None,
    window: Sequence[tuple[int, str]],
) -> tuple[int, list[tuple[int, str]]]:
    """Store the vectors that the cache has, in one transaction; return their number and the rest.

    A cache may take as long for all cards of a window as for one; see `shared.shared_vectors`.
    """
    cards = [card for _, card in window]
    known = known_vectors(cache, generation.identity, generation.dimensions, cards)
    found = [(chunk, known[card]) for chunk, card in window if card in known]
    rest = [(chunk, card) for chunk, card in window if card not in known]
    return (store.generations.put(generation, found) if found else 0), rest


def card_vectors(
    embedder: Embedder,
    cache: VectorCache | None,
    identity: str,
    dimensions: int,
    cards: Sequence[str],
) -> "dict[str, Vector] | None":
    """Return the usable vectors of cards, from the cache where possible; new ones are added to it.

    Returns None if the embedder switched to another engine than `identity` meanwhile.

    Raises:
        EmbeddingError: The model does not work.
    """
    texts = list(dict.fromkeys(cards))
    vectors = known_vectors(cache, identity, dimensions, texts)
    new = _embed(embedder, [text for text in texts if text not in vectors], dimensions)
    if embedder.identity != identity:
        return None
    if cache is not None and new:
        cache.put(identity, new)
    return vectors | new


def known_vectors(
    cache: VectorCache | None, identity: str, dimensions: int, cards: Sequence[str]
) -> "dict[str, Vector]":
    """Return the usable vectors of cards that are in the cache."""
    known = {} if cache is None else cache.get(identity, cards)
    return {text: vector for text, vector in known.items() if _is_usable(vector, dimensions)}


def _generation_to_fill(store: Store, embedder: Embedder) -> Generation:
    """Return the generation to fill; before beginning a second one, check that the model works."""
    if not embedder.dimensions:
        embedder.passages([_PROBE])  # raises an error that gives the reason
    if embedder.dimensions != store.dimensions:
        raise EmbeddingError(
            f"The model returns {embedder.dimensions} numbers per vector; the index is configured"
            f" for {store.dimensions}.",
            hint=f"Set model.dimensions in the index's configuration to {embedder.dimensions}.",
        )
    if store.model() is not None and store.generations.of(embedder.identity) is None:
        embedder.passages([_PROBE])
    return store.generations.begin(embedder.identity, embedder.dimensions)


def _embed(embedder: Embedder, texts: Sequence[str], dimensions: int) -> "dict[str, Vector]":
    """Return the usable vectors by text; if the batch fails, embed each text alone."""
    if not texts:
        return {}
    try:
        rows = dict(zip(texts, embedder.passages(texts), strict=True))
    except (EmbeddingError, UsageError, ValueError):
        embedder.passages([_PROBE])  # raises if the model fails for every text
        rows = {text: row for text in texts for row in _embed_alone(embedder, text)}
    return {text: row for text, row in rows.items() if _is_usable(row, dimensions)}


def _embed_alone(embedder: Embedder, text: str) -> "Sequence[Vector]":
    try:
        return list(embedder.passages([text]))
    except (EmbeddingError, UsageError, ValueError):
        return ()


def _is_usable(vector: "Vector", dimensions: int) -> bool:
    """Return whether a vector has the right dimensions and length 1; such a vector is finite."""
    import numpy as np

    if vector.shape != (dimensions,):
        return False
    return bool(abs(float(np.linalg.norm(vector)) - 1) < _LENGTH_TOLERANCE)
