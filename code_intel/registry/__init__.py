"""Search, describe and execute prompt commands (seeds 000 and 001; docs/decisions/0044).

The functions here are the operations of seed 000 on a list of commands. The modules add files,
vectors and learning. What the tools answer is in `tools/commands`.
"""

from collections.abc import Sequence

from code_intel.registry import bm25, rrf
from code_intel.registry.records import DEFAULT_RESULTS, Command, RRFResult, SearchResult

__all__ = ["Command", "RRFResult", "SearchResult", "describe", "search", "search_with_rrf"]


def search(
    commands: Sequence[Command], query: str, top_n: int = DEFAULT_RESULTS
) -> list[SearchResult]:
    """Return the commands that share words with a query, ranked by BM25; empty without a match."""
    index = bm25.BM25Index(commands)
    return [
        SearchResult(one.c1, one.c2, one.c3, one.description, score)
        for position, score in index.search(query)[: max(0, top_n)]
        for one in [index.commands[position]]
    ]


def search_with_rrf(
    commands: Sequence[Command], queries: Sequence[str], top_n: int = DEFAULT_RESULTS
) -> list[RRFResult]:
    """Return the commands that several queries find, ranked by reciprocal rank fusion."""
    index = bm25.BM25Index(commands)
    rankings = [[position for position, _ in index.search(query)] for query in queries]
    return [
        RRFResult(one.c1, one.c2, one.c3, one.description, score, ranks)
        for position, score, ranks in rrf.fused(rankings)[: max(0, top_n)]
        for one in [index.commands[position]]
    ]


def describe(commands: Sequence[Command], c1: str, c2: str, c3: str) -> list[Command]:
    """Return the commands with exactly these names, in the order of the registry."""
    return [one for one in commands if (one.c1, one.c2, one.c3) == (c1, c2, c3)]
