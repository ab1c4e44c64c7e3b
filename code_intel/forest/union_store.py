"""Search several indexes as one.

A part of a union is an index, the prefix of its documents' names, and the documents that are not
shown. So a developer's files lie over a shared index, and several repositories are searched
together (docs/decisions/0093).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from code_intel.forest import bm25
from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import ChunkPlace, ChunkRow, CommitHit
from code_intel.records import Definition

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

ResultT = TypeVar("ResultT")
Hits = list[tuple[int, float]]
"""Chunk ids with their scores, best first."""
Search = Callable[[SourceStore, int], Hits]
"""Returns at most so many hits of an index."""
MORE = 4
"""Factor by which more hits are fetched if too many of them are in hidden documents."""
SMALL_CHUNKS = 1000
"""A part with fewer chunks takes the rarity of words from all parts; see `bm25`."""


class Part(NamedTuple):
    """One index of a union.

    Attributes:
        store: The index.
        prefix: What comes before the names of its documents, such as `shop/`.
        hidden: The names in this index of documents that the union does not show.
    """

    store: SourceStore
    prefix: str = ""
    hidden: Collection[str] = frozenset()

    def shows(self, path: str) -> bool:
        """Return whether the union shows a document of this index."""
        return path not in self.hidden

    def own(self, paths: Iterable[str]) -> list[str]:
        """Return the names in this index of the union's documents that it may show."""
        cut = len(self.prefix)
        names = (path[cut:] for path in paths if path.startswith(self.prefix))
        return [name for name in names if self.shows(name)]


