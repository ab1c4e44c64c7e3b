"""Read generations of the shared index as one `SourceStore`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from code_intel.errors import EmbeddingError
from code_intel.forest.source_store import Memo
from code_intel.index.rows import (
    ChunkPlace,
    ChunkRow,
    Column,
    CommitHit,
    Hits,
    names_symbol,
    normalize_symbol,
)
from code_intel.index.store import MAX_HITS
from code_intel.records import Definition
from code_intel.shared.layers import BaseFile
from code_intel.shared.milvus import literals
from code_intel.shared.milvus.contents import key_of
from code_intel.shared.milvus.engine import Found
from code_intel.shared.milvus.reading import Reading
from code_intel.shared.milvus.symbol_rows import SymbolRow, by_likeness, by_place
from code_intel.shared.milvus.view import DocumentPlace, HiddenFiles, View
from code_intel.shared.milvus.weights import Counts, question
from code_intel.shared.recent import Recent
from code_intel.shared.records import Generation

if TYPE_CHECKING:
    from code_intel.forest.source_store import Vector

__all__ = ["DocumentPlace", "SharedStore"]

ResultT = TypeVar("ResultT")

MAX_SIMILAR = 2_000
"""Maximum names of symbols that a search by a part of a name compares."""
MAX_KEPT = 50_000
"""Maximum places and counts in memory; they never change."""
_NOWHERE: Counts = (0, 0, 0)
_OF_FILE = ("layer", "file")
_WORDS = ("layer", "path", "position", "language", "names")


class SharedStore:
    """Generations of the shared index; they never change, so any thread may read them.

    With one generation, document names are the paths; with several, they are `repository//path`.
    """

    def __init__(self, reading: Reading, generations: Sequence[Generation]) -> None:
        self._reading = reading
        self._view = View(generations, reading.tables)
        self._level = self._view.level
        self._memo = Memo()
        self._places: Recent[int, ChunkPlace] = Recent(MAX_KEPT)
        self._counts: Recent[str, Counts] = Recent(MAX_KEPT)
        self._both_columns = lru_cache(maxsize=8)(self._search_words)

    def place_of(self, document: str) -> DocumentPlace:
        """Return the repository, the commit and the path of a document name.

        Raises:
            NotFoundError: The store has no such document.
        """
        return self._view.place_of(document)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads in the block see the same data, as they always do."""
        yield

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that identifies the generations."""
        return (int(self._view.revision[:15], 16),)

    def revision(self) -> str:
        """Return the same as a text."""
        return self._view.revision

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the index; see `SourceStore.cached`."""
        return self._memo.cached(name, version, compute)

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors.

        With several, it is that of most repositories.
        """
        return self._view.model

    # --- candidates

    def word_hits(self, terms: Iterable[str], column: Column, limit: int) -> Hits:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; see `weights`."""
        if limit <= 0:
            return []
        both = self._both_columns(tuple(dict.fromkeys(terms)), min(limit, MAX_HITS))
        return [*both[column]]

    def narrowed(self, folder: str, glob: str, keeps: Callable[[str], bool]) -> None:
        """Return None: this index does not list its documents for a filter."""

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it."""
        counts = self._count(terms)
        return self._view.extent.chunks, {term: every for term, (every, *_) in counts.items()}

    def vector_hits(self, query: "Vector", limit: int) -> Hits:
        """Return (chunk id, cosine) of the nearest chunks, best first.

        Raises:
            EmbeddingError: `query` has the wrong dimensions.
        """
        if limit <= 0 or not self.model():
            return []
        if query.shape != (self._reading.dimensions,):
            raise EmbeddingError(
                f"A vector has the shape {query.shape}, but the shared index expects "
                f"{self._reading.dimensions} numbers.",
                hint="Use the model with which the repository was pushed.",
            )

        def search(number: int, condition: str) -> list[list[Found]]:
            return self._reading.nearest(query, number, condition, _OF_FILE, self._level)

        (found,) = _visible(search, min(limit, MAX_HITS), self._view.hidden_files_of_model)
        return _ranked(found, limit)

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        chunks = (int(chunk, 16) for row in self._named(name) for chunk in row.chunks)
        return list(dict.fromkeys(chunks))

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:  # noqa: ARG002 - Protocol
        """Return nothing: a push sends no commits."""
        return {}

    # --- chunks

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are, without their texts."""
        wanted = [*dict.fromkeys(ids)]
        known = self._places.found(wanted)
        missing = [_id(chunk) for chunk in wanted if chunk not in known and chunk >= 0]
        if missing:
            rows = self._reading.words(missing, _WORDS, self._level)
            known |= self._keep((str(row["id"]), row) for row in rows)
        return [known[chunk] for chunk in wanted if chunk in known]

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist. They have no cards."""
        wanted = {key_of("chunk", _id(chunk)): chunk for chunk in ids if chunk >= 0}
        found: dict[int, ChunkRow] = {}
        for key, value in self._reading.contents.get(wanted, self._level).items():
            layer, path, position, start, end, text, symbols, language = value
            if (document := self._view.document(layer, path)) is not None:
                chunk = wanted[key]
                place = (document, position, start, end, text, tuple(symbols), language, "")
                found[chunk] = ChunkRow(chunk, 0, *place)
        return found

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""
        return {chunk: row.text for chunk, row in self.chunk_rows(ids).items()}

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""
        files = self._files(paths).values()
        rows = self.chunk_rows(int(chunk[0], 16) for file in files for chunk in file["chunks"])
        return sorted(rows.values(), key=lambda row: (row.path, row.position))

    def pages(self) -> list[int]:
        """Return nothing: pages of query plans are not pushed."""
        return []

    # --- documents and what they define

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        return [(name, file.language, file.digest) for name, file in self._view.documents()]

    def base_files(self) -> dict[str, BaseFile]:
        """Return the files of the only generation by path, for the next push."""
        return self._view.base_files()

    def latest(self, limit: int) -> list[tuple[str, int]]:  # noqa: ARG002 - Protocol
        """Return nothing: the times of files in a build farm mean nothing."""
        return []

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined; see `SourceStore.definitions`."""
        name = normalize_symbol(symbol)
        if not name or limit <= 0:
            return []
        bare = name.rpartition(".")[2]
        found = [
            row.definition(bare)
            for row in self._named(bare)
            if names_symbol(name, row.qualified, row.path)
        ]
        if not exact and len(found) < limit:
            found = list(dict.fromkeys([*found, *self._similar(name.casefold())]))
        return found[:limit]

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""
        found = []
        for document, file in self._files(paths).items():
            for name, qualified, kind, start, end, signature, digest, body in file["symbols"]:
                place = (kind, document, start, end, signature, file["language"])
                found.append(Definition(name, qualified, *place, digest, body))
        return sorted(found, key=lambda each: (each.file, each.line, -each.end_line))

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
        if paths is None:
            files = {name: file.imports for name, file in self._view.documents()}
        else:
            files = {name: file["imports"] for name, file in self._files(paths).items()}
        return [(name, target) for name in sorted(files) for target in files[name]]

    # --- reading

    def _search_words(self, terms: tuple[str, ...], limit: int) -> dict[Column, Hits]:
        """Search both columns at once: the ranking asks for one after the other."""
        counts = self._count(terms)
        columns: tuple[Column, ...] = ("body", "names")
        queries = {
            column: query
            for column in columns
            if (query := question(terms, column, self._view.extent, counts))
        }
        found: dict[Column, Hits] = {"body": [], "names": []}
        if not queries:
            return found
        fields = (*_WORDS, "file")

        def search(number: int, condition: str) -> list[list[Found]]:
            terms = [*queries.values()]
            return self._reading.weighed(terms, number, condition, fields, self._level)

        answers = _visible(search, limit, self._view.hidden_files)
        for column, hits in zip(queries, answers, strict=True):
            self._keep((hit.id, hit.row) for hit in hits)
            found[column] = _ranked(hits, limit)
        return found

    def _count(self, terms: Iterable[str]) -> dict[str, Counts]:
        """Return in how many visible chunks tokens occur, of those that do."""
        wanted = [*dict.fromkeys(terms)]
        known = self._counts.found(wanted)
        if missing := [term for term in wanted if term not in known]:
            found = self._reading.tables.counts(self._view.layers, missing, self._level)
            read = {term: found.get(term, _NOWHERE) for term in missing}
            self._counts.put(read)
            known |= read
        return {term: known[term] for term in wanted if known[term][0] > 0}

    def _keep(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[int, ChunkPlace]:
        """Remember the places of visible chunks, and return them."""
        found: dict[int, ChunkPlace] = {}
        for row_id, row in rows:
            if (document := self._view.document(row["layer"], row["path"])) is not None:
                chunk = int(row_id, 16)
                place = (document, row["position"], row["language"], row["names"])
                found[chunk] = ChunkPlace(chunk, *place)
        self._places.put(found)
        return found

    def _named(self, name: str) -> list[SymbolRow]:
        """Return the visible definitions of a bare name, by place."""
        layers = {key_of("symbol", layer, name): layer for layer in self._view.layers}
        found = self._reading.symbols.get(layers, self._level)
        rows = (row for key, value in found.items() for row in self._shown(layers[key], value[1]))
        return sorted(rows, key=by_place)

    def _similar(self, folded: str) -> list[Definition]:
        """Return the symbols whose qualified name contains a text, shortest names first."""
        every = literals.any_of("layer", self._view.layers)
        where = f"{literals.repositories(self._view.repositories)} and {every}"
        condition = f"{where} and {literals.containing('folded', folded)}"
        layers = self._reading.similar(condition, MAX_SIMILAR, self._level)
        rows = [
            (str(name), row)
            for key, (name, value) in self._reading.symbols.get(layers, self._level).items()
            for row in self._shown(layers[key], value)
            if folded in row.qualified.casefold()
        ]
        rows.sort(key=lambda each: by_likeness(folded, each[1]))
        return [row.definition(name) for name, row in rows]

    def _shown(self, layer: str, definitions: Iterable[Any]) -> Iterator[SymbolRow]:
        """Yield visible definitions, with document names in place of paths."""
        for row in map(SymbolRow._make, definitions):
            if (document := self._view.document(layer, row.path)) is not None:
                yield row._replace(path=document)

    def _files(self, paths: Iterable[str]) -> dict[str, Any]:
        """Return the contents of documents by name."""
        keys = {
            key_of("file", layer, path): document
            for document in paths
            for layer, path in self._view.located(document)
        }
        found = self._reading.contents.get(keys, self._level)
        return {keys[key]: value for key, value in found.items()}


def _id(chunk: int) -> str:
    return f"{chunk:032x}"


def _visible(
    search: Callable[[int, str], list[list[Found]]], limit: int, hidden: HiddenFiles
) -> list[list[Found]]:
    """Return at least the best visible hits of a search, as many as there are up to `limit`.

    A condition for the hidden files of many layers takes an engine longer than the search itself.
    So more rows are searched than are needed, without it, and with it only if too many are hidden.
    """
    exact = literals.visible_rows(hidden)
    files = {layer: keys for layers in hidden.values() for layer, keys in layers.items() if keys}
    if not files:
        return search(limit, exact)
    fetched = min(2 * limit, MAX_HITS)
    answers = search(fetched, literals.rows_of(hidden))
    shown = [
        [hit for hit in hits if hit.row["file"] not in files.get(hit.row["layer"], ())]
        for hits in answers
    ]
    is_cut = any(
        len(found) < limit and len(hits) >= fetched
        for found, hits in zip(shown, answers, strict=True)
    )
    return search(limit, exact) if is_cut else shown


def _ranked(hits: Iterable[Found], limit: int) -> Hits:
    return sorted(((int(hit.id, 16), hit.score) for hit in hits), key=_best_first)[:limit]


def _best_first(hit: tuple[int, float]) -> tuple[float, int]:
    return (-hit[1], hit[0])
