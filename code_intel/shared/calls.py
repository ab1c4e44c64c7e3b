"""Define the questions to an index that travel over HTTP: the methods of `SourceStore`.

`METHODS` is the table of both sides: the server calls no other method, and the client accepts no
other result. A hit comes with the place of its chunk, so that a ranking asks less often. Methods
that a shared index answers with nothing (`pages`, `latest`, `commit_hits`) do not travel.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import ChunkPlace, ChunkRow
from code_intel.records import Definition
from code_intel.shared.wire import (
    MAX_CALLS,
    MAX_GENERATIONS,
    MAX_ITEMS,
    ChunkId,
    Count,
    Hex,
    Name,
    OptionalHex,
    Path,
    Score,
    Text,
    Word,
    vector_bytes,
    vector_of,
)

MAX_TERMS = 500
MAX_HITS = 4096
MAX_SYMBOLS = 1000

Terms = Annotated[tuple[Name, ...], Field(max_length=MAX_TERMS)]
Limit = Annotated[int, Field(ge=0, le=MAX_HITS)]
Ids = Annotated[tuple[ChunkId, ...], Field(max_length=4 * MAX_HITS)]
Paths = Annotated[tuple[Path, ...], Field(max_length=MAX_ITEMS)]
Symbols = Annotated[tuple[Name, ...], Field(max_length=MAX_SYMBOLS)]
Hits = Annotated[list[tuple[ChunkId, Score]], Field(max_length=MAX_HITS)]


class WirePlace(NamedTuple):
    """A `ChunkPlace`."""

    id: ChunkId
    path: Path
    position: Count
    language: Word
    symbols: Symbols

    def record(self) -> ChunkPlace:
        """Return the record."""
        return ChunkPlace(*self[:4], "\n".join(self.symbols))


class WireRow(NamedTuple):
    """A `ChunkRow` without its card, which no ranking needs."""

    id: ChunkId
    document_id: ChunkId
    path: Path
    position: Count
    start_line: Count
    end_line: Count
    text: Text
    symbols: Symbols
    language: Word

    def record(self) -> ChunkRow:
        """Return the record."""
        return ChunkRow(*self, "")


class WireDefinition(NamedTuple):
    """A `Definition`."""

    name: Name
    qualified: Name
    kind: Word
    file: Path
    line: Count
    end_line: Count
    signature: Annotated[str, Field(max_length=2000)]
    language: Word
    digest: OptionalHex
    body: OptionalHex

    def record(self) -> Definition:
        """Return the record."""
        return Definition(*self)


class WireHits(NamedTuple):
    """Hits, and the places of their chunks."""

    hits: Hits
    places: Annotated[list[WirePlace], Field(max_length=MAX_HITS)]


class WordQuestion(NamedTuple):
    """The arguments of `SourceStore.word_hits`."""

    terms: Terms
    column: Literal["body", "names"]
    limit: Limit


class VectorQuestion(NamedTuple):
    """The arguments of `SourceStore.vector_hits`; the vector as text."""

    vector: Annotated[str, Field(max_length=32_768)]
    limit: Limit


class SymbolQuestion(NamedTuple):
    """The arguments of `SourceStore.definitions`."""

    symbol: Name
    exact: bool
    limit: Limit


Answer = Callable[[SourceStore, Any], object]
"""Asks a store with the checked arguments; returns the result as JSON."""


class Method(NamedTuple):
    """One row of the table.

    Attributes:
        arguments: The form of the arguments, a list.
        result: The form of the result.
        answer: Asks a store.
        is_bulk: Whether a client may keep the result with the generation, which never changes.
    """

    arguments: TypeAdapter[Any]
    result: TypeAdapter[Any]
    answer: Answer
    is_bulk: bool = False


def _places(store: SourceStore, ids: Iterable[int]) -> list[Any]:
    return [(*row[:4], row.symbols) for row in store.chunk_places(ids)]


def _with_places(store: SourceStore, hits: list[tuple[int, float]]) -> Any:
    return hits, _places(store, [chunk for chunk, _ in hits])


def _word_hits(store: SourceStore, asked: WordQuestion) -> Any:
    return _with_places(store, store.word_hits(*asked))


def _vector_hits(store: SourceStore, asked: VectorQuestion) -> Any:
    vector = vector_of(vector_bytes(asked.vector))
    return _with_places(store, store.vector_hits(vector, asked.limit))


def _definition_chunks(store: SourceStore, name: str) -> Any:
    return _with_places(store, [(chunk, 0.0) for chunk in store.definition_chunks(name)[:MAX_HITS]])


def _rows(rows: Iterable[ChunkRow]) -> list[Any]:
    return [row[:-1] for row in rows]


def _definitions(found: Iterable[Definition]) -> list[Any]:
    return [
        (d.name, d.qualified, d.kind, d.file, d.line, d.end_line, d.signature, d.language,
         d.digest, d.body)
        for d in found
    ]  # fmt: skip


def _method(arguments: Any, result: Any, answer: Answer, *, is_bulk: bool = False) -> Method:
    return Method(TypeAdapter(arguments), TypeAdapter(result), answer, is_bulk)


def _list(row: Any) -> Any:
    return Annotated[list[row], Field(max_length=MAX_ITEMS)]


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "model": _method(None, Name, lambda store, _: store.model() or ""),
        "word_hits": _method(WordQuestion, WireHits, _word_hits),
        "word_counts": _method(
            Terms, tuple[Count, dict[Name, Count]], lambda store, terms: store.word_counts(terms)
        ),
        "vector_hits": _method(VectorQuestion, WireHits, _vector_hits),
        "definition_chunks": _method(Name, WireHits, _definition_chunks),
        "chunk_places": _method(Ids, _list(WirePlace), _places),
        "chunk_rows": _method(
            Ids, _list(WireRow), lambda store, ids: _rows(store.chunk_rows(ids).values())
        ),
        "chunk_texts": _method(
            Ids, _list(tuple[ChunkId, Text]), lambda store, ids: [*store.chunk_texts(ids).items()]
        ),
        "chunks_of": _method(
            Paths,
            _list(WireRow),
            lambda store, paths: _rows(store.chunks_of(paths)),
            is_bulk=True,
        ),
        "digests": _method(
            None,
            _list(tuple[Path, Word, Hex]),
            lambda store, _: store.digests(),
            is_bulk=True,
        ),
        "definitions": _method(
            SymbolQuestion,
            _list(WireDefinition),
            lambda store, asked: _definitions(
                store.definitions(asked.symbol, exact=asked.exact, limit=asked.limit)
            ),
        ),
        "defined_in": _method(
            Paths,
            _list(WireDefinition),
            lambda store, paths: _definitions(store.defined_in(paths)),
            is_bulk=True,
        ),
        "imports": _method(
            Paths | None,
            _list(tuple[Path, Name]),
            lambda store, paths: store.imports(paths),
            is_bulk=True,
        ),
    }
)


class StoreCalls(NamedTuple):
    """Questions to the index of some generations; arguments are checked by method."""

    generations: Annotated[tuple[Hex, ...], Field(min_length=1, max_length=MAX_GENERATIONS)]
    calls: Annotated[tuple[tuple[Word, Any], ...], Field(max_length=MAX_CALLS)]


STORE_CALLS = TypeAdapter(StoreCalls)
RESULTS: TypeAdapter[list[Any]] = TypeAdapter(list[Any])
