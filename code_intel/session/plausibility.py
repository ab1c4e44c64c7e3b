"""Judge whether a symbol is a plausible place for a request (docs/decisions/0058).

The facts come from one search for the whole request, one for each slot, and the messages of earlier
commits. One fitted score combines them. `benchmarks/fit_plausibility.py` fits the constants on
commits; the real tasks only measure them.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

SHOWN_FIRST = 3
SHOWN_WORDS = 4


class PlausibilityFacts(NamedTuple):
    """What the index says about one symbol and its quote.

    Attributes:
        symbol: The symbol.
        file: The file that defines it.
        rank: Position of this file among the source files found for the request, from 1; 0 if it
            was not found.
        file_score: Score of the file in the search for the whole request, relative to the first.
        part_score: The same in the searches for each slot alone, the mean.
        file_words: BM25 of the file's text for the words of the request, relative to the best.
        history: Similarity of the request to the messages of the file's commits, relative to the
            best.
        linked: Whether it is part of the first hits, is named in one, or names one.
        in_part: Whether it is among the first hits for one slot alone.
        words: The rare words of the request that its quote, name or documentation holds.
        covered: Their share of the weight of all rare words of the request, 0 to 1.
        rare: All rare words of the request.
        first: What the search ranks first, as `file: symbol`.
        has_vectors: Whether the search used vectors.
    """

    symbol: str
    file: str
    rank: int = 0
    file_score: float = 0.0
    part_score: float = 0.0
    file_words: float = 0.0
    history: float = 0.0
    linked: bool = False
    in_part: bool = False
    words: tuple[str, ...] = ()
    covered: float = 0.0
    rare: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    has_vectors: bool = False


class ScoreWeights(NamedTuple):
    """The constants of the score for one kind of search; see `score`."""

    base: float
    file_score: float
    file_words: float
    first: float
    history: float
    covered: float


WEIGHTS: Mapping[bool, ScoreWeights] = MappingProxyType(
    {
        True: ScoreWeights(-2.88, 1.17, 2.59, 1.31, 1.71, 0.29),
        False: ScoreWeights(-2.74, 1.34, 2.17, 1.21, 1.73, 0.29),
    }
)
"""The constants by whether the search used vectors.

Links to the first hits are no fact of the score, because in a wrong file some symbol is linked as
often as in the right one. They only explain a refusal.
"""
THRESHOLD = 0.5
"""Least score of a plausible symbol."""


def score(facts: PlausibilityFacts) -> float:
    """Return how plausible a symbol is, from 0 to 1; 1 if the search found nothing to compare.

    >>> foreign = PlausibilityFacts("render", "page.py", first=("auth.py: login",))
    >>> score(foreign) > THRESHOLD
    False
    >>> score(foreign._replace(rank=1, file_score=1, part_score=1, file_words=1)) > THRESHOLD
    True
    """
    if not facts.first:
        return 1.0
    weights = WEIGHTS[facts.has_vectors]
    total = (
        weights.base
        + weights.file_score * (facts.file_score + facts.part_score) / 2
        + weights.file_words * facts.file_words
        + weights.first * (1 / facts.rank if facts.rank else 0.0)
        + weights.history * facts.history
        + weights.covered * facts.covered
    )
    return 1 / (1 + math.exp(-total))


def is_plausible(facts: PlausibilityFacts) -> bool:
    """Return whether a change may rest on this symbol."""
    return score(facts) >= THRESHOLD


def first_hits(facts: PlausibilityFacts) -> tuple[str, ...]:
    """Return what the search ranks first, as refusals name it."""
    return facts.first[:SHOWN_FIRST]


def missing_link(facts: PlausibilityFacts) -> str:
    """Return what would link a refused symbol to the request."""
    found = (
        f"its file is number {facts.rank} in the search for the request"
        if facts.rank
        else "the search for the request does not find its file"
    )
    links = [found]
    if not facts.linked:
        links.append("the first hits neither use it nor are used by it")
    links.append(_words(facts))
    return f"{facts.symbol} is not linked to the request: {'; '.join(links)}."


def _words(facts: PlausibilityFacts) -> str:
    if facts.words:
        shown = ", ".join(f"“{word}”" for word in facts.words[:SHOWN_WORDS])
        return f"of its rare words, quote and name hold only {shown}"
    if not facts.rare:
        return "no word of the request is rare enough to link them"
    wanted = ", ".join(f"“{word}”" for word in facts.rare[:SHOWN_WORDS])
    return f"quote and name hold none of its rare words ({wanted})"
