"""The index of one corpus, in one SQLite file; with its `generations` of vectors, all that asks it.

A `Store` is one connection behind a lock: safe from any thread, one at a time. Whoever writes for long (the indexer) opens a
store of its own, so that searches go on meanwhile (SQLite's WAL). Every method raises BusyError when another process kept the
write lock for five seconds, and StorageError when the file cannot be read or written.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from code_intel.config import KNOWLEDGE_FOLDER
from code_intel.errors import CodeIntelError
from code_intel.index import schema
from code_intel.index.corpus import is_page
from code_intel.index.database import Database
from code_intel.index.generations import NEIGHBOURS, Generations
from code_intel.index.rows import ChunkRow, DocumentRow, said_of, spelling, spells
from code_intel.records import Chunk, Definition, ParsedFile, Symbol

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = ["NEIGHBOURS", "Store"]

_PAGES = f"*{KNOWLEDGE_FOLDER}/*.md"


class Store:
    """An open index database; close it, or use it as a context manager.

    Attributes:
        dimensions: How many numbers a vector has of a generation that is begun here.
        generations: The vectors.
    """

    def __init__(self, database: Database, *, dimensions: int = 384) -> None:
        self._db = database
        self.dimensions = dimensions
        self.generations = Generations(database)

    @classmethod
    def open(cls, path: Path, *, dimensions: int = 384, readonly: bool = False) -> Self:
        """Open the index at `path`; for writing, make it, or set a foreign one aside, when needed.

        Raises:
            NotFoundError: Read-only, and there is none.
            StorageError: Read-only, and it is no usable index.
        """
        return cls(Database(path, readonly=readonly), dimensions=dimensions)

    @property
    def path(self) -> Path:
        """The database file."""
        return self._db.path

    def close(self) -> None:
        """Give the file back; using the store again opens it again."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make what happens inside one transaction; inside a batch, a savepoint of it."""
        with self._db.batch():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let what is read inside see one state of the index; nothing may be written inside."""
        with self._db.snapshot():
            yield

    def mend(self) -> list[str]:
        """Check, and when anything is broken start an empty index; return what was broken.

        The damaged file is kept as `<name>.corrupt-bak`; what the user has chosen is kept if readable.
        """
        self._db.close()  # what this connection has cached says nothing about the disk
        broken = self.check()
        if broken:
            choices: dict[str, bool] = {}
            with suppress(CodeIntelError):  # what was said is in no file; all else is
                choices = self.choices()
            self._db.rebuild("corrupt")
            for path, wanted in choices.items():
                self.choose(path, wanted)
        return broken

    # --- searching

    def word_hits(
        self, terms: Iterable[str], column: Literal["body", "names"], limit: int
    ) -> list[tuple[int, float]]:
        """Return (chunk id, BM25, higher is better) of chunks with any of `terms`, best first.

        Terms are tokens as `chunking.words` makes them; whatever else they hold is text, not syntax.
        """
        quoted = [f'"{term}"' for term in dict.fromkeys(map(_plain, terms)) if term]
        if not quoted or limit <= 0:
            return []
        match = f"{{{column}}} : ({' OR '.join(quoted)})"
        return self._db.rows(schema.WORD_HITS, (match, limit))

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks; see `Generations.nearest`."""
        return self.generations.nearest(query, limit)

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that (still) exist."""
        rows = self._db.rows(schema.CHUNKS, (_json(ids),))
        return {row[0]: _chunk(row) for row in rows}

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return every chunk of those documents, by path and position."""
        return [_chunk(row) for row in self._db.rows(schema.CHUNKS_OF, (json.dumps([*paths]),))]

    def pages(self) -> list[int]:
        """Return the ids of the pages that query plans wrote; words find none of them."""
        return [chunk for chunk, path in self._db.rows(schema.PAGES, (_PAGES,)) if is_page(path)]

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return every symbol of those documents, by path and line; outer ones before inner ones."""
        rows = self._db.rows(schema.DEFINED_IN, (json.dumps([*paths]),))
        return [Definition(*row) for row in rows]

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol of that bare name begins."""
        return [row[0] for row in self._db.rows(schema.DEFINITION_CHUNKS, (name,))]

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined: `login`, `AuthService.login`, `AuthService::login()`.

        Not exact adds symbols that contain it, ignoring case; the exact ones stay first.
        """
        asked = spelling(symbol)
        if not asked or limit <= 0:
            return []
        named = self._db.rows(schema.NAMED, (asked.rpartition(".")[2], asked))
        rows = (Definition(*row) for row in named)
        found = [d for d in rows if spells(asked, d.qualified, d.file)]
        if not exact and len(found) < limit:
            values = (asked.casefold(), limit + len(found))
            similar = (Definition(*row) for row in self._db.rows(schema.SIMILAR, values))
            found = list(dict.fromkeys([*found, *similar]))
        return found[:limit]

    def of_body(self, body: str, limit: int) -> list[Definition]:
        """Return the definitions that say the same, whatever they are called; see `Symbol.body`."""
        return [Definition(*row) for row in self._db.rows(schema.SAME_BODY, (body, limit))]

    def has_symbols(self, languages: Iterable[str]) -> bool:
        """Whether any document in one of these languages defines any symbol."""
        return bool(self._db.rows(schema.DEFINING, (json.dumps([*languages]),)))

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return every (path, import target as written), or those of some documents."""
        if paths is None:
            return self._db.rows(schema.IMPORTS.format(""))
        only = "WHERE d.path IN (SELECT value FROM json_each(?))"
        return self._db.rows(schema.IMPORTS.format(only), (json.dumps([*paths]),))

    def cards(self) -> list[tuple[int, str, str]]:
        """Return (chunk id, path, digest of the document) of every first chunk that has a card, by path."""
        return self._db.rows(schema.CARDS)

    def state(self) -> tuple[int, ...] | None:
        """Return what is another whenever anybody has written; None inside a batch."""
        return self._db.state()

    # --- documents

    def documents(self) -> list[DocumentRow]:
        """Return every document, by path."""
        return [DocumentRow(*row) for row in self._db.rows(f"{schema.DOCUMENT} ORDER BY path")]

    def document(self, path: str) -> DocumentRow | None:
        """Return one document, or None."""
        rows = self._db.rows(f"{schema.DOCUMENT} WHERE path = ?", (path,))
        return DocumentRow(*rows[0]) if rows else None

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        return self._db.rows("SELECT path, language, digest FROM documents")

    def latest(self, most: int) -> list[tuple[str, int]]:
        """Return (path, time of its last change in ns) of the documents changed last, latest first, pages aside."""
        return self._db.rows(schema.LATEST, (_PAGES, most))

    def revision(self) -> str:
        """Return what is another text whenever a document was put or deleted, pages of plans aside; empty before any."""
        return self.get_meta("revision") or ""

    def document_count(self) -> int:
        """Return the number of documents."""
        return int(self._db.value("SELECT count(*) FROM documents"))

    def put_document(self, row: DocumentRow, parsed: ParsedFile) -> None:
        """Replace everything known about `row.path`; chunks with an unchanged card keep their vectors."""
        values = astuple(row)[:-1]
        with self.batch():
            old = self.document(row.path)
            vectors = self.generations.vectors_by_card(0 if old is None else old.id)
            if old is None:
                document = self._db.value(schema.INSERT_DOCUMENT, values)
            else:
                document = old.id
                self._clear(document)
                self._db.rows(schema.UPDATE_DOCUMENT, (*values, document))
            self._put_chunks(document, row, parsed.chunks)
            self.generations.add_document(document, vectors)
            self._put_symbols(document, parsed)
            self._revise(row.path)

    def touch_document(self, path: str, *, size: int, mtime_ns: int, inode: int) -> None:
        """Remember new file times of a document whose bytes are the same."""
        sql = "UPDATE documents SET size = ?, mtime_ns = ?, inode = ? WHERE path = ?"
        self._db.write(sql, (size, mtime_ns, inode, path))

    def forget_digests(self) -> None:
        """Make the next sync parse every document again; meanwhile they stay searchable."""
        self._db.write("UPDATE documents SET digest = '', mtime_ns = 0")

    def delete_document(self, path: str) -> bool:
        """Forget a document with all that hangs on it; False when it was not there."""
        with self.batch():
            if (old := self.document(path)) is None:
                return False
            self._clear(old.id)
            self._db.rows("DELETE FROM documents WHERE id = ?", (old.id,))
            self._revise(path)
            return True

    # --- vectors

    def model(self) -> str | None:
        """Return the identity of the model whose vectors answer; None before the first."""
        return self.generations.active().identity or None

    def pending(self, limit: int, *, path: str | None = None) -> list[tuple[int, str]]:
        """Return (chunk id, card) of what waits for a vector of the newest model."""
        return self.generations.pending(self.generations.newest(), limit, path)

    def pending_count(self) -> int:
        """Return how many chunks wait for a vector of the newest model."""
        return self.generations.pending_count(self.generations.newest())

    # --- what the user has said

    def choices(self) -> dict[str, bool]:
        """Return what was said of single documents, over the patterns: path to wanted or not."""
        rows = self._db.rows("SELECT path, wanted FROM choices ORDER BY path")
        return {path: bool(wanted) for path, wanted in rows}

    def choose(self, path: str, wanted: bool | None) -> None:  # noqa: FBT001 - three answers, no flag
        """Remember that a document is wanted or not; None leaves it to the patterns again."""
        if wanted is None:
            self._db.write("DELETE FROM choices WHERE path = ?", (path,))
        else:
            self._db.write("INSERT OR REPLACE INTO choices VALUES (?, ?)", (path, int(wanted)))

    def vacuum(self) -> tuple[int, int]:
        """Give unused space back to the disk; return the bytes before and after.

        Readers go on meanwhile; the file itself shrinks when the last of them has finished.

        Raises:
            BusyError: Another process is writing for more than five seconds.
        """
        before = self._db.size()
        return before, self._db.vacuum()

    # --- meta

    def get_meta(self, key: str) -> str | None:
        """Return what is kept under `key`."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Keep `value` under `key`."""
        self._db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def check(self) -> list[str]:
        """Return every broken invariant in one line each; empty for a sound database."""
        return self._db.broken(self.generations.verify)

    def _put_chunks(self, document: int, row: DocumentRow, chunks: Sequence[Chunk]) -> None:
        ids = self._db.many(schema.INSERT_CHUNK, (_chunk_values(document, row, c) for c in chunks))
        if not is_page(row.path):  # else a question that was planned would be common by that
            said = ((*key, *said_of(row.path, c)) for key, c in zip(ids, chunks, strict=True))
            self._db.many(schema.INSERT_WORDS, said)

    def _put_symbols(self, document: int, parsed: ParsedFile) -> None:
        self._db.many(schema.INSERT_SYMBOL, (_symbol_values(document, s) for s in parsed.symbols))
        targets = ((document, position, name) for position, name in enumerate(parsed.imports))
        self._db.many(schema.INSERT_IMPORT, targets)

    def _revise(self, path: str) -> None:
        if not is_page(path):  # else a plan would outdate what it knows by writing it down
            self._db.rows(schema.REVISE)

    def _clear(self, document: int) -> None:
        self.generations.clear_document(document)
        for sql in schema.CLEAR:
            self._db.rows(sql, (document,))


def _chunk_values(document: int, row: DocumentRow, chunk: Chunk) -> tuple[Any, ...]:
    digest = hashlib.sha256(chunk.card.encode()).hexdigest()[:16] if chunk.card else ""
    place = (document, chunk.position, chunk.start_line, chunk.end_line)
    return (*place, chunk.text, "\n".join(chunk.symbols), chunk.card, digest, row.priority)


def _symbol_values(document: int, s: Symbol) -> tuple[Any, ...]:
    names = (s.name, s.qualified, s.qualified.casefold(), s.kind)
    return (document, *names, s.start_line, s.end_line, s.signature, s.doc, s.digest, s.body)


def _plain(term: str) -> str:
    """Return a search term as FTS5 may see it; empty when nothing is left of it."""
    return term.replace("\0", "").replace('"', '""').strip()


def _json(ids: Iterable[int]) -> str:
    return json.dumps([int(item) for item in ids])


def _chunk(row: tuple[Any, ...]) -> ChunkRow:
    *place, symbols, language, card = row
    names = tuple(symbols.split("\n")) if symbols else ()
    return ChunkRow(*(*place, names, language, card))
