"""Compute BM25 as SQLite's FTS5 does, to which the ranking is fitted."""

import math

K1, B = 1.2, 0.75
LEAST_RARITY = 1e-6


def rarity(chunks: int, count: int) -> float:
    """Return how rare a token is that `count` of so many chunks have."""
    count = min(count, chunks)
    return max(LEAST_RARITY, math.log((chunks - count + 0.5) / (count + 0.5)))


def term_weight(count: int, length: float) -> float:
    """Return the weight of a token that a chunk has `count` times.

    `length` is the chunk's number of tokens, divided by that of an average chunk.
    """
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length))
