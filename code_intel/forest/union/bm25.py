"""Score the chunks of several indexes by how rare words are in all of them.

BM25 weighs a word by how rare it is in its own index, so scores of different indexes cannot be
compared. In an index of three files, every word of their subject is common and weighs next to
nothing. Such an index is searched in its texts. The scores of a larger one are multiplied by a
factor, for which no texts are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.forest.bm25 import rarity, term_weight
from code_intel.index.rows import ChunkRow, Column, Hits


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
    return {term: rarity(chunks, counts.get(term, 0)) for term in terms}


def scores(
    found: Mapping[int, Mapping[int, ChunkWords]],
    column: Column,
    weights: Mapping[str, float],
) -> dict[int, Hits]:
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
) -> Hits:
    """Return the hits of an index with scores of the same scale as in all indexes.

    Args:
        hits: Chunk ids and scores in the index.
        weights: How rare each token is in all indexes.
        own: How rare each token that occurs in this one is in it.
    """
    factor = sum(weights[term] for term in own) / (sum(own.values()) or 1.0)
    return [(chunk, score * factor) for chunk, score in hits]


def _score(counts: Counter[str], length: float, weights: Mapping[str, float]) -> float:
    return sum(
        weight * term_weight(counts[term], length)
        for term, weight in weights.items()
        if term in counts
    )
