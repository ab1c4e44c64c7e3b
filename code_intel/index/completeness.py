"""Count what an index contains, what is pending, and what the last scan could not settle."""

from typing import NamedTuple

from code_intel.index.store import Store

NOTES = {
    "held": "documents that seem deleted and are kept until the next scan confirms it",
    "unread": "documents that cannot be read and keep their previous content",
}
"""Descriptions of the counts that a sync stores in `meta`."""


class Completeness(NamedTuple):
    """How complete an index is.

    Attributes:
        files: Number of documents.
        pending: Number of chunks without a vector.
        scanned: Whether all files were scanned at least once.
        notes: What the last scan could not settle.
    """

    files: int = 0
    pending: int = 0
    scanned: bool = False
    notes: tuple[str, ...] = ()


def completeness_of(store: Store) -> Completeness:
    """Read the counts in one snapshot of the database."""
    with store.snapshot():
        scanned = store.get_meta("scanned_ns") is not None
        return Completeness(store.document_count(), _pending(store), scanned, _notes(store))


def _pending(store: Store) -> int:
    """Count the chunks without a vector, except pages of query plans (decision 0041)."""
    count = store.pending_count()
    pages = frozenset(store.pages()) if count else ()
    if not 0 < count <= len(pages):  # other chunks are pending, so the count need not be exact
        return count
    return sum(chunk not in pages for chunk, _ in store.pending(count))


def _notes(store: Store) -> tuple[str, ...]:
    counts = {key: int(store.get_meta(key) or 0) for key in NOTES}
    return tuple(f"index: {NOTES[key]}: {count}" for key, count in counts.items() if count)
