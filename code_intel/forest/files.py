"""Files by the words in them: BM25, and a factor for what kind of file is wanted (`files_search`, seed 002).

No vectors, no dependencies: the same words find the same files in an unchanged index.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from code_intel.config import TokenizationStrategy
from code_intel.forest.bundles import boosts
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.forest.bundles.tokens import fold, tokenise
from code_intel.forest.ranking.paths import relative
from code_intel.forest.ranking.question import read
from code_intel.index.rows import ChunkRow
from code_intel.index.store import NEIGHBOURS, Store

NAMES = 0.5
"""What BM25 over path and symbol names counts for, beside that over texts."""
PHRASE = 1.5
"""Factor of a chunk that has a phrase of the query as it is."""


class FileHit(NamedTuple):
    """A file, its boosted score, the score before, tags that say why, and its best chunk."""

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
    wanted: Callable[[str, str], bool] = lambda path, language: True,  # noqa: ARG005 - all are
) -> list[FileHit]:
    """Return the files with any of the query's words, best first; equals by path.

    Args:
        store: The forest's index.
        query: Words, Japanese ones also as code calls it; a quoted or compound one counts more where it
            stands as it is.
        top_k: Most files.
        boost: Which kind of file.
        strategy: How compounds are read.
        bases: Folders that were indexed, as documents name them.
        wanted: Whether a file of that path and language may be found.
    """
    terms = read(query).terms
    scores: dict[int, float] = {}
    for column, weight in (("body", 1.0), ("names", NAMES)):
        for chunk, bm25 in store.word_hits(terms, column, NEIGHBOURS):  # type: ignore[arg-type]  # the two columns
            scores[chunk] = scores.get(chunk, 0.0) + weight * bm25
    phrases = tokenise(query, strategy).phrases
    best: dict[str, FileHit] = {}
    for row in store.chunk_rows(scores).values():
        if not wanted(row.path, row.language):
            continue
        text = fold(row.text) if phrases else ""
        said = tuple(f"phrase:{phrase}" for phrase in phrases if phrase in text)
        bm25 = scores[row.id] * (PHRASE if said else 1.0)
        known = best.get(row.path)
        if known is None or (bm25, -row.position) > (known.bm25, -known.chunk.position):
            kind = boosts.file_type(relative(row.path, bases), row.language)
            why = filter(None, (*said, boosts.tag(kind, boost), "words"))
            score = boosts.multiplied(bm25, kind, boost)
            best[row.path] = FileHit(row.path, score, bm25, tuple(sorted(why)), row)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.path))[: max(top_k, 0)]
