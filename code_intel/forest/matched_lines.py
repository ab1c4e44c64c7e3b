"""Choose the lines of a text to show for a question."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from code_intel.chunking.words import words

NONE: frozenset[str] = frozenset()
WINDOW_LINES = 8
"""Lines that are compared together: the words of a question rarely stand on one line."""


def best_line(lines: Sequence[str], terms: Collection[str]) -> int | None:
    """Return the index of the line that matches a question best; None if no line has a term.

    The window of `WINDOW_LINES` lines with the most terms is chosen, and the best line in it. Terms
    that few lines have weigh more.

    Args:
        lines: The lines to choose from.
        terms: The question's tokens, as `chunking.words` returns them.

    >>> best_line(["# Copyright", "x = 1", "def save_cookie():", "    x = 2"], {"cooki", "x"})
    2
    """
    wanted = frozenset(terms)
    stems = _stems(terms)

    def terms_in(line: str) -> frozenset[str]:
        folded = line.casefold()
        if not any(stem in folded for stem in stems):  # splitting a line into words takes long
            return NONE
        return wanted.intersection(words(line))

    found = [terms_in(line) for line in lines]
    counts = Counter(term for terms_of_line in found for term in terms_of_line)
    weights = {term: math.log1p(len(lines) / count) for term, count in counts.items()}
    if not weights:
        return None

    def weight(terms_found: Collection[str]) -> float:
        return sum(weights[term] for term in sorted(terms_found))

    starts = [index for index, terms_of_line in enumerate(found) if terms_of_line]
    start = max(
        starts, key=lambda index: weight(frozenset().union(*found[index : index + WINDOW_LINES]))
    )
    window = range(start, min(start + WINDOW_LINES, len(lines)))
    return max(window, key=lambda index: weight(found[index]))


def first_match(line: str, terms: Collection[str]) -> int:
    """Return where the first of the terms begins in a line; 0 if none does.

    A term is a stem: `queri` stands for "query", and `organiz` for "organise".

    >>> first_match("    def query(self):", {"queri"})
    8
    """
    folded = line.casefold()
    return min((at for stem in _stems(terms) if (at := folded.find(stem)) >= 0), default=0)


def _stems(terms: Iterable[str]) -> list[str]:
    """Return how the spellings of some terms begin."""
    return [term[:-1] if term.endswith(("i", "z")) else term for term in terms]


def lines_around(
    costs: Sequence[int], center: int, budget: int, *, above: float = 1 / 3
) -> tuple[int, int]:
    """Return the first and the last index of the lines to show around `center`.

    Args:
        costs: The cost of each line.
        center: The index of the line that is always shown.
        budget: Maximum cost of the lines.
        above: The share of the budget for lines above the center, unless too few follow it.

    >>> lines_around([1] * 10, 4, 6)
    (3, 8)
    """
    first = last = center
    remaining = budget - costs[center]
    for share in (above, 1.0, 1.0):
        reserved = remaining * (1 - share)
        while first > 0 and remaining - costs[first - 1] >= reserved:
            first -= 1
            remaining -= costs[first]
        while last < len(costs) - 1 and remaining >= costs[last + 1]:
            last += 1
            remaining -= costs[last]
    return first, last
