"""Keep the vectors of the last questions, because one request often embeds a question twice."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from code_intel.embedding.engine import MAX_EMBEDDED_QUERY_CHARS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MAX_RECENT = 256


class RecentVectors:
    """The vectors of the last questions of one engine. Thread-safe."""

    def __init__(self, limit: int = MAX_RECENT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def queries(self, texts: Sequence[str], embed: "Callable[[Sequence[str]], Vector]") -> "Vector":
        """Return the vectors of questions; `embed` computes those that are not known."""
        import numpy as np

        if isinstance(texts, str | bytes) or not all(isinstance(text, str) for text in texts):
            return embed(texts)  # raises
        keys = [text[:MAX_EMBEDDED_QUERY_CHARS] for text in texts]  # engines read no more
        found = self._known(keys)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing or not keys:
            vectors = embed(missing)
            self._keep(missing, vectors)
            if missing == keys:
                return vectors
            found |= dict(zip(missing, vectors, strict=True))
        return np.stack([found[key] for key in keys])

    def _known(self, keys: Sequence[str]) -> "dict[str, Vector]":
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
            return found

    def _keep(self, keys: Sequence[str], vectors: "Vector") -> None:
        with self._lock:
            for key, vector in zip(keys, vectors, strict=True):
                self._vectors[key] = vector.copy()  # the caller may change its own
                self._vectors.move_to_end(key)
            while len(self._vectors) > self._limit:
                self._vectors.popitem(last=False)
