"""Find the documents that were changed recently.

Documents count as recent if they are clearly newer than the others: all files of a fresh checkout
have the same time. Times are compared with each other and not with the clock, so an unchanged index
gives the same answer.
"""

from collections.abc import Mapping
from itertools import takewhile

from code_intel.index.store import Store

MAX_DOCUMENTS = 16
MIN_AGE_GAP_NS = 3600 * 10**9
"""How much newer than the next older document the recent ones must be."""


def recent_of(store: Store) -> Mapping[str, float]:
    """Return the recently changed documents, the latest with 1, older ones with less."""
    with store.snapshot():
        return store.derived("recent", store.revision(), lambda _: _recent(store))


def _recent(store: Store) -> Mapping[str, float]:
    *latest, (_, before) = store.latest(MAX_DOCUMENTS + 1) or [("", 0)]
    if len(latest) < MAX_DOCUMENTS:
        return {}
    newer = takewhile(lambda row: row[1] - before > MIN_AGE_GAP_NS, latest)
    return {path: 1 - place / MAX_DOCUMENTS for place, (path, _) in enumerate(newer)}
