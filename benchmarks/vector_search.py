"""How long a search over all vectors takes: sqlite-vec's own `MATCH` against reading its blocks with numpy.

Random unit vectors with a common direction, as embeddings have; 600 hits, as the forest asks for. A third
row makes the new model's vectors and swaps them, and vacuums: what a change of model costs beside embedding.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.records import Chunk, ParsedFile

DIMENSIONS = 384
HITS = 600
A_FILE = 10
MATCH = """SELECT rowid, 1 - distance FROM vectors_{} WHERE embedding MATCH ? AND k = ?
  ORDER BY distance"""


def filled(path: Path, vectors: NDArray[np.float32]) -> Store:
    """Return an index of as many chunks, each with its vector."""
    store = Store.open(path, dimensions=DIMENSIONS)
    with store.batch():
        for number in range(0, len(vectors), A_FILE):
            chunks = tuple(
                Chunk(place, f"text {number}", 1, 1, (), f"card {number} {place}")
                for place in range(A_FILE)
            )
            store.put_document(DocumentRow(f"{number}.py", "d"), ParsedFile("python", chunks))
    embed(store, "one", vectors)
    return store


def embed(store: Store, identity: str, vectors: NDArray[np.float32]) -> float:
    """Put all vectors and let them answer; return the seconds of the swap alone."""
    generation = store.generations.aim(identity, DIMENSIONS)
    waiting = [chunk for chunk, _ in store.generations.pending(generation, len(vectors))]
    with store.batch():
        store.generations.put(generation, list(zip(waiting, vectors, strict=True)))
    started = time.perf_counter()
    assert store.generations.finish(generation)
    return time.perf_counter() - started


def best_of(work: Callable[[], object], times: int = 15) -> float:
    """Return the least seconds of several runs."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return min(took)


def matched(path: Path, query: NDArray[np.float32]) -> tuple[float, list[int]]:
    """Return what sqlite-vec's own search takes, and its hits."""
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)  # noqa: FBT003 - apsw takes it by position
    connection.load_extension(sqlite_vec.loadable_path())
    (generation,) = connection.execute("SELECT id FROM generations").fetchone() or (0,)
    sql = MATCH.format(generation)

    def search() -> list[tuple[int, float]]:
        return connection.execute(sql, (query.tobytes(), HITS)).fetchall()  # type: ignore[return-value]  # an id and a distance

    took, hits = best_of(search), [chunk for chunk, _ in search()]
    connection.close()
    return took, hits


def measured(size: int) -> dict[str, float]:
    """Return seconds, and bytes, for an index of `size` vectors."""
    dice = np.random.default_rng(1)
    vectors = dice.normal(size=(size, DIMENSIONS)) + 1.5 * dice.normal(size=DIMENSIONS)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    query = vectors[size // 2]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.db"
        with filled(path, vectors) as store:
            blocks = best_of(lambda: store.vector_hits(query, HITS))
            match, hits = matched(path, query)
            ours = {chunk for chunk, _ in store.vector_hits(query, HITS)}
            assert len(ours & set(hits)) >= HITS - 2  # equals at the edge
            swap = embed(store, "two", vectors)
            started = time.perf_counter()
            _, after = store.vacuum()
            vacuum = time.perf_counter() - started
            assert store.check() == []
    return {"match": match, "blocks": blocks, "swap": swap, "vacuum": vacuum, "bytes": after}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(
        f"{'vectors':>9} {'MATCH':>9} {'blocks':>9} {'ratio':>7} {'swap':>9} {'vacuum':>9} {'MiB':>6}"
    )
    report = {}
    for size in arguments.sizes:
        row = report[size] = measured(size)
        print(
            f"{size:>9,} {row['match'] * 1e3:>6.1f} ms {row['blocks'] * 1e3:>6.1f} ms"
            f" {row['match'] / row['blocks']:>6.1f}x {row['swap'] * 1e3:>6.0f} ms"
            f" {row['vacuum'] * 1e3:>6.0f} ms {row['bytes'] / 2**20:>6.0f}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
