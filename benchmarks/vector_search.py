"""Measure a search over all vectors of an index, beside one multiplication of the same matrix.

Both are in memory. Vectors are random unit vectors with a common direction, as embeddings have; 600
hits, as the forest asks for. `first` is the first search of a process, `after a write` one after
another vector was stored, `search` one without any change. A change of model makes all vectors
again and swaps them (`swap`).
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.records import Chunk, ParsedFile

DIMENSIONS = 384
HITS = 600
CHUNKS_PER_FILE = 10
RUNS = 15


def filled(path: Path, vectors: NDArray[np.float32]) -> Store:
    """Return an index of as many chunks, each with its vector."""
    store = Store.open(path, dimensions=DIMENSIONS)
    with store.batch():
        for number in range(0, len(vectors), CHUNKS_PER_FILE):
            chunks = tuple(
                Chunk(place, f"text {number}", 1, 1, (), f"card {number} {place}")
                for place in range(CHUNKS_PER_FILE)
            )
            store.put_document(DocumentRow(f"{number}.py", "d"), ParsedFile("python", chunks))
    embed(store, "one", vectors)
    return store


def embed(store: Store, identity: str, vectors: NDArray[np.float32]) -> float:
    """Put all vectors and let them answer; return the seconds of the swap alone."""
    generation = store.generations.begin(identity, DIMENSIONS)
    waiting = [chunk for chunk, _ in store.generations.pending(generation, len(vectors))]
    with store.batch():
        store.generations.put(generation, list(zip(waiting, vectors, strict=True)))
    started = time.perf_counter()
    assert store.generations.finish(generation)
    return time.perf_counter() - started


def best_of(work: Callable[[], object], times: int = RUNS) -> float:
    """Return the least seconds of several runs."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return min(took)


def first_search(path: Path, query: NDArray[np.float32]) -> float:
    """Return the least seconds of the first search after opening the index."""
    took = []
    for _ in range(RUNS):
        with Store.open(path, dimensions=DIMENSIONS) as store:
            store.document_count()
            started = time.perf_counter()
            store.vector_hits(query, HITS)
            took.append(time.perf_counter() - started)
    return min(took)


def search_after_write(store: Store, query: NDArray[np.float32]) -> float:
    """Return the least seconds of a search after one vector was replaced."""
    took = []
    generation = store.generations.active()
    for chunk in range(1, RUNS + 1):
        store.generations.put(generation, [(chunk, query)])
        started = time.perf_counter()
        store.vector_hits(query, HITS)
        took.append(time.perf_counter() - started)
    return min(took)


def measured(size: int) -> dict[str, float]:
    """Return seconds, and bytes, for an index of `size` vectors."""
    dice = np.random.default_rng(1)
    vectors = dice.normal(size=(size, DIMENSIONS)) + 1.5 * dice.normal(size=DIMENSIONS)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    query = vectors[size // 2]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.db"
        with filled(path, vectors) as store:
            row = {
                "multiply": best_of(lambda: vectors @ query),
                "search": best_of(lambda: store.vector_hits(query, HITS)),
            }
            expected = np.sort(vectors @ query)[: -HITS - 1 : -1]
            found = [cosine for _, cosine in store.vector_hits(query, HITS)]
            assert np.allclose(found, expected, atol=1e-5)
            row["first"] = first_search(path, query)
            row["after a write"] = search_after_write(store, query)
            row["swap"] = embed(store, "two", vectors)
            _, row["bytes"] = store.vacuum()
            assert store.check() == []
    return row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    columns = ("multiply", "search", "after a write", "first", "swap")
    print(f"{'vectors':>9}", *(f"{name:>14}" for name in columns), f"{'MiB':>6}")
    report = {}
    for size in arguments.sizes:
        row = report[size] = measured(size)
        times = (f"{row[name] * 1e3:>11.1f} ms" for name in columns)
        print(f"{size:>9,}", *times, f"{row['bytes'] / 2**20:>6.0f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
