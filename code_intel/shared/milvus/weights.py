"""Weigh words as BM25 does, so that the score of a chunk depends on its repository alone.

Milvus can compute BM25 itself, but with the statistics of a segment or of all repositories
together: scores would change with data that the caller may not read, and in Milvus Lite with the
place of a chunk. Here a chunk keeps one weight for each token, a question brings the rarity of its
tokens, and the score is the inner product: FTS5's formula, to which the ranking is fitted.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.forest.bm25 import LEAST_RARITY, rarity, term_weight
from code_intel.index.rows import Column
from code_intel.shared.records import SharedChunk

Counts = tuple[int, int, int]
"""In how many chunks a token occurs: in any column, in the text, in the names."""


class Extent(NamedTuple):
    """The numbers of chunks and of their tokens, and the average with which they were weighed."""

    chunks: int
    tokens: int
    average: float


AVERAGE_TOKENS = 110
"""Tokens of a chunk on average, in many repositories; those of one have from 60 to 200."""
SURE_CHUNKS = 50
"""From so many chunks, what they say about the average counts more than `AVERAGE_TOKENS`."""
_PREFIX: Mapping[Column, bytes] = {"body": b"b ", "names": b"n "}
_EMPTY = {0xFFFFFFF0: LEAST_RARITY}
"""Weights of a chunk without words; Milvus wants at least one."""


def estimated_average(chunks: Sequence[SharedChunk]) -> float:
    """Return the average number of tokens in the chunks of a repository, from some of them."""
    tokens = sum(map(token_count, chunks)) + SURE_CHUNKS * AVERAGE_TOKENS
    return tokens / (len(chunks) + SURE_CHUNKS)


def weights(chunk: SharedChunk, average: float) -> dict[int, float]:
    """Return the weights of a chunk's tokens in both columns, by dimension.

    `average` is the number of tokens of an average chunk.
    """
    body, names = chunk.body.split(), chunk.names.split()
    length = token_count(chunk) / average
    columns: tuple[tuple[Column, list[str]], ...] = (("body", body), ("names", names))
    found = {
        _dimension(token, column): term_weight(count, length)
        for column, tokens in columns
        for token, count in Counter(tokens).items()
    }
    return found or dict(_EMPTY)


def question(
    terms: Iterable[str], column: Column, extent: Extent, counts: Mapping[str, Counts]
) -> dict[int, float]:
    """Return the rarity of the terms that occur in a column, by dimension.

    The weights were computed when the average was only estimated. This makes up for it: a token
    that an average chunk has once counts 1.
    """
    place = 1 if column == "body" else 2
    chunks, tokens, average = extent
    scale = 1 / term_weight(1, tokens / max(1, chunks) / average)
    return {
        _dimension(term, column): scale * rarity(chunks, counts[term][place])
        for term in terms
        if term in counts and counts[term][place] > 0
    }


def token_count(chunk: SharedChunk) -> int:
    """Return the length of a chunk."""
    return len(chunk.body.split()) + len(chunk.names.split())


def counted(chunks: Iterable[SharedChunk]) -> dict[str, Counts]:
    """Return in how many of some chunks each token occurs."""
    found: dict[str, list[int]] = {}
    for chunk in chunks:
        body, names = frozenset(chunk.body.split()), frozenset(chunk.names.split())
        for token in body | names:
            row = found.setdefault(token, [0, 0, 0])
            row[0] += 1
            row[1] += token in body
            row[2] += token in names
    return {token: (row[0], row[1], row[2]) for token, row in found.items()}


def added(into: dict[str, Counts], more: Mapping[str, Counts], sign: int = 1) -> None:
    """Add or subtract counts in place."""
    for token, (every, body, names) in more.items():
        old = into.get(token, (0, 0, 0))
        into[token] = (old[0] + sign * every, old[1] + sign * body, old[2] + sign * names)


def _dimension(token: str, column: Column) -> int:
    """Return the number of a token; Milvus's own BM25 uses 32 bits, too."""
    return zlib.crc32(_PREFIX[column] + token.encode("utf-8", "surrogatepass")) % 0xFFFFFFF0
