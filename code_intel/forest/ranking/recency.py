"""Find the documents that were changed recently.

Documents count as recent only if they are clearly newer than the others, because all files of a
fresh checkout have the same time. Their times are not compared with the clock, so an unchanged
index gives the same result.
"""

from collections.abc import Mapping
from itertools import takewhile

from code_intel.forest.source_store import SourceStore

MAX_DOCUMENTS = 16
MIN_AGE_GAP_NS = 3600 * 10**9
"""Minimum difference between a recent document and the newest one that is not recent."""


def recent_of(store: SourceStore) -> Mapping[str, float]:
    """Return the recently changed documents: 1 for the latest, less for older ones."""
    with store.snapshot():
        return store.cached("recent", store.revision(), lambda _: _recent(store))


def _recent(store: SourceStore) -> Mapping[str, float]:
    *latest, (_, next_mtime) = store.latest(MAX_DOCUMENTS + 1) or [("", 0)]
    if len(latest) < MAX_DOCUMENTS:
        return {}
    recent = takewhile(lambda row: row[1] - next_mtime > MIN_AGE_GAP_NS, latest)
    return {path: 1 - index / MAX_DOCUMENTS for index, (path, _) in enumerate(recent)}
