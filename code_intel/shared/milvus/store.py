"""Read generations of the shared index as one `SourceStore`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from code_intel.index.rows import ChunkPlace, ChunkRow, CommitHit
from code_intel.records import Definition

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

ResultT = TypeVar("ResultT")


class DocumentPlace(NamedTuple):
    """Where a document of a `SharedStore` is."""

    repository: str
    commit: str
    path: str


class SharedStore:
    """Generations of the shared index; they never change, so any thread may read them.

    With one generation, document names are the paths; with several, they are `repository/path`.
    """

    def place_of(self, document: str) -> DocumentPlace:
        """Return the repository, the commit and the path of a document name.

        Raises:
            NotFoundError: No generation of the store has such a repository.
        """
        raise NotImplementedError

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads in the block see the same data, as they always do."""
        yield

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that identifies the generations and the hidden paths."""
        raise NotImplementedError

    def revision(self) -> str:
        """Return the same as a text."""
        raise NotImplementedError

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the index; see `SourceStore.cached`."""
        raise NotImplementedError

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors."""
        raise NotImplementedError

    def word_hits(
        self, terms: Iterable[str], column: Literal["body", "names"], limit: int
    ) -> list[tuple[int, float]]:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first."""
        raise NotImplementedError

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it."""
        raise NotImplementedError

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks, best first."""
        raise NotImplementedError

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        raise NotImplementedError

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:
        """Return nothing: a push sends no commits."""
        raise NotImplementedError

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are, without their texts."""
        raise NotImplementedError

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist."""
        raise NotImplementedError

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""
        raise NotImplementedError

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""
        raise NotImplementedError

    def pages(self) -> list[int]:
        """Return nothing: pages of query plans are not pushed."""
        raise NotImplementedError

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        raise NotImplementedError

    def latest(self, limit: int) -> list[tuple[str, int]]:
        """Return nothing: the times of files in a build farm mean nothing."""
        raise NotImplementedError

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined; see `SourceStore.definitions`."""
        raise NotImplementedError

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""
        raise NotImplementedError

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
        raise NotImplementedError
