"""Collect what the index finds for a question, by file, without the texts.

The ranking reads the texts of few chunks; see `RankingState.read_texts`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from code_intel.forest.pages import pages_of
from code_intel.forest.ranking.question import Name, RankedQuestion
from code_intel.forest.source_store import Candidates, SourceStore
from code_intel.index.rows import ChunkPlace

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

MAX_CHUNKS_PER_NAME = 50
"""Maximum chunks per name: a name with more definitions identifies nothing."""


@dataclass(slots=True)
class File:
    """A file with the chunks that any search found.

    Attributes:
        path: The document name in the index.
        rows: The chunks, unsorted.
        body: BM25 of chunk texts, by chunk id.
        names: BM25 of symbol names and path, by chunk id.
        cosines: Cosine with the question, by chunk id.
        defines: How well a chunk's definitions match a name in the question, 0 to 1, by chunk id.
        texts: The texts that have been read so far, by chunk id.
    """

    path: str
    rows: list[ChunkPlace] = field(default_factory=list)
    body: dict[int, float] = field(default_factory=dict)
    names: dict[int, float] = field(default_factory=dict)
    cosines: dict[int, float] = field(default_factory=dict)
    defines: dict[int, float] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)


class FoundWords(NamedTuple):
    """What the words of a question find.

    Attributes:
        version: The version of the index; see `Store.version_token`.
        limit: Maximum chunks of each search.
        narrowed: The search that was used, if it was not of the whole index.
        body: BM25 of chunk texts, by chunk id.
        names: BM25 of symbol names and path, by chunk id.
        named: The ids of the chunks that define a name in the question.
    """

    version: tuple[int, ...] | None
    limit: int
    narrowed: Candidates | None
    body: Mapping[int, float]
    names: Mapping[int, float]
    named: Mapping[Name, Sequence[int]]


def find_words(
    store: SourceStore, question: RankedQuestion, limit: int, narrowed: Candidates | None = None
) -> FoundWords:
    """Search the index by words, names and definitions, `limit` chunks each; see `gather`."""
    source = narrowed or store
    with store.snapshot():
        return FoundWords(
            store.version_token(),
            limit,
            narrowed,
            dict(source.word_hits(question.terms, "body", limit)),
            dict(source.word_hits(question.terms, "names", limit)),
            {name: source.definition_chunks(name.bare) for name in question.names},
        )


def gather(
    store: SourceStore,
    question: RankedQuestion,
    vector: "NDArray[np.float32] | None",
    limit: int,
    words: FoundWords | None = None,
    narrowed: Candidates | None = None,
) -> list[File]:
    """Search the index by words, names, vectors and definitions, `limit` chunks each.

    `words` is what the words found before, if it is known; after a write they are searched again.
    `narrowed` searches a part of the index alone.
    """
    version = store.version_token()
    asked = (version, limit, narrowed)
    if words is None or version is None or words[: len(asked)] != asked:
        words = find_words(store, question, limit, narrowed)
    body, names, named = words.body, words.names, words.named
    cosines = {} if vector is None else _nearest(store, narrowed or store, vector, limit)
    chunks = {chunk for found in named.values() for chunk in found[:MAX_CHUNKS_PER_NAME]}
    rows = {row.id: row for row in store.chunk_places({*body, *names, *cosines, *chunks})}
    files: dict[str, File] = {}
    for row in rows.values():
        file = files.get(row.path)
        if file is None:
            file = files[row.path] = File(row.path)
        file.rows.append(row)
        for found, kept in ((body, file.body), (names, file.names), (cosines, file.cosines)):
            if row.id in found:
                kept[row.id] = found[row.id]
    for name, ids in named.items():
        _define(files, name, [rows[chunk] for chunk in ids[:MAX_CHUNKS_PER_NAME] if chunk in rows])
    return sorted(files.values(), key=lambda file: file.path)


def _nearest(
    store: SourceStore, source: Candidates, vector: "NDArray[np.float32]", limit: int
) -> dict[int, float]:
    """Return the cosines of the `limit` nearest chunks that are not pages of query plans."""
    pages = frozenset(pages_of(store))
    near = source.vector_hits(vector, limit + len(pages))
    return dict([hit for hit in near if hit[0] not in pages][:limit])


def _define(files: Mapping[str, File], name: Name, rows: Sequence[ChunkPlace]) -> None:
    """Record how well the chunks define a name: less if the scopes differ."""
    for row in rows:
        match = _match(row.symbols, name)
        known = files[row.path].defines
        known[row.id] = max(known.get(row.id, 0.0), match * name.share)


def _match(symbols: Iterable[str], name: Name) -> float:
    qualified = name.qualified
    if any(symbol == qualified for symbol in symbols):
        return 1.0
    if any(symbol.endswith(f".{qualified}") for symbol in symbols):
        return 0.7
    return 0.3
