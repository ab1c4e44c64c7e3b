"""Compute the sizes of docs/scale.md: memory, disk, nodes, hours of embedding, and cost."""

import math
from collections.abc import Iterator

from benchmarks.scale_data import (
    COMMITS_PER_HOUR,
    DEVELOPERS,
    DISKANN_DEGREE,
    DISKANN_MEMORY,
    FREE_MEMORY,
    KEY_BYTES,
    MAX_PARTITIONS,
    NODE_BYTES,
    REPLICAS,
    REPOSITORY_CHUNKS,
    SECTOR,
    SEGMENT_BYTES,
    SIZES,
    VECTOR_BYTES,
    Rates,
    Table,
    shown,
    size,
)

SPARSE_ENTRY = 8
"""Bytes of a word in the index of BM25: a chunk and a weight."""


def memory_per_chunk(rates: Rates) -> dict[str, float]:
    """Return the bytes in memory of a vector and its words, by index type."""
    words = SPARSE_ENTRY * rates.words
    return {
        "HNSW": rates.hnsw_bytes + words,
        "IVF_SQ8": rates.ivf_bytes + words,
        "DiskANN": DISKANN_MEMORY * VECTOR_BYTES + words,
    }


def index_on_disk(rates: Rates) -> dict[str, float]:
    """Return the bytes on disk of a vector in an index, by type."""
    node = VECTOR_BYTES + 4 * (DISKANN_DEGREE + 1)
    return {
        "HNSW": rates.hnsw_bytes,
        "IVF_SQ8": rates.ivf_bytes,
        "DiskANN": SECTOR / (SECTOR // node),
    }


def field_bytes(rates: Rates) -> float:
    """Return the bytes of a chunk's text, names and keys."""
    return rates.text_bytes + KEY_BYTES


def row_bytes(rates: Rates) -> float:
    """Return the bytes of a chunk in all collections, without indexes."""
    return VECTOR_BYTES + SPARSE_ENTRY * rates.words + field_bytes(rates)


def stored(rates: Rates, kind: str) -> float:
    """Return the bytes of a chunk in object storage: its rows, and the indexes made of them."""
    return row_bytes(rates) + SPARSE_ENTRY * rates.words + index_on_disk(rates)[kind]


def nodes(rates: Rates, kind: str, chunks: int) -> int:
    """Return the nodes that one replica needs for its memory."""
    needed = chunks * memory_per_chunk(rates)[kind] / (1 - FREE_MEMORY)
    return math.ceil(needed / NODE_BYTES)


def memory_table(rates: Rates) -> Table:
    """Return memory and disk by index type and number of chunks."""
    memory, disk = memory_per_chunk(rates), index_on_disk(rates)

    def rows() -> Iterator[list[str]]:
        for kind in memory:
            for chunks in SIZES:
                local = field_bytes(rates) + (disk[kind] if kind == "DiskANN" else 0)
                yield [
                    kind,
                    f"{chunks:,}",
                    size(chunks * memory[kind]),
                    size(chunks * (memory[kind] + field_bytes(rates))),
                    size(chunks * local),
                    size(chunks * stored(rates, kind)),
                    f"{nodes(rates, kind, chunks):,}",
                ]

    head = [
        "index",
        "chunks",
        "memory, fields on disk",
        "memory, all loaded",
        "local disk, fields on disk",
        "object storage",
        "nodes of 64 GiB, fields on disk",
    ]
    return Table("memory", head, rows())


def parts_table(rates: Rates) -> Table:
    """Return segments, partitions and repositories by number of chunks."""
    rows = [
        [
            f"{chunks:,}",
            f"{math.ceil(chunks / REPOSITORY_CHUNKS):,}",
            f"{math.ceil(chunks * row_bytes(rates) / SEGMENT_BYTES):,}",
            f"{math.ceil(chunks / 16):,}",
            f"{math.ceil(chunks / MAX_PARTITIONS):,}",
            f"{max(1.0, chunks / REPOSITORY_CHUNKS / MAX_PARTITIONS):,.0f}",
        ]
        for chunks in SIZES
    ]
    head = [
        "chunks",
        "repositories of 10,000",
        "segments of 1 GiB",
        "chunks per partition, of 16",
        "…, of 1,024",
        "repositories in one of 1,024",
    ]
    return Table("parts", head, rows)


def embedding_table(rates: Rates) -> Table:
    """Return the hours of embedding everything, and of building an index."""
    rows = [
        [
            f"{chunks:,}",
            shown(chunks / rates.cards / 3600),
            shown(chunks / rates.gpu_cards / 3600),
            shown(chunks / rates.cards / 3600 / 64),
            shown(chunks / rates.built / 3600),
        ]
        for chunks in SIZES
    ]
    head = ["chunks", "core-hours", "GPU-hours", "hours with 64 cores", "core-hours, HNSW"]
    return Table("embedding", head, rows)


def cost_table(rates: Rates, chunk_writes_per_push: float, instance_cores: int) -> Table:
    """Return what one developer of 10,000 needs, by index type, with 100,000,000 chunks."""
    chunks = SIZES[1]
    pushed = COMMITS_PER_HOUR * rates.mean(lambda push: push.cards) / rates.cards / DEVELOPERS
    rows = [
        [
            kind,
            size(REPLICAS * chunks * memory / (1 - FREE_MEMORY) / DEVELOPERS),
            size(chunks * stored(rates, kind) / DEVELOPERS),
            f"{instance_cores / DEVELOPERS:.4f}",
            shown(chunks / rates.cards / 3600 / DEVELOPERS * 60),
            shown(pushed),
            shown(COMMITS_PER_HOUR * chunk_writes_per_push / DEVELOPERS),
        ]
        for kind, memory in memory_per_chunk(rates).items()
    ]
    head = [
        "index",
        "memory, two replicas",
        "object storage",
        "cores of instances",
        "core-minutes to embed all once",
        "core-seconds of embedding an hour",
        "chunks written an hour",
    ]
    return Table("cost", head, rows)
