"""Search several indexes as one.

A part of a union is an index, the prefix of its documents' names, and the documents that are not
shown. So a developer's files lie over a shared index, and several repositories are searched
together (docs/decisions/0093).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from code_intel.forest.source_store import Memo, SourceStore
from code_intel.forest.union.parts import MORE, Part, search_shown, shown_chunks
from code_intel.forest.union.words import UnionWords
from code_intel.index.corpus import priority
from code_intel.index.rows import ChunkPlace, ChunkRow, Column, CommitHit, Hits, normalize_symbol
from code_intel.records import Definition

if TYPE_CHECKING:
    from code_intel.forest.source_store import Vector

ResultT = TypeVar("ResultT")


__all__ = ["Part", "UnionStore"]


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
        self._memo = Memo()
        self._words = UnionWords(self.parts, self.cached)

    def over(self, parts: Iterable[Part]) -> "UnionStore":
        """Return a union of other parts, which keeps the values of `cached`.

        Use it if a part hides other documents than before: the import graph is then not built
        again as a whole.
        """
        union = UnionStore(parts, self._can_search)
        union._memo = self._memo
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
        parts = [(p.prefix, p.store.revision(), *sorted(p.hidden)) for p in self.parts]
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the indexes; compute it again when `version` changes."""
        return self._memo.cached(name, version, compute)

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors."""
        return next((self.parts[number].store.model() for number in self._with_vectors()), None)

    # --- candidates

    def word_hits(
        self, terms: Iterable[str], column: Column, limit: int
    ) -> list[tuple[int, float]]:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; higher is better."""
        return self._best(self._words.hits(tuple(terms), column, limit), limit)

    def narrowed(self, folder: str, glob: str, keeps: Callable[[str], bool]) -> None:
        """Return None: this index does not list its documents for a filter."""

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it."""
        return self._words.counts(tuple(terms))

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks, best first."""

        def search(store: SourceStore, number: int) -> Hits:
            return store.vector_hits(query, number)

        numbers = self._with_vectors()
        return self._best({n: search_shown(self.parts[n], search, limit) for n in numbers}, limit)

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        found = [
            self._id(number, chunk)
            for number, part in enumerate(self.parts)
            for chunk in shown_chunks(part, part.store.definition_chunks(name))
        ]
        if len(self.parts) == 1:
            return found
        paths = {row.id: row.path for row in self.chunk_places(found)}
        return sorted(paths, key=lambda chunk: (priority(paths[chunk]), paths[chunk]))

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
            for chunk, text in part.store.chunk_texts(shown_chunks(part, own)).items()
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
            for chunk in shown_chunks(part, part.store.pages())
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
        """Return where `symbol` is defined: source before documents before tests, by path.

        With `exact=False`, symbols that contain the name, in any case, follow the exact matches:
        the shortest first.
        """
        if limit <= 0:
            return []

        def place(found: Definition) -> tuple[int, str, int]:
            return priority(found.file), found.file, found.line

        def likeness(found: Definition) -> tuple[bool, int, int, str, int]:
            folded = found.qualified.casefold()
            return folded != name, len(folded), *place(found)

        name = normalize_symbol(symbol).casefold()
        found = dict.fromkeys(sorted(self._definitions(symbol, limit, exact=True), key=place))
        if not exact and len(found) < limit:
            similar = self._definitions(symbol, limit, exact=False)
            found |= dict.fromkeys(sorted(similar, key=likeness))
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
        models = [part.store.model() if part.vectors else None for part in self.parts]
        first = next(filter(None, models), None)
        can_search = self._can_search or (lambda model: model == first)
        return [number for number, model in enumerate(models) if model and can_search(model)]

    def _best(self, found: Mapping[int, Hits], limit: int) -> Hits:
        """Return the best of the hits of the parts; ties in the order of the parts."""
        hits = [
            (self._id(number, chunk), score)
            for number, each in found.items()
            for chunk, score in each
        ]
        return sorted(hits, key=lambda hit: -hit[1])[: max(limit, 0)]

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
