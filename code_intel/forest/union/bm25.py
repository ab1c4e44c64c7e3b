"""Score the chunks of several indexes by how rare words are in all of them.

BM25 weighs a word by how rare it is in its own index, so scores of different indexes cannot be
compared. In an index of three files, every word of their subject is common and weighs next to
nothing. Such an index is searched in its texts. The scores of a larger one are multiplied by a
factor, for which no texts are read.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Literal, NamedTuple

from code_intel.chunking.words import words
from code_intel.index.rows import ChunkRow

K1, B = 1.2, 0.75
"""The constants of FTS5."""
LEAST_WEIGHT = 1e-6


class ChunkWords(NamedTuple):
    """The tokens of a chunk: of its text, and of its path and symbols."""

    body: Counter[str]
    names: Counter[str]

    @property
    def length(self) -> int:
        """The number of tokens."""
        return self.body.total() + self.names.total()


def words_of(row: ChunkRow) -> ChunkWords:
    """Return the tokens of a chunk as they are indexed."""
    return ChunkWords(Counter(words(row.text)), Counter(words("\n".join((row.path, *row.symbols)))))


def weights_of(terms: Iterable[str], chunks: int, counts: Mapping[str, int]) -> dict[str, float]:
    """Return how rare each token is, from the number of chunks and that of chunks with it."""
    found = {term: min(counts.get(term, 0), chunks) for term in terms}
    return {
        term: max(LEAST_WEIGHT, math.log((chunks - count + 0.5) / (count + 0.5)))
        for term, count in found.items()
    }


def scores(
    found: Mapping[int, Mapping[int, ChunkWords]],
    column: Literal["body", "names"],
    weights: Mapping[str, float],
) -> dict[int, list[tuple[int, float]]]:
    """Return (chunk id, BM25) of the chunks with any of the weighted tokens, by index, best first.

    Args:
        found: All chunks of some indexes; their mean length stands for that of all chunks.
        column: What to search.
        weights: How rare each token is.
    """
    lengths = [each.length for chunks in found.values() for each in chunks.values()]
    mean = fmean(lengths) if lengths else 1.0

    def rate(each: ChunkWords) -> float:
        return _score(each.body if column == "body" else each.names, each.length / mean, weights)

    rated = {
        number: [(chunk, rate(each)) for chunk, each in chunks.items()]
        for number, chunks in found.items()
    }
    return {
        number: sorted((hit for hit in hits if hit[1] > 0), key=lambda hit: (-hit[1], hit[0]))
        for number, hits in rated.items()
    }


def reweighted(
    hits: Iterable[tuple[int, float]], weights: Mapping[str, float], own: Mapping[str, float]
) -> list[tuple[int, float]]:
    """Return the hits of an index with scores of the same scale as in all indexes.

    Args:
        hits: Chunk ids and scores in the index.
        weights: How rare each token is in all indexes.
        own: How rare each token that occurs in this one is in it.
    """
    factor = sum(weights[term] for term in own) / (sum(own.values()) or 1.0)
    return [(chunk, score * factor) for chunk, score in hits]


def _score(counts: Counter[str], length: float, weights: Mapping[str, float]) -> float:
    norm = K1 * (1 - B + B * length)
    return sum(
        weight * counts[term] * (K1 + 1) / (counts[term] + norm)
        for term, weight in weights.items()
        if term in counts
    )
