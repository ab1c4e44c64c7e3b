"""Search the chunks of some documents alone, as if the index had no others.

Only the number of chunks with a word is that of the whole index. See docs/decisions/0108.
"""

import json
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from code_intel.index import schema
from code_intel.index.database import Database
from code_intel.index.generations import Generations
from code_intel.index.rows import Column, Hits
from code_intel.index.searching.word_search import WordSearch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

MAX_CHUNKS = 1 << 16
"""Maximum chunks of a narrowed search. Listing more takes longer than filtering the best of all."""


def chunks_below(
    database: Database, folder: str, keeps: Callable[[str], bool]
) -> frozenset[int] | None:
    """Return the ids of the chunks of those documents that `keeps` accepts.

    All of them are below `folder`, or it is empty. With more than `MAX_CHUNKS`, return None.
    """
    if folder and folder.isascii():
        rows = database.rows(schema.DOCUMENTS_BELOW, (folder, f"{folder}/", f"{folder}0"))
    else:  # the name of a document may be composed of other characters
        rows = database.rows(schema.ALL_DOCUMENTS)
    documents = [key for key, path in rows if keeps(path)]
    if len(documents) > MAX_CHUNKS:
        return None
    found = database.rows(schema.CHUNKS_OF_DOCUMENTS, (json.dumps(documents), MAX_CHUNKS + 1))
    return frozenset(key for (key,) in found) if len(found) <= MAX_CHUNKS else None


class NarrowedSearch:
    """A search of some chunks of an index; see `forest.source_store.Candidates`."""

    def __init__(
        self,
        chunks: Collection[int],
        words: WordSearch,
        vectors: Generations,
        definitions: Callable[[str], list[int]],
    ) -> None:
        self._chunks = chunks
        self._words = words
        self._vectors = vectors
        self._definitions = definitions

    def word_hits(self, terms: Iterable[str], column: Column, limit: int) -> Hits:
        """Return (chunk id, BM25) of the best of these chunks with any of `terms`, all exact."""
        return self._words.hits_among(self._chunks, terms, column, limit)

    def vector_hits(self, query: "Vector", limit: int) -> Hits:
        """Return (chunk id, cosine) of the nearest of these chunks."""
        return self._vectors.nearest(query, limit, self._chunks)

    def definition_chunks(self, name: str) -> list[int]:
        """Return those of these chunks in which a symbol with that unqualified name starts."""
        return [chunk for chunk in self._definitions(name) if chunk in self._chunks]
