"""Query and change the index of one corpus, a SQLite file.

A `Store` is one connection with a lock, so any thread may use it. The indexer, which writes for
long, opens its own store, so that searches continue (SQLite's WAL mode). Every method raises
BusyError if another process keeps the write lock for five seconds, and StorageError if the file
cannot be read or written.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from code_intel.config import KNOWLEDGE_FOLDER
from code_intel.errors import CodeIntelError
from code_intel.index import schema
from code_intel.index.corpus import is_page
from code_intel.index.database import Database
from code_intel.index.generations import MAX_HITS, Generations
from code_intel.index.history.commits import Commits
from code_intel.index.rows import (
    ChunkPlace,
    ChunkRow,
    Column,
    CommitHit,
    DocumentRow,
    FileState,
    Hits,
    Words,
    card_digest,
    document_words,
    names_symbol,
    normalize_symbol,
    split_names,
)
from code_intel.index.searching.narrowed import NarrowedSearch, chunks_below
from code_intel.index.searching.word_search import WordSearch, joined_tokens
from code_intel.records import Chunk, Definition, ParsedFile, Symbol

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = ["MAX_HITS", "Store"]

ResultT = TypeVar("ResultT")
_WordsRow = tuple[int, str]

_COLUMNS = attrgetter(*(column.name for column in fields(DocumentRow)[:-1]))
_PAGES = f"*{KNOWLEDGE_FOLDER}/*.md"


class Store:
    """An open index database; close it, or use it as a context manager.

    Attributes:
        dimensions: Numbers per vector of a new generation.
        generations: The vectors.
        commits: The earlier commits.
    """

    def __init__(self, database: Database, *, dimensions: int = 384) -> None:
        self._db = database
        self.dimensions = dimensions
        self.generations = Generations(database)
        self.commits = Commits(database)
        self._words = WordSearch(database)
        self._cached: dict[str, tuple[object, Any]] = {}

    @classmethod
    def open(cls, path: Path, *, dimensions: int = 384, readonly: bool = False) -> Self:
        """Open the index at `path`; unless read-only, create it or replace an unusable file.

        Raises:
            NotFoundError: The index is read-only and does not exist.
            StorageError: The index is read-only and the file is not a usable index.
        """
        return cls(Database(path, readonly=readonly), dimensions=dimensions)

    @property
    def path(self) -> Path:
        """The database file."""
        return self._db.path

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @contextmanager
    def batch(self, *, flushed: bool = False) -> Iterator[None]:
        """Run the block in a write transaction, or in a savepoint inside another batch.

        With `flushed`, an outer batch survives a power loss.
        """
        with self._db.batch(flushed=flushed):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Run the block in a read transaction, in which all reads see the same data."""
        with self._db.snapshot():
            yield

    def repair(self) -> list[str]:
        """Check the database, replace it with an empty one if it is damaged, and return the damage.

        The damaged file is kept as `<name>.corrupt-bak`. The user's choices are copied if possible.
        """
        self._db.close()  # the connection's cache would hide damage on the disk
        problems = self.check()
        if problems:
            choices: dict[str, bool] = {}
            with suppress(CodeIntelError):  # only choices cannot be restored from files
                choices = self.choices()
            self._db.rebuild("corrupt")
            for path, wanted in choices.items():
                self.choose(path, wanted)
        return problems

    # --- searching

    def word_hits(self, terms: Iterable[str], column: Column, limit: int) -> Hits:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first; higher is better.

        Terms are tokens as `chunking.words` returns them. See `WordSearch.hits`.
        """
        return self._words.hits(terms, column, limit)

    def files_with(self, term: str) -> int:
        """Return the number of source files, without tests and documents, that hold a token."""
        return self._words.files(term)

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it.

        See `WordSearch.counts`.
        """
        return self._words.counts(terms)

    def source_count(self) -> int:
        """Return the number of source files, without tests and documents."""
        return int(self._db.rows(schema.SOURCE_COUNT)[0][0])

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks; see `Generations.nearest`."""
        return self.generations.nearest(query, limit)

    def narrowed(
        self, folder: str, glob: str, keeps: Callable[[str], bool]
    ) -> NarrowedSearch | None:
        """Return a search of the documents that `keeps` accepts, or None if these are very many.

        All of them are below `folder`, if it is not empty. The folder and the glob identify the
        search, which is kept until a document changes.
        """

        def narrow(_: NarrowedSearch | None) -> NarrowedSearch | None:
            chunks = chunks_below(self._db, folder, keeps)
            if chunks is None:
                return None
            return NarrowedSearch(chunks, self._words, self.generations, self.definition_chunks)

        with self._db.snapshot():
            return self.cached("narrowed", (self.revision(), folder, glob), narrow)

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:
        """Return the files that earlier commits changed; see `Commits.hits`."""
        return self.commits.hits(terms)

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist."""
        rows = self._db.rows(schema.CHUNKS, (_json(ids),))
        return {row[0]: _chunk(row) for row in rows}

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are; much faster than `chunk_rows`."""
        return list(map(ChunkPlace._make, self._db.rows(schema.CHUNK_PLACES, (_json(ids),))))

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""
        return dict(self._db.rows(schema.CHUNK_TEXTS, (_json(ids),)))

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""
        return [_chunk(row) for row in self._db.rows(schema.CHUNKS_OF, (json.dumps([*paths]),))]

    def pages(self) -> list[int]:
        """Return the chunk ids of pages that query plans wrote; `word_hits` does not find them."""
        return [chunk for chunk, path in self._db.rows(schema.PAGES, (_PAGES,)) if is_page(path)]

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""
        rows = self._db.rows(schema.DEFINED_IN, (json.dumps([*paths]),))
        return [Definition(*row) for row in rows]

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        return [row[0] for row in self._db.rows(schema.DEFINITION_CHUNKS, (name,))]

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined: `login`, `AuthService.login`, `AuthService::login()`.

        With `exact=False`, symbols that contain the name, in any case, follow the exact matches.
        """
        name = normalize_symbol(symbol)
        if not name or limit <= 0:
            return []
        named = self._db.rows(schema.NAMED_SYMBOLS, (name.rpartition(".")[2], name))
        rows = (Definition(*row) for row in named)
        found = [d for d in rows if names_symbol(name, d.qualified, d.file)]
        if not exact and len(found) < limit:
            values = (name.casefold(), limit + len(found))
            similar = (Definition(*row) for row in self._db.rows(schema.SIMILAR, values))
            found = list(dict.fromkeys([*found, *similar]))
        return found[:limit]

    def doc_of(self, definition: Definition) -> str:
        """Return the first sentence of a definition's documentation, or the empty string."""
        place = (definition.file, definition.qualified, definition.line)
        rows = self._db.rows(schema.DOC, place)
        return str(rows[0][0]) if rows else ""

    def of_body(self, body: str, limit: int) -> list[Definition]:
        """Return the definitions with the same body under any name; see `Symbol.body`."""
        return [Definition(*row) for row in self._db.rows(schema.SAME_BODY, (body, limit))]

    def has_symbols(self, languages: Iterable[str]) -> bool:
        """Return whether any document in one of these languages defines a symbol."""
        return bool(self._db.rows(schema.DEFINING, (json.dumps([*languages]),)))

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
        if paths is None:
            return self._db.rows(schema.IMPORTS.format(""))
        only = "WHERE d.path IN (SELECT value FROM json_each(?))"
        return self._db.rows(schema.IMPORTS.format(only), (json.dumps([*paths]),))

    def cards(self) -> list[tuple[int, str, str]]:
        """Return (chunk id, path, document digest) of each first chunk with a card, by path."""
        return self._db.rows(schema.CARDS)

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the index; compute it again when `version` changes.

        Call it inside a snapshot. The store caches one value per name.

        Args:
            name: Identifies the value.
            version: The version of the data that the value depends on; with None, it is not cached.
            compute: Computes the value; gets the previous one, or None.
        """
        known, value = self._cached.get(name, (None, None))
        if version is None or known != version:
            value = compute(value)
            if version is not None:
                self._cached[name] = (version, value)
        return cast(ResultT, value)

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that every committed write changes; None in a write transaction."""
        return self._db.version_token()

    # --- documents

    def documents(self) -> list[DocumentRow]:
        """Return all documents, ordered by path."""
        return [DocumentRow(*row) for row in self._db.rows(f"{schema.DOCUMENT} ORDER BY path")]

    def file_states(self, paths: Iterable[str] | None = None) -> dict[str, FileState]:
        """Return what shows whether a file changed, of all documents or of `paths`, by path."""
        if paths is None:
            rows = self._db.rows(schema.FILE_STATES)
        else:
            rows = self._db.rows(schema.FILE_STATES_OF, (json.dumps([*paths]),))
        return {path: FileState(*state) for path, *state in rows}

    def document(self, path: str) -> DocumentRow | None:
        """Return a document, or None if it is not in the index."""
        rows = self._db.rows(f"{schema.DOCUMENT} WHERE path = ?", (path,))
        return DocumentRow(*rows[0]) if rows else None

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        return self._db.rows("SELECT path, language, digest FROM documents")

    def latest(self, limit: int) -> list[tuple[str, int]]:
        """Return (path, mtime in ns) of the most recently changed documents, except plan pages."""
        return self._db.rows(schema.LATEST, (_PAGES, limit))

    def revision(self) -> str:
        """Return a value that changes when a document other than a plan page is put or deleted."""
        return self.get_meta("revision") or ""

    def document_count(self) -> int:
        """Return the number of documents."""
        return int(self._db.value("SELECT count(*) FROM documents"))

    def put_document(
        self,
        row: DocumentRow,
        parsed: ParsedFile,
        given: Mapping[int, Mapping[str, bytes]] = MappingProxyType({}),
        words: Words | None = None,
    ) -> None:
        """Add or replace a document; chunks with an unchanged card keep their vectors.

        Args:
            row: The document.
            parsed: Its content.
            given: Vectors for a document that is new, by generation and digest of the card.
            words: What `rows.document_words` returns for it, if that is known.
        """
        with self.batch():
            known = self._put_without_words(row, parsed, given, words)
            self._db.execute_many(schema.INSERT_WORDS, known)

    def put_documents(self, documents: Iterable[tuple[DocumentRow, ParsedFile, Words]]) -> None:
        """Add or replace documents with different paths; if one cannot be stored, none is.

        This takes a third less than `put_document` for each: FTS5 writes the words that it has at
        every savepoint and at statements that SQLite may have to undo alone, and a savepoint keeps
        a copy of each page that it changes.
        """
        with self.batch():
            known: list[_WordsRow] = []
            for row, parsed, words in documents:
                known += self._put_without_words(row, parsed, {}, words)
            self._db.execute_many(schema.INSERT_WORDS, known)

    def _put_without_words(
        self,
        row: DocumentRow,
        parsed: ParsedFile,
        given: Mapping[int, Mapping[str, bytes]],
        words: Words | None,
    ) -> list[_WordsRow]:
        """Add or replace a document; return the rows of `words` that are missing."""
        values = _COLUMNS(row)
        old = self.document(row.path)
        vectors = self.generations.vectors_by_card(old.id) if old else given
        if old is None:
            document = self._db.value(schema.INSERT_DOCUMENT, values)
        else:
            document = old.id
            self._clear(document)
            self._db.rows(schema.UPDATE_DOCUMENT, (*values, document))
        chunk_rows = (_chunk_values(document, row, chunk) for chunk in parsed.chunks)
        ids = [key for (key,) in self._db.execute_many(schema.INSERT_CHUNK, chunk_rows)]
        cards = [
            (chunk_id, row.priority, chunk.position)
            for chunk_id, chunk in zip(ids, parsed.chunks, strict=True)
            if chunk.card
        ]
        self.generations.add_document(document, cards, vectors)
        self._put_symbols(document, parsed)
        self._update_revision(row.path)
        if words is None:
            words = document_words(row.path, parsed.chunks, page=is_page(row.path))
        pairs = zip(ids, words, strict=True)
        return [(key, joined_tokens(*each)) for key, each in pairs if each is not None]

    def touch_document(self, path: str, *, size: int, mtime_ns: int, inode: int) -> None:
        """Store the new size, mtime and inode of a document with unchanged content."""
        sql = "UPDATE documents SET size = ?, mtime_ns = ?, inode = ? WHERE path = ?"
        self._db.write(sql, (size, mtime_ns, inode, path))

    def forget_digests(self) -> None:
        """Make the next sync parse every document again; until then, all remain searchable."""
        self._db.write("UPDATE documents SET digest = '', mtime_ns = 0")

    def delete_document(self, path: str) -> bool:
        """Delete a document with its chunks, symbols and vectors; return whether it existed."""
        with self.batch():
            if (old := self.document(path)) is None:
                return False
            self._clear(old.id)
            self._db.rows("DELETE FROM documents WHERE id = ?", (old.id,))
            self._update_revision(path)
            return True

    # --- vectors

    def model(self) -> str | None:
        """Return the identity of the model whose vectors searches use, or None without vectors."""
        return self.generations.active().identity or None

    def pending(self, limit: int, *, path: str | None = None) -> list[tuple[int, str]]:
        """Return (chunk id, card) of chunks without a vector of the newest model."""
        return self.generations.pending(self.generations.newest(), limit, path)

    def pending_count(self) -> int:
        """Count the chunks without a vector of the newest model."""
        return self.generations.pending_count(self.generations.newest())

    # --- the user's choices

    def choices(self) -> dict[str, bool]:
        """Return the documents that the user added (True) or deleted (False) by name."""
        rows = self._db.rows("SELECT path, wanted FROM choices ORDER BY path")
        return {path: bool(wanted) for path, wanted in rows}

    def choose(self, path: str, wanted: bool | None) -> None:  # noqa: FBT001 - one of three values
        """Store whether the user wants a document; None lets the patterns decide again."""
        if wanted is None:
            self._db.write("DELETE FROM choices WHERE path = ?", (path,), flushed=True)
        else:
            sql = "INSERT OR REPLACE INTO choices VALUES (?, ?)"
            self._db.write(sql, (path, int(wanted)), flushed=True)

    def vacuum(self) -> tuple[int, int]:
        """Return unused space to the operating system; return the file's size before and after.

        Readers can continue. The file shrinks when the last of them has finished.

        Raises:
            BusyError: Another process kept the write lock for more than five seconds.
        """
        before = self._db.size()
        return before, self._db.vacuum()

    # --- meta

    def get_meta(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Store `value` under `key`."""
        self._db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def check(self) -> list[str]:
        """Return one line for each broken invariant; none if the database is intact."""
        return self._db.problems(self.generations.verify)

    def _put_symbols(self, document: int, parsed: ParsedFile) -> None:
        self._db.execute_many(
            schema.INSERT_SYMBOL, (_symbol_values(document, s) for s in parsed.symbols)
        )
        targets = ((document, position, name) for position, name in enumerate(parsed.imports))
        self._db.execute_many(schema.INSERT_IMPORT, targets)

    def _update_revision(self, path: str) -> None:
        if not is_page(path):  # a plan must not outdate its own results
            self._db.rows(schema.REVISE)

    def _clear(self, document: int) -> None:
        self.generations.clear_document(document)
        for sql in schema.CLEAR:
            self._db.rows(sql, (document,))


def _chunk_values(document: int, row: DocumentRow, chunk: Chunk) -> tuple[Any, ...]:
    location = (document, chunk.position, chunk.start_line, chunk.end_line)
    names, digest = "\n".join(chunk.symbols), card_digest(chunk.card)
    return (*location, chunk.text, names, chunk.card, digest, row.priority)


def _symbol_values(document: int, s: Symbol) -> tuple[Any, ...]:
    names = (s.name, s.qualified, s.qualified.casefold(), s.kind)
    return (document, *names, s.start_line, s.end_line, s.signature, s.doc, s.digest, s.body)


def _json(ids: Iterable[int]) -> str:
    return json.dumps([int(item) for item in ids])


def _chunk(row: tuple[Any, ...]) -> ChunkRow:
    *first_columns, symbols, language, card = row
    return ChunkRow(*(*first_columns, split_names(symbols), language, card))