class UnionStore:
    """Several indexes as one; a `SourceStore`.

    Two parts with the same prefix must not show the same document. The vectors of a part are used
    if `can_search` accepts the part's model; by default, it is the model of the first part that has
    one.

    Attributes:
        parts: The indexes.
    """

    def __init__(
        self, parts: Iterable[Part], can_search: Callable[[str], bool] | None = None
    ) -> None:
        self.parts = tuple(parts)
        self._can_search = can_search
        self._cached: dict[str, tuple[object, Any]] = {}

    def over(self, parts: Iterable[Part]) -> "UnionStore":
        """Return a union of other parts, which keeps the values of `cached`.

        Use it if a part hides other documents than before: the import graph is then not built
        again as a whole.
        """
        union = UnionStore(parts, self._can_search)
        union._cached = self._cached
        return union

    def part_of(self, document: str) -> tuple[Part, str]:
        """Return the part that a document is of, and its name there.

        Raises:
            LookupError: No part has documents with such a name.
        """
        parts = [part for part in self.parts if document.startswith(part.prefix)]
        shown = [part for part in parts if part.shows(document[len(part.prefix) :])]
        part = max(shown or parts, key=lambda part: len(part.prefix), default=None)
        if part is None:
            raise LookupError(document)
        return part, document[len(part.prefix) :]

    def without_vectors(self) -> list[Part]:
        """Return the parts whose documents are found by words only."""
        searched = set(self._with_vectors())
        return [part for number, part in enumerate(self.parts) if number not in searched]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads in the block see the same data."""
        with ExitStack() as stack:
            # Two unions of the same indexes lock them in the same order.
            for part in sorted(self.parts, key=lambda part: id(part.store)):
                stack.enter_context(part.store.snapshot())
            yield

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that every change of an index changes; None during a change."""
        tokens = [part.store.version_token() for part in self.parts]
        known = [token for token in tokens if token is not None]
        if len(known) < len(tokens):
            return None
        return tuple(number for token in known for number in (len(token), *token))

    def revision(self) -> str:
        """Return a value that changes when a document does, or the documents that are shown."""
        return repr([(p.prefix, p.store.revision(), sorted(p.hidden)) for p in self.parts])

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the indexes; compute it again when `version` changes."""
        known, value = self._cached.get(name, (None, None))
        if version is None or known != version:
            value = compute(value)
            if version is not None:
                self._cached[name] = (version, value)
        return cast(ResultT, value)

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors."""
        return next((self.parts[number].store.model() for number in self._with_vectors()), None)

    # --- candidates

    def word_hits(
        self, terms: Iterable[str], column: Literal["body", "names"], limit: int
    ) -> list[tuple[int, float]]:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; higher is better."""
        tokens = tuple(terms)

        def search(store: SourceStore, number: int) -> Hits:
            return store.word_hits(tokens, column, number)

        found = self._found(range(len(self.parts)), search, limit)
        if len(self.parts) > 1:
            small = {n: hits for n, hits in found.items() if hits and self._is_small(n)}
            weights = bm25.weights_of(tokens, *self.word_counts(tokens)) if small else {}
            found |= bm25.scores(
                {n: self._words(n, [chunk for chunk, _ in small[n]]) for n in small},
                column,
                weights,
            )
        return self._best(found, limit)

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it.

        Chunks of hidden documents count, too: they are few, and similar to those shown instead.
        """
        tokens, total, counts = tuple(terms), 0, Counter[str]()
        for part in self.parts:
            chunks, found = part.store.word_counts(tokens)
            total += chunks
            counts.update(found)
        return total, dict(counts)

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks, best first."""

        def search(store: SourceStore, number: int) -> Hits:
            return store.vector_hits(query, number)

        return self._best(self._found(self._with_vectors(), search, limit), limit)

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        return [
            self._id(number, chunk)
            for number, part in enumerate(self.parts)
            for chunk in _shown(part, part.store.definition_chunks(name))
        ]

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:
        """Return the files that earlier commits changed whose messages have any of `terms`.

        The commits of hidden documents count: they are about the file that is shown instead.
        """
        tokens, found = tuple(terms), dict[str, CommitHit]()
        for part in self.parts:
            for path, hit in part.store.commit_hits(tokens).items():
                name = part.prefix + path
                if name not in found or found[name].score < hit.score:
                    found[name] = hit
        return found

    # --- chunks

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are, without their texts."""
        return [
            row._replace(id=self._id(number, row.id), path=part.prefix + row.path)
            for number, part, own in self._by_part(ids)
            for row in part.store.chunk_places(own)
            if part.shows(row.path)
        ]

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist."""
        rows = (
            self._row(number, row)
            for number, part, own in self._by_part(ids)
            for row in part.store.chunk_rows(own).values()
            if part.shows(row.path)
        )
        return {row.id: row for row in rows}

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""
        return {
            self._id(number, chunk): text
            for number, part, own in self._by_part(ids)
            for chunk, text in part.store.chunk_texts(_shown(part, own)).items()
        }

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""
        wanted = list(paths)
        rows = (
            self._row(number, row)
            for number, part in enumerate(self.parts)
            if (own := part.own(wanted))
            for row in part.store.chunks_of(own)
        )
        return sorted(rows, key=lambda row: (row.path, row.position))

    def pages(self) -> list[int]:
        """Return the chunk ids of pages that query plans wrote; `word_hits` does not find them."""
        return [
            self._id(number, chunk)
            for number, part in enumerate(self.parts)
            for chunk in _shown(part, part.store.pages())
        ]

    # --- documents and what they define

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        return [
            (part.prefix + path, language, digest)
            for part in self.parts
            for path, language, digest in part.store.digests()
            if part.shows(path)
        ]

    def latest(self, limit: int) -> list[tuple[str, int]]:
        """Return (path, mtime in ns) of the most recently changed documents, if they are known."""
        rows = [
            (part.prefix + path, mtime)
            for part in self.parts
            for path, mtime in part.store.latest(limit + len(part.hidden))
            if part.shows(path)
        ]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[: max(limit, 0)]

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined, in the order of the parts.

        With `exact=False`, symbols that contain the name, in any case, follow the exact matches.
        """
        if limit <= 0:
            return []
        found = dict.fromkeys(self._definitions(symbol, limit, exact=True))
        if not exact and len(found) < limit:
            found |= dict.fromkeys(self._definitions(symbol, limit, exact=False))
        return list(found)[:limit]

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""
        wanted = list(paths)
        found = [
            replace(definition, file=part.prefix + definition.file)
            for part in self.parts
            if (own := part.own(wanted))
            for definition in part.store.defined_in(own)
        ]
        return sorted(found, key=lambda d: (d.file, d.line, -d.end_line))

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
        wanted = None if paths is None else list(paths)
        return [
            (part.prefix + path, target)
            for part in self.parts
            for path, target in part.store.imports(None if wanted is None else part.own(wanted))
            if part.shows(path)
        ]

    # --- parts

    def _with_vectors(self) -> list[int]:
        """Return the numbers of the parts whose vectors searches use."""
        models = [part.store.model() for part in self.parts]
        first = next(filter(None, models), None)
        can_search = self._can_search or (lambda model: model == first)
        return [number for number, model in enumerate(models) if model and can_search(model)]

    def _found(self, numbers: Iterable[int], search: Search, limit: int) -> dict[int, Hits]:
        """Return the best hits of some parts, with the ids of the parts, by part."""
        return {number: _search_shown(self.parts[number], search, limit) for number in numbers}

    def _best(self, found: Mapping[int, Hits], limit: int) -> Hits:
        """Return the best of the hits of the parts; ties in the order of the parts."""
        hits = [
            (self._id(number, chunk), score)
            for number, each in found.items()
            for chunk, score in each
        ]
        return sorted(hits, key=lambda hit: -hit[1])[: max(limit, 0)]

    def _is_small(self, number: int) -> bool:
        """Return whether a part has too few chunks to know how rare words are."""
        return self.parts[number].store.word_counts(())[0] < SMALL_CHUNKS

    def _words(self, number: int, chunks: Iterable[int]) -> dict[int, bm25.ChunkWords]:
        """Return the tokens of chunks of a small part, which are kept until it changes."""
        store = self.parts[number].store
        known = self.cached(
            f"words {number}",
            (id(store), store.version_token()),
            lambda _: dict[int, bm25.ChunkWords](),
        )
        wanted = list(chunks)
        rows = store.chunk_rows(chunk for chunk in wanted if chunk not in known)
        known.update((chunk, bm25.words_of(row)) for chunk, row in rows.items())
        return {chunk: known[chunk] for chunk in wanted if chunk in known}

    def _definitions(self, symbol: str, limit: int, *, exact: bool) -> Iterator[Definition]:
        for part in self.parts:
            fetch = limit
            while True:
                rows = part.store.definitions(symbol, exact=exact, limit=fetch)
                found = [row for row in rows if part.shows(row.file)]
                if len(found) >= limit or len(rows) < fetch:
                    break
                fetch *= MORE
            yield from (replace(row, file=part.prefix + row.file) for row in found)

    def _id(self, number: int, chunk: int) -> int:
        """Return the id of a part's chunk in the union."""
        return chunk * len(self.parts) + number

    def _by_part(self, ids: Iterable[int]) -> Iterator[tuple[int, Part, list[int]]]:
        """Yield each part that has some of these chunks, with its number and its own ids."""
        own: dict[int, list[int]] = {}
        for chunk in ids:
            key, number = divmod(chunk, len(self.parts))
            own.setdefault(number, []).append(key)
        for number in sorted(own):
            yield number, self.parts[number], own[number]

    def _row(self, number: int, row: ChunkRow) -> ChunkRow:
        return row._replace(
            id=self._id(number, row.id),
            document_id=self._id(number, row.document_id),
            path=self.parts[number].prefix + row.path,
        )


def _search_shown(part: Part, search: Search, limit: int) -> Hits:
    """Return the best hits of a part in documents that are shown."""
    fetch = limit
    while True:
        hits = search(part.store, fetch)
        shown = set(_shown(part, [chunk for chunk, _ in hits]))
        found = [hit for hit in hits if hit[0] in shown]
        if len(found) >= limit or len(hits) < fetch:
            return found[: max(limit, 0)]
        fetch *= MORE


def _shown(part: Part, chunks: list[int]) -> list[int]:
    """Return those chunks of a part that are in documents that are shown."""
    if not (part.hidden and chunks):
        return chunks
    shown = {row.id for row in part.store.chunk_places(chunks) if part.shows(row.path)}
    return [chunk for chunk in chunks if chunk in shown]
