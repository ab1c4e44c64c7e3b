"""What an index says of its own completeness: how much there is, what waits, what the last scan could not settle."""

from typing import NamedTuple

from code_intel.index.store import Store

DOUBTS = {
    "held": "documents that seem gone, kept until that is sure",
    "unread": "documents that cannot be read, known as they were",
}
"""What a sync notes of itself, by the name of the number."""


class Counts(NamedTuple):
    """What a database says of its completeness.

    Attributes:
        files: Documents.
        pending: Chunks that wait for a vector.
        scanned: Whether all files were looked at once.
        doubts: What the last scan could not settle, as notes.
    """

    files: int = 0
    pending: int = 0
    scanned: bool = False
    doubts: tuple[str, ...] = ()


def counts_of(store: Store) -> Counts:
    """Ask a database, as it is at one moment."""
    with store.snapshot():
        scanned = store.get_meta("scanned_ns") is not None
        return Counts(store.document_count(), _waiting(store), scanned, _doubts(store))


def _waiting(store: Store) -> int:
    """Return how many chunks have no vector yet; pages that plans wrote are none to wait for (docs/decisions/0041)."""
    count = store.pending_count()
    pages = frozenset(store.pages()) if count else ()
    if not 0 < count <= len(pages):  # where more waits, a few of them make no difference
        return count
    return sum(chunk not in pages for chunk, _ in store.pending(count))


def _doubts(store: Store) -> tuple[str, ...]:
    counts = {key: int(store.get_meta(key) or 0) for key in DOUBTS}
    return tuple(f"index: {DOUBTS[key]}: {count}" for key, count in counts.items() if count)
