"""Define one index of a union, and search the documents of it that are shown."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import Hits

Search = Callable[[SourceStore, int], Hits]
"""Returns at most so many hits of an index."""
MORE = 4
"""Factor by which more hits are fetched if too many of them are in hidden documents."""


class Part(NamedTuple):
    """One index of a union.

    Attributes:
        store: The index.
        prefix: What comes before the names of its documents, such as `shop/`.
        hidden: The names in this index of documents that the union does not show.
        vectors: Whether its vectors may be searched.
    """

    store: SourceStore
    prefix: str = ""
    hidden: Collection[str] = frozenset()
    vectors: bool = True

    def shows(self, path: str) -> bool:
        """Return whether the union shows a document of this index."""
        return path not in self.hidden

    def own(self, paths: Iterable[str]) -> list[str]:
        """Return the names in this index of the union's documents that it may show."""
        cut = len(self.prefix)
        names = (path[cut:] for path in paths if path.startswith(self.prefix))
        return [name for name in names if self.shows(name)]


def search_shown(part: Part, search: Search, limit: int) -> Hits:
    """Return the best hits of a part in documents that are shown."""
    fetch = limit
    while True:
        hits = search(part.store, fetch)
        shown = set(shown_chunks(part, [chunk for chunk, _ in hits]))
        found = [hit for hit in hits if hit[0] in shown]
        if len(found) >= limit or len(hits) < fetch:
            return found[: max(limit, 0)]
        fetch *= MORE


def shown_chunks(part: Part, chunks: list[int]) -> list[int]:
    """Return those chunks of a part that are in documents that are shown."""
    if not (part.hidden and chunks):
        return chunks
    shown = {row.id for row in part.store.chunk_places(chunks) if part.shows(row.path)}
    return [chunk for chunk in chunks if chunk in shown]
