"""Give every card its vector: in small steps, the cache first, resumable at any moment."""

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
_STEP_SECONDS = 0.4
ALL = 10_000
REFUSED = "the model gives no usable vector for its card"


def embed_pending(
    store: Store,
    embedder: Embedder,
    cache: VectorCache | None,
    *,
    progress: Callable[[int], None] = lambda left: None,  # noqa: ARG005 - says nothing by default
    stop: Callable[[], bool] = lambda: False,
    batch: int = 64,
) -> int:
    """Embed what is pending until nothing is, or `stop`; return how many vectors were stored.

    Each step is one short transaction, so that it can be killed anywhere and others can write in
    between. Vectors of another model stay until these are complete, and answer meanwhile; then they are
    swapped. A chunk whose vector is NaN, zero or refused is quarantined with the reason and not asked
    for again.

    Args:
        store: Open for writing.
        embedder: Makes the vectors.
        cache: Asked before the embedder, told after it.
        progress: Called with the number of chunks left, after each step.
        stop: Asked before each step.
        batch: Most texts a step; fewer where a step would take longer than half a second, so that
            `stop` is heard in time.

    Raises:
        EmbeddingError: The model cannot be used at all, or has other dimensions than the index.
        BusyError: Another process is writing for more than five seconds.
    """
    generation = _generation(store, embedder)
    stored, size = 0, 1
    while not stop():
        if generation.identity != embedder.identity:
            generation = _generation(store, embedder)
        step = store.generations.pending(generation, size)
        if not step:
            if store.generations.finish(generation):
                break
            continue
        started = time.monotonic()
        stored += embed_chunks(store, generation, embedder, cache, step)
        slow = time.monotonic() - started > _STEP_SECONDS
        size = max(1, size // 2) if slow else min(batch, size * 2)
        progress(store.generations.pending_count(generation))
    return stored


def embed_document(store: Store, embedder: Embedder, cache: VectorCache | None, path: str) -> int:
    """Embed one document's cards now, for every generation that can have them; return how many.

    A generation of another model than `embedder` gets what the cache knows, since only its own model may
    make the rest. Vectors of a new model are not begun here, unless there are none to lose.

    Raises:
        EmbeddingError: The model cannot be used at all, or has other dimensions than the index.
    """
    if not any(each.dimensions for each in store.generations.all()):
        _generation(store, embedder)
    stored = 0
    for each in store.generations.all():
        step = store.generations.pending(each, ALL, path)
        if each.identity == embedder.identity:
            stored += embed_chunks(store, each, embedder, cache, step)
        elif cache is not None and step:
            known = cache.get(each.identity, [card for _, card in step])
            found = [(chunk, known[card]) for chunk, card in step if card in known]
            stored += store.generations.put(each, found)
    return stored


def embed_chunks(
    store: Store,
    generation: Generation,
    embedder: Embedder,
    cache: VectorCache | None,
    step: Sequence[tuple[int, str]],
) -> int:
    """Embed these (chunk id, card) in one transaction; return how many vectors were stored.

    None are, if the embedder has changed its identity over the work, an engine of it having failed.

    Raises:
        EmbeddingError: The model cannot be used at all.
    """
    texts = list(dict.fromkeys(card for _, card in step))
    known = {} if cache is None else cache.get(generation.identity, texts)
    size = generation.dimensions
    vectors = {text: vector for text, vector in known.items() if _sound(vector, size)}
    made = _made(embedder, [text for text in texts if text not in vectors], size)
    if embedder.identity != generation.identity:
        return 0
    if cache is not None and made:
        cache.put(generation.identity, made)
    vectors |= made
    with store.batch():
        found = [(chunk, vectors[card]) for chunk, card in step if card in vectors]
        stored = store.generations.put(generation, found)
        for chunk, card in step:
            if card not in vectors:
                store.generations.refuse(generation, chunk, REFUSED)
    return stored


def _generation(store: Store, embedder: Embedder) -> Generation:
    """Return the generation to fill; a new one beside another is begun only by a model that works."""
    if not embedder.dimensions:
        embedder.passages([_PROBE])  # says why there is none
    if embedder.dimensions != store.dimensions:
        raise EmbeddingError(
            f"The model makes {embedder.dimensions} numbers a vector, the index keeps"
            f" {store.dimensions}.",
            hint="Set model.dimensions in the index's configuration to what the model makes.",
        )
    if store.model() is not None and store.generations.of(embedder.identity) is None:
        embedder.passages([_PROBE])
    return store.generations.begin(embedder.identity, embedder.dimensions)


def _made(embedder: Embedder, texts: Sequence[str], dimensions: int) -> "dict[str, Vector]":
    """Return the sound vectors; when the batch fails, each text is tried alone."""
    if not texts:
        return {}
    try:
        rows = dict(zip(texts, embedder.passages(texts), strict=True))
    except (EmbeddingError, UsageError, ValueError):
        embedder.passages([_PROBE])  # a model that cannot even do this is broken, not the texts
        rows = {text: row for text in texts for row in _alone(embedder, text)}
    return {text: row for text, row in rows.items() if _sound(row, dimensions)}


def _alone(embedder: Embedder, text: str) -> "Sequence[Vector]":
    try:
        return list(embedder.passages([text]))
    except (EmbeddingError, UsageError, ValueError):
        return ()


def _sound(vector: "Vector", dimensions: int) -> bool:
    """Whether a vector is one: the right size, finite, of length 1."""
    import numpy as np

    if vector.shape != (dimensions,):
        return False
    return bool(abs(float(np.linalg.norm(vector)) - 1) < _LENGTH_TOLERANCE)
