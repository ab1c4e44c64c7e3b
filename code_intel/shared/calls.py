"""Define the questions to an index that travel over HTTP: the methods of `SourceStore`.

`METHODS` is the table of both sides: the server calls no other method, and the client accepts no
other result. A hit comes with the place of its chunk, so that a ranking asks less often. Methods
that a shared index answers with nothing (`pages`, `latest`, `commit_hits`) do not travel.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import ChunkPlace, ChunkRow
from code_intel.records import Definition
from code_intel.shared.fields import (
    MAX_ITEMS,
    ChunkId,
    Count,
    Document,
    Empty,
    Hex,
    Name,
    NameLines,
    Names,
    OptionalHex,
    RecordForm,
    Score,
    Signature,
    Text,
    Word,
)
from code_intel.shared.routes import VectorText
from code_intel.shared.wire import vector_bytes, vector_of

MAX_TERMS = 500
MAX_HITS = 4096

Terms = Annotated[tuple[Name, ...], Field(max_length=MAX_TERMS)]
Limit = Annotated[int, Field(ge=0, le=MAX_HITS)]
Ids = Annotated[tuple[ChunkId, ...], Field(max_length=4 * MAX_HITS)]
Paths = Annotated[tuple[Document, ...], Field(max_length=MAX_ITEMS)]
Hits = Annotated[list[tuple[ChunkId, Score]], Field(max_length=MAX_HITS)]

SharedPlace = Annotated[
    ChunkPlace,
    RecordForm(id=ChunkId, path=Document, position=Count, language=Word, names=NameLines),
]
SharedRow = Annotated[
    ChunkRow,
    RecordForm(
        id=ChunkId,
        document_id=ChunkId,
        path=Document,
        position=Count,
        start_line=Count,
        end_line=Count,
        text=Text,
        symbols=Names,
        language=Word,
        card=Empty,
    ),
]
SharedDefinition = Annotated[
    Definition,
    RecordForm(
        name=Name,
        qualified=Name,
        kind=Word,
        file=Document,
        line=Count,
        end_line=Count,
        signature=Signature,
        language=Word,
        digest=OptionalHex,
        body=OptionalHex,
    ),
]


class FoundHits(NamedTuple):
    """Hits, and the places of their chunks."""

    hits: Hits
    places: Annotated[list[SharedPlace], Field(max_length=MAX_HITS)]


class WordQuestion(NamedTuple):
    """The arguments of `SourceStore.word_hits`."""

    terms: Terms
    column: Literal["body", "names"]
    limit: Limit


class VectorQuestion(NamedTuple):
    """The arguments of `SourceStore.vector_hits`; the vector as text."""

    vector: VectorText
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


def _with_places(store: SourceStore, hits: list[tuple[int, float]]) -> FoundHits:
    return FoundHits(hits, store.chunk_places(chunk for chunk, _ in hits))


def _word_hits(store: SourceStore, asked: WordQuestion) -> FoundHits:
    return _with_places(store, store.word_hits(asked.terms, asked.column, asked.limit))


def _vector_hits(store: SourceStore, asked: VectorQuestion) -> FoundHits:
    vector = vector_of(vector_bytes(asked.vector))
    return _with_places(store, store.vector_hits(vector, asked.limit))


def _definition_chunks(store: SourceStore, name: str) -> FoundHits:
    return _with_places(store, [(chunk, 0.0) for chunk in store.definition_chunks(name)[:MAX_HITS]])


def _method(arguments: Any, result: Any, answer: Answer, *, is_bulk: bool = False) -> Method:
    return Method(TypeAdapter(arguments), TypeAdapter(result), answer, is_bulk)


def _list(row: Any) -> Any:
    return Annotated[list[row], Field(max_length=MAX_ITEMS)]


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "model": _method(None, Name, lambda store, _: store.model() or ""),
        "word_hits": _method(WordQuestion, FoundHits, _word_hits),
        "word_counts": _method(
            Terms, tuple[Count, dict[Name, Count]], lambda store, terms: store.word_counts(terms)
        ),
        "vector_hits": _method(VectorQuestion, FoundHits, _vector_hits),
        "definition_chunks": _method(Name, FoundHits, _definition_chunks),
        "chunk_places": _method(
            Ids, _list(SharedPlace), lambda store, ids: store.chunk_places(ids)
        ),
        "chunk_rows": _method(
            Ids, _list(SharedRow), lambda store, ids: [*store.chunk_rows(ids).values()]
        ),
        "chunk_texts": _method(
            Ids, _list(tuple[ChunkId, Text]), lambda store, ids: [*store.chunk_texts(ids).items()]
        ),
        "chunks_of": _method(
            Paths, _list(SharedRow), lambda store, paths: store.chunks_of(paths), is_bulk=True
        ),
        "digests": _method(
            None, _list(tuple[Document, Word, Hex]), lambda store, _: store.digests(), is_bulk=True
        ),
        "definitions": _method(
            SymbolQuestion,
            _list(SharedDefinition),
            lambda store, asked: store.definitions(
                asked.symbol, exact=asked.exact, limit=asked.limit
            ),
        ),
        "defined_in": _method(
            Paths,
            _list(SharedDefinition),
            lambda store, paths: store.defined_in(paths),
            is_bulk=True,
        ),
        "imports": _method(
            Paths | None,
            _list(tuple[Document, Name]),
            lambda store, paths: store.imports(paths),
            is_bulk=True,
        ),
    }
)
