"""Which documents people are at: those changed last, if the rest has been lying there for longer.

A fresh checkout has one time for all of its files, which says nothing. Times are compared with each
other and never with the clock, so an unchanged index gives the same answer.
"""

from collections.abc import Mapping
from itertools import takewhile
from weakref import WeakKeyDictionary

from code_intel.index.store import Store

MOST = 16
"""Documents that may count as changed lately."""
LONGER = 3600 * 10**9
"""Nanoseconds by which they are newer than the next one after them."""

_KEPT: WeakKeyDictionary[Store, tuple[str, Mapping[str, float]]] = WeakKeyDictionary()


def recent_of(store: Store) -> Mapping[str, float]:
    """Return the documents changed last, the latest with 1, the others with less; often none."""
    with store.snapshot():
        revision, kept = store.revision(), _KEPT.get(store)
        if kept is None or kept[0] != revision:
            kept = _KEPT[store] = (revision, _recent(store))
        return kept[1]


def _recent(store: Store) -> Mapping[str, float]:
    *latest, (_, before) = store.latest(MOST + 1) or [("", 0)]
    if len(latest) < MOST:
        return {}
    newer = takewhile(lambda row: row[1] - before > LONGER, latest)
    return {path: 1 - place / MOST for place, (path, _) in enumerate(newer)}
