"""Combine rankings by reciprocal rank fusion, which needs no comparable scores (seed 000)."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT", bound=Hashable)

K = 60
"""Smooths the first places; the usual value."""
NOT_FOUND = -1


def fused(rankings: Sequence[Sequence[ItemT]]) -> list[tuple[ItemT, float, tuple[int, ...]]]:
    """Return each item with Σ 1/(K + place) and its place in each ranking, best first.

    Args:
        rankings: Each best first; only the first place of an item counts.

    Returns:
        Places count from 1; NOT_FOUND if a ranking does not have the item. Of equal scores, the
        item of the earlier ranking, or at the earlier place, comes first.

    >>> [(name, places) for name, _, places in fused([["a", "b"], ["b", "c"]])]
    [('b', (2, 1)), ('a', (1, -1)), ('c', (-1, 2))]
    """
    places: dict[ItemT, list[int]] = {}
    for number, ranking in enumerate(rankings):
        for place, thing in enumerate(dict.fromkeys(ranking), start=1):
            places.setdefault(thing, [NOT_FOUND] * len(rankings))[number] = place
    scored = [
        (thing, sum(1 / (K + place) for place in ranks if place != NOT_FOUND), tuple(ranks))
        for thing, ranks in places.items()
    ]
    return sorted(scored, key=lambda row: -row[1])
