"""Decide whether anything that a search found is likely to answer the question.

A ranking has a first hit for every question, even for one about another project. The floor compares
how well the best hits match with what a perfect match would be, by constants that
`benchmarks/fit_floor.py` fits (docs/decisions/0081).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from code_intel.chunking.lexicon import english
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.question import RankedQuestion
from code_intel.forest.source_store import SourceStore

FITTED_MODEL = "multilingual-e5-small/"
"""Start of the identities of the engines for which `WITH_VECTORS` was fitted."""
COSINE_CENTRE, COSINE_SCALE = 0.85, 20.0
"""Bring cosines of this model, which are from .8 to .95, to the scale of the other measures."""


MAX_KEYWORDS = 2
MIN_CHUNKS = 200
"""The indexes for which the constants were fitted have more."""


class FloorConstants(NamedTuple):
    """The weights of `FloorMeasures`, in order, and the least sum of a likely answer."""

    weights: tuple[float, ...]
    least: float


class FloorMeasures(NamedTuple):
    """How well the best hits match a question.

    Attributes:
        bias: 1.
        body: BM25 of the best chunk, relative to the weight of all words of the question.
        names: The same for the names and the path of the best chunk.
        known: Share of this weight that words of the index have.
        words: Logarithm of 1 + the number of words.
        defines: How well a definition matches a name in the question, 0 to 1.
        size: Logarithm of the number of chunks of the index.
        cosine: The largest cosine, scaled; 0 without vectors.
        japanese_cosine: The same for a Japanese question, otherwise 0.
    """

    bias: float
    body: float
    names: float
    known: float
    words: float
    defines: float
    size: float
    cosine: float = 0.0
    japanese_cosine: float = 0.0


WORDS_ONLY = FloorConstants((-7.464, 5.595, 3.556, 1.263, 2.439, 5.179, -0.370), -2.017)
WITH_VECTORS = FloorConstants(
    (-2.961, 3.877, 2.381, 2.754, 1.071, 5.077, -0.709, 2.854, 1.714), -2.226
)


def is_likely(
    store: SourceStore, query: str, question: RankedQuestion, files: Sequence[File]
) -> bool:
    """Return whether the best of the files found is likely to answer.

    With vectors of a model for which nothing was fitted, everything is likely.

    Args:
        store: The forest's index.
        query: The question as it was asked.
        question: The same, parsed.
        files: What `gather` found.
    """
    if not files:
        return False
    has_vectors = any(file.cosines for file in files)
    if has_vectors and not (store.model() or "").startswith(FITTED_MODEL):
        return True
    constants = WITH_VECTORS if has_vectors else WORDS_ONLY
    return reaches(constants, measures_of(store, query, question, files))


def reaches(constants: FloorConstants, measures: FloorMeasures) -> bool:
    """Return whether the measures reach the floor.

    The definition of a name that is the whole question does. One or two words that all occur are a
    search by keyword, however common they are. In a small index, every word is common, so one that
    occurs is enough.
    """
    if measures.defines >= 1:
        return True
    if measures.known >= 1 and measures.words <= math.log(1 + MAX_KEYWORDS):
        return True
    if measures.known > 0 and measures.size < math.log(MIN_CHUNKS):
        return True
    pairs = zip(constants.weights, measures, strict=False)
    return sum(weight * value for weight, value in pairs) >= constants.least


def measures_of(
    store: SourceStore, query: str, question: RankedQuestion, files: Sequence[File]
) -> FloorMeasures:
    """Return how well the best of the files found match a question."""
    chunks, counts = store.word_counts(question.terms)
    weights = {
        term: math.log(1 + (chunks - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term in question.terms
    }
    total = sum(weights.values()) or 1.0
    cosine = _largest(file.cosines.values() for file in files)
    scaled = COSINE_SCALE * (cosine - COSINE_CENTRE) if cosine else 0.0
    return FloorMeasures(
        bias=1.0,
        body=_largest(file.body.values() for file in files) / total,
        names=_largest(file.names.values() for file in files) / total,
        known=sum(weights[term] for term in weights if term in counts) / total,
        words=math.log(1 + len(question.terms)),
        defines=_largest(file.defines.values() for file in files),
        size=math.log(max(1, chunks)),
        cosine=scaled,
        japanese_cosine=scaled if english(query) else 0.0,
    )


def _largest(values: Iterable[Iterable[float]]) -> float:
    return max((value for each in values for value in each), default=0.0)
