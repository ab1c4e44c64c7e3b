"""Define what the ranking needs of an index.

The index of one project is `index.store.Store`, in SQLite. Others are the shared index, and several
indexes as one. `tests/forest/source_store` has the tests that each of them must pass.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from code_intel.index.rows import ChunkPlace, ChunkRow, Column, CommitHit, Hits
from code_intel.records import Definition

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

ResultT = TypeVar("ResultT")

SEPARATOR = "//"
"""Between a repository and the path in the name of a document of several repositories; no name of a
repository contains it."""


class Memo:
    """Values that were computed from an index; any thread may use it."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[object, Any]] = {}
        self._locks: dict[str, threading.RLock] = {}

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value; see `SourceStore.cached`. Two threads do not compute it at once."""
        with self._locks.setdefault(name, threading.RLock()):
            known, value = self._values.get(name, (None, None))
            if version is None or known != version:
                value = compute(value)
                if version is not None:
                    self._values[name] = (version, value)
            return cast(ResultT, value)


class Candidates(Protocol):
    """A search for the chunks that may answer a question."""

    def word_hits(self, terms: Iterable[str], column: Column, limit: int) -> Hits:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; higher is better.

        Terms are tokens as `chunking.words` returns them.
        """

    def vector_hits(self, query: "Vector", limit: int) -> Hits:
        """Return (chunk id, cosine) of the nearest chunks, best first."""

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""


class SourceStore(Candidates, Protocol):
    """An index of source files that can be searched and ranked.

    Paths are document names. A chunk id is an integer of any size, valid as long as the
    `version_token` stays the same.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads in the block see the same data."""

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that every change of the index changes; None during a change."""

    def revision(self) -> str:
        """Return a value that changes when a document does."""

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the index; compute it again when `version` changes."""

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors."""

    # --- candidates

    def narrowed(self, folder: str, glob: str, keeps: Callable[[str], bool]) -> Candidates | None:
        """Return a search of the documents that `keeps` accepts.

        With None, the caller looks for the documents among the hits of the whole index.

        Args:
            folder: All of these documents are below it, unless it is empty.
            glob: Identifies the search, together with the folder.
            keeps: Returns whether a document is searched.
        """

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it."""

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:
        """Return the files that earlier commits changed whose messages have any of `terms`."""

    # --- chunks

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are, without their texts."""

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist."""

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""

    def pages(self) -> list[int]:
        """Return the chunk ids of pages that query plans wrote; `word_hits` does not find them."""

    # --- documents and what they define

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""

    def latest(self, limit: int) -> list[tuple[str, int]]:
        """Return (path, mtime in ns) of the most recently changed documents, if they are known."""

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined: `login`, `AuthService.login`, `AuthService::login()`.

        With `exact=False`, symbols that contain the name, in any case, follow the exact matches.
        """

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
