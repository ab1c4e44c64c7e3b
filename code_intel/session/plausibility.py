"""Judge whether a symbol is a plausible place for a request (docs/decisions/0058).

The facts come from one search for the whole request and one for each slot. One fitted score
combines them. `benchmarks/fit_plausibility.py` fits the constants on commits and labelled questions
of other repositories; the real tasks only measure them.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

MAX_COUNTED_WORDS = 6
"""Further words of the request that a quote holds are worth nothing."""
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
    linked: float
    words: float
    covered: float


WEIGHTS: Mapping[bool, ScoreWeights] = MappingProxyType(
    {
        True: ScoreWeights(-2.63, 1.65, 2.84, 1.21, 0.0, 0.86, 0.65),
        False: ScoreWeights(-2.48, 1.67, 2.4, 1.33, 0.16, 0.58, 0.58),
    }
)
"""The constants by whether the search used vectors.

Links to the first hits are worth almost nothing against an agent that tries every symbol, because
in a wrong file one of them is linked as often as in the right one.
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
        + weights.linked * facts.linked
        + weights.words * min(len(facts.words), MAX_COUNTED_WORDS) / MAX_COUNTED_WORDS
        + weights.covered * facts.covered
    )
    return 1 / (1 + math.exp(-total))


def is_plausible(facts: PlausibilityFacts) -> bool:
    """Return whether a change may rest on this symbol."""
    return score(facts) >= THRESHOLD


def missing_link(facts: PlausibilityFacts) -> str:
    """Return what would link a refused symbol to the request, and what the search ranks first."""
    found = (
        f"its file is number {facts.rank} in the search for the request"
        if facts.rank
        else "the search for the request does not find its file"
    )
    links = [found]
    if not facts.linked:
        links.append("the first hits neither use it nor are used by it")
    links.append(_words(facts))
    message = f"{facts.symbol} is not linked to the request: {'; '.join(links)}."
    if facts.first:
        message += f" The search ranks first: {', '.join(facts.first[:SHOWN_FIRST])}."
    return message


def _words(facts: PlausibilityFacts) -> str:
    if facts.words:
        shown = ", ".join(f"“{word}”" for word in facts.words[:SHOWN_WORDS])
        return f"of its rare words, quote and name hold only {shown}"
    if not facts.rare:
        return "no word of the request is rare enough to link them"
    wanted = ", ".join(f"“{word}”" for word in facts.rare[:SHOWN_WORDS])
    return f"quote and name hold none of its rare words ({wanted})"
