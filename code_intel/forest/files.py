"""Rank files by BM25 and by the preferred kind of file, for `files_search` (seed 002).

Vectors and dependencies are not used.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from code_intel.config import TokenizationStrategy
from code_intel.forest.bundles import boosts
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.tokens import fold, tokenise
from code_intel.forest.ranking.paths import relative
from code_intel.forest.ranking.question import read
from code_intel.index.rows import ChunkRow
from code_intel.index.store import MAX_HITS, Store

NAMES_WEIGHT = 0.5
"""Weight of the BM25 score over path and symbol names; that over texts has weight 1."""
PHRASE_FACTOR = 1.5
"""Factor for the score of a chunk that contains a phrase of the query."""


class FileHit(NamedTuple):
    """A file, its score, the score before the boost, tags with the reasons, and its best chunk."""

    path: str
    score: float
    bm25: float
    why: tuple[str, ...]
    chunk: ChunkRow


def search_files(
    store: Store,
    query: str,
    *,
    top_k: int,
    boost: BoostProfile = "default",
    strategy: TokenizationStrategy = "phrase-aware",
    bases: Sequence[str] = (),
    wanted: Callable[[str, str], bool] = lambda path, language: True,  # noqa: ARG005 - all files
) -> list[FileHit]:
    """Return the files with any of the query's words, best first, ties by path.

    Args:
        store: The forest's index.
        query: Words; Japanese ones are also translated. Chunks that contain a quoted or compound
            term literally rank higher.
        top_k: Maximum number of files.
        boost: Which kind of file to prefer.
        strategy: How compounds are split.
        bases: Indexed folders as document names.
        wanted: Returns whether a file with that path and language may be returned.
    """
    terms = read(query).terms
    scores: dict[int, float] = {}
    columns: tuple[tuple[Literal["body", "names"], float], ...]
    columns = (("body", 1.0), ("names", NAMES_WEIGHT))
    for column, weight in columns:
        for chunk, bm25 in store.word_hits(terms, column, MAX_HITS):
            scores[chunk] = scores.get(chunk, 0.0) + weight * bm25
    phrases = tokenise(query, strategy).phrases
    best: dict[str, FileHit] = {}
    for row in store.chunk_rows(scores).values():
        if not wanted(row.path, row.language):
            continue
        text = fold(row.text) if phrases else ""
        tags = tuple(f"phrase:{phrase}" for phrase in phrases if phrase in text)
        bm25 = scores[row.id] * (PHRASE_FACTOR if tags else 1.0)
        known = best.get(row.path)
        if known is None or (bm25, -row.position) > (known.bm25, -known.chunk.position):
            name = relative(row.path, bases)
            kind = boosts.file_type(name, row.language, defines=bool(row.symbols))
            why = filter(None, (*tags, boosts.boost_tag(kind, boost), "words"))
            score = boosts.multiply_boost(bm25, kind, boost)
            best[row.path] = FileHit(row.path, score, bm25, tuple(sorted(why)), row)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.path))[: max(top_k, 0)]
