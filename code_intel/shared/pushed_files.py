"""Read the files of an index as they are pushed, a few megabytes at a time."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from code_intel.index.rows import ChunkRow, DocumentRow
from code_intel.records import Definition, Symbol
from code_intel.shared.cards import card_digest
from code_intel.shared.fields import MAX_SYMBOLS, is_name
from code_intel.shared.records import SharedChunk, SharedFile

T = TypeVar("T")

BATCH_FILES = 100
BATCH_CHARS = 2 << 20
"""Maximum characters of one request, if it has more than one file."""


class PushedFiles(Protocol):
    """What a push needs of an index; see `index.store.Store`."""

    def document(self, path: str) -> DocumentRow | None:
        """Return the row of a file."""

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of files, ordered by path and position."""

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of files."""

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written)."""


def batches(
    store: PushedFiles, paths: Sequence[str], model: str
) -> Iterator[tuple[list[SharedFile], dict[str, str]]]:
    """Yield files with the texts of their cards by digest, a few megabytes at a time."""
    files: list[SharedFile] = []
    cards: dict[str, str] = {}
    size = 0
    for names in parts(paths, BATCH_FILES):
        for file, own in _files(store, names, model):
            length = sum(len(chunk.text) for chunk in file.chunks)
            if files and (size + length > BATCH_CHARS or len(files) >= BATCH_FILES):
                yield files, cards
                files, cards, size = [], {}, 0
            files.append(file)
            cards |= own
            size += length
    if files:
        yield files, cards


def _files(
    store: PushedFiles, paths: Sequence[str], model: str
) -> Iterator[tuple[SharedFile, dict[str, str]]]:
    """Yield files as they are pushed, each with the texts of its cards by digest."""
    chunks: dict[str, list[ChunkRow]] = {}
    symbols: dict[str, list[Symbol]] = {}
    imports: dict[str, list[str]] = {}
    for row in store.chunks_of(paths):
        chunks.setdefault(row.path, []).append(row)
    for definition in store.defined_in(paths):
        if is_name(definition.qualified):
            symbols.setdefault(definition.file, []).append(_symbol(definition))
    for path, target in store.imports(paths):
        if is_name(target):
            imports.setdefault(path, []).append(target)
    for path in paths:
        document = store.document(path)
        if document is None:
            continue
        cards = {card_digest(model, chunk.card): chunk.card for chunk in chunks.get(path, ())}
        file = SharedFile(
            path,
            document.digest,
            document.language,
            document.lines,
            document.priority,
            tuple(_chunk(chunk, model) for chunk in chunks.get(path, ())),
            tuple(symbols.get(path, ())),
            tuple(imports.get(path, ())),
        )
        cards.pop("", None)
        yield file, cards


def _chunk(row: ChunkRow, model: str) -> SharedChunk:
    """Return a chunk as it is pushed."""
    return SharedChunk(
        row.position,
        row.start_line,
        row.end_line,
        row.text,
        tuple(filter(is_name, row.symbols))[:MAX_SYMBOLS],
        card_digest(model, row.card),
    )


def _symbol(d: Definition) -> Symbol:
    return Symbol(
        name=d.name,
        qualified=d.qualified,
        kind=d.kind,
        start_line=d.line,
        end_line=d.end_line,
        signature=d.signature,
        digest=d.digest,
        body=d.body,
    )


def parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
