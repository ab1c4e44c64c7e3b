"""What the index found for a question, by file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_intel.forest.pages import pages_of
from code_intel.forest.ranking.question import Name, Question
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

DEFINITIONS = 50
"""Most chunks a name may be defined in; a name defined more often than that is no landmark."""


@dataclass(slots=True)
class File:
    """One file and its chunks that any search found.

    Attributes:
        path: As the index names it.
        rows: The chunks, best first within each kind of search.
        body: BM25 of chunk texts, by chunk id.
        names: BM25 of symbol names and path, by chunk id.
        cosines: Cosine to the question, by chunk id.
        defines: How far a chunk defines what the question names, 0 to 1, by chunk id.
    """

    path: str
    rows: list[ChunkRow] = field(default_factory=list)
    body: dict[int, float] = field(default_factory=dict)
    names: dict[int, float] = field(default_factory=dict)
    cosines: dict[int, float] = field(default_factory=dict)
    defines: dict[int, float] = field(default_factory=dict)


def gather(
    store: Store, question: Question, vector: "NDArray[np.float32] | None", limit: int
) -> list[File]:
    """Ask the index by words, names, meaning and definitions; `limit` chunks each, pages of plans aside."""
    body = dict(store.word_hits(question.terms, "body", limit))
    names = dict(store.word_hits(question.terms, "names", limit))
    cosines = {} if vector is None else _nearest(store, vector, limit)
    named = {name: store.definition_chunks(name.bare) for name in question.names}
    chunks = {chunk for found in named.values() for chunk in found[:DEFINITIONS]}
    rows = store.chunk_rows({*body, *names, *cosines, *chunks})
    files: dict[str, File] = {}
    for row in rows.values():
        file = files.setdefault(row.path, File(row.path))
        file.rows.append(row)
        for found, kept in ((body, file.body), (names, file.names), (cosines, file.cosines)):
            if row.id in found:
                kept[row.id] = found[row.id]
    for name, ids in named.items():
        _define(files, name, [rows[chunk] for chunk in ids[:DEFINITIONS] if chunk in rows])
    return sorted(files.values(), key=lambda file: file.path)


def _nearest(store: Store, vector: "NDArray[np.float32]", limit: int) -> dict[int, float]:
    """Return the cosines of the nearest chunks; pages take nobody's place among them."""
    pages = frozenset(pages_of(store))
    near = store.vector_hits(vector, limit + len(pages))
    return dict([hit for hit in near if hit[0] not in pages][:limit])


def _define(files: Mapping[str, File], name: Name, rows: Sequence[ChunkRow]) -> None:
    """Mark the chunks that define a name: fully when it is spelled as asked, else less."""
    for row in rows:
        how = _spelled(row.symbols, name)
        known = files[row.path].defines
        known[row.id] = max(known.get(row.id, 0.0), how * name.share)


def _spelled(symbols: Iterable[str], name: Name) -> float:
    asked = name.qualified
    if any(symbol == asked for symbol in symbols):
        return 1.0
    if any(symbol.endswith(f".{asked}") for symbol in symbols):
        return 0.7
    return 0.3
