"""Small real objects that stand in for heavy ones; each keeps the protocol it stands for."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from code_intel.embedding.engine import (
    MAX_EMBEDDED_QUERY_CHARS,
    MAX_PASSAGE_CHARS,
    check_vectors,
    prepare_texts,
)


class HashEmbedder:
    """Deterministic `Embedder`: each word (CJK: each pair of characters) is a fixed direction.

    Texts that share words are close, others nearly orthogonal. It knows no synonyms: tests about
    meaning use the real model.
    """

    def __init__(self, dimensions: int = 384, identity: str = "hashed-words") -> None:
        self.dimensions = dimensions
        self.identity = identity
        self.embedded = 0

    def can_search(self, identity: str) -> bool:
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(prepare_texts(texts, MAX_EMBEDDED_QUERY_CHARS))

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(prepare_texts(texts, MAX_PASSAGE_CHARS))

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            rows[place] = sum(_direction(word, self.dimensions) for word in _words(text))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return check_vectors(rows, len(texts), self.dimensions)


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", unicodedata.normalize("NFKC", text)).casefold()
    words: list[str] = []
    for run in re.findall(r"[a-z0-9]+|[^\W_a-z0-9]+", spaced):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)]
        words += [run] if run.isascii() or not pairs else pairs
    return words or [spaced]


def _direction(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
