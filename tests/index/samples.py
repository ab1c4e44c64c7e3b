"""Provide a small deterministic embedder, configurations, and documents of plain lines."""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from code_intel.config import IndexConfig
from code_intel.index import schema
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store
from code_intel.records import Chunk, Corpus, Definition, ParsedFile, Symbol

DIMENSIONS = 8


def index_config(
    folder: Path,
    *patterns: str,
    db_path: Path | None = None,
    corpus: Corpus = "forest",
    dimensions: int = DIMENSIONS,
) -> IndexConfig:
    """Return the configuration of an index of `folder`, by default with the database beside it."""
    return IndexConfig(
        path=folder / f"devrag-{corpus}.json",
        corpus=corpus,
        patterns=patterns or (".",),
        db_path=db_path or folder.parent / f"{corpus}.db",
        dimensions=dimensions,
    )


class HashEmbedder:
    """Makes a unit vector from the hash of a text; `spoil` may change it or raise an error."""

    def __init__(
        self,
        identity: str = "hash-1",
        dimensions: int = DIMENSIONS,
        spoil: Callable[[str, NDArray[np.float32]], None] = lambda text, row: None,  # noqa: ARG005 - sound by default
    ) -> None:
        self.spoil = spoil
        self.identity = identity
        self.dimensions = dimensions
        self.embedded: list[str] = []

    def can_search(self, identity: str) -> bool:
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        rows = [unit_vector(f"{self.identity} {text}", self.dimensions) for text in texts]
        for text, row in zip(texts, rows, strict=True):
            self.spoil(text, row)
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)


def unit_vector(text: str, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    row = np.random.default_rng(seed).normal(size=dimensions)
    return (row / np.linalg.norm(row)).astype(np.float32)


def put_vectors(
    store: Store, vectors: Sequence[tuple[int, NDArray[np.float32]]], *, identity: str
) -> None:
    """Store vectors by chunk id in the generation of `identity`."""
    with store.batch():
        generation = store.generations.begin(identity, store.dimensions)
        store.generations.put(generation, vectors)


def parsed(*texts: str, symbols: Sequence[Symbol] = (), imports: Sequence[str] = ()) -> ParsedFile:
    """Return a file of one-line chunks, each with a card; symbols go to the lines they name."""
    chunks = tuple(
        Chunk(
            position,
            text,
            position + 1,
            position + 1,
            tuple(s.qualified for s in symbols if s.start_line == position + 1),
            f"card of {text}" if text else "",
        )
        for position, text in enumerate(texts)
    )
    return ParsedFile("python", chunks, tuple(symbols), tuple(imports))


def chunks_of(store: Store, path: str) -> list[ChunkRow]:
    rows = store.chunk_rows(range(1, 10_000)).values()
    return sorted((row for row in rows if row.path == path), key=lambda row: row.position)


def symbols_of(store: Store, path: str) -> list[Definition]:
    sql = f"{schema.DEFINITION} WHERE d.path = ? ORDER BY s.start_line, s.id"
    with closing(sqlite3.connect(store.path)) as database:
        return [Definition(*row) for row in database.execute(sql, (path,))]
