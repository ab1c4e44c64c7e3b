"""Measure the nearest vectors of large indexes: an index as it answers, beside an exact search.

    python -m benchmarks.nearest --vectors DB [DB...] [--sizes 100000 300000 1000000]

Each DB is a vector cache (`passages.db`) or an index (`vectors-forest.db`) with vectors of the
8-bit engine. Equal vectors count once. What a size needs beyond them is made up: a real vector,
moved in the direction of the difference of two others until its cosine is one that real vectors
have with their nearest. The questions are those of the labelled sets, embedded by the model.

real       number of vectors that are not made up
cosine     of the 10th hit, the median
exact      multiplication with all vectors in memory, in 32 bits; it defines the recall
from disk  every vector read for each question, as without the eight bits
search     300 hits, as the forest asks; `filtered` 4,096, as with a filter of very many chunks
first      the first search of a process; `cold` after the file has left the memory of the system
added      the search after 1,000 vectors were added; `deleted` after they were deleted
kept       memory that the process keeps after its first search, in MiB

Times are milliseconds of processor time; `p50`, `p95` and `cold` those of the clock. One thread. A
million vectors take 2 GB in the folder for temporary files.
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.labels import OTHERS, OWN
from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.foundation.math_threads import VARIABLE
from code_intel.index.nearest import eight_bits
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.records import Chunk, ParsedFile

Vectors = NDArray[np.float32]

IDENTITY = "multilingual-e5-small/int8/onnxruntime-1"
DIMENSIONS = 384
QUESTIONS = 200
HITS, FILTERED = 300, 4096
ADDED = 1000
CHUNKS_PER_FILE = 10
PART = 50_000
COLUMNS = (
    "real",
    "cosine",
    "recall@10",
    "recall@100",
    "exact",
    "from disk",
    "search",
    "p50",
    "p95",
    "filtered",
    "first",
    "cold",
    "added",
    "deleted",
    "kept",
)


def real_vectors(files: Iterable[Path]) -> Vectors:
    """Return the different vectors of the engine in caches and indexes, in random order."""
    found: dict[bytes, None] = {}
    for file in files:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            columns = {row[1] for row in database.execute("PRAGMA table_info(vectors)")}
            where = "WHERE identity = ?1" if "identity" in columns else "WHERE ?1 IS NOT NULL"
            sql = f"SELECT vector FROM vectors {where}"  # noqa: S608 - one of two constants
            found.update((row[0], None) for row in database.execute(sql, (IDENTITY,)))
    vectors = np.frombuffer(b"".join(found), np.float32).reshape(-1, DIMENSIONS)
    return vectors[np.random.default_rng(0).permutation(len(vectors))]


def questions() -> Vectors:
    """Return the vectors of some labelled questions."""
    lines = [line for file in (OWN, OTHERS) for line in file.read_text("utf-8").splitlines()]
    texts = sorted({str(json.loads(line)["query"]) for line in lines})
    return OnnxE5(1).queries(random.Random(1).sample(texts, QUESTIONS))


def enlarged(real: Vectors, size: int, dice: np.random.Generator) -> Vectors:
    """Return as many vectors, the real ones first, then made-up ones."""
    if len(real) >= size:
        return real[:size]
    vectors = np.empty((size, DIMENSIONS), np.float32)
    vectors[: len(real)] = real
    sample = dice.choice(len(real), 1000, replace=False)
    near = real[sample] @ real.T
    near[np.arange(len(sample)), sample] = -1
    cosines = near.max(axis=1).clip(0.5, 0.999)
    for start in range(len(real), size, PART):
        count = min(PART, size - start)
        source, one, other = real[dice.integers(len(real), size=(3, count))]
        away = one - other
        away -= (away * source).sum(axis=1, keepdims=True) * source
        away /= np.linalg.norm(away, axis=1, keepdims=True).clip(1e-9)
        cosine = dice.choice(cosines, (count, 1)).astype(np.float32)
        made = cosine * source + np.sqrt(1 - cosine**2) * away
        vectors[start : start + count] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return vectors


def fill(path: Path, vectors: Vectors) -> None:
    """Make an index of as many chunks, each with its vector."""
    with Store.open(path, dimensions=DIMENSIONS) as store:
        add(store, "src", vectors)


def add(store: Store, folder: str, vectors: Vectors) -> None:
    """Add chunks with these vectors."""
    for start in range(0, len(vectors), PART):
        part = vectors[start : start + PART]
        with store.batch():
            for number in range(start, start + len(part), CHUNKS_PER_FILE):
                chunks = tuple(
                    Chunk(place, "text", 1, 1, (), f"card {number} {place}")
                    for place in range(CHUNKS_PER_FILE)
                )
                row = DocumentRow(f"{folder}/{number}.py", "d")
                store.put_document(row, ParsedFile("python", chunks))
            generation = store.generations.begin(IDENTITY, DIMENSIONS)
            waiting = sorted(chunk for chunk, _ in store.generations.pending(generation, PART))
            store.generations.put(generation, list(zip(waiting, part, strict=True)))


def exact_hits(vectors: Vectors, asked: Vectors) -> tuple[list[list[int]], float, float]:
    """Return the 100 nearest chunks of each question, best first.

    Also returns the median cosine of the 10th, and the milliseconds of one question.
    """
    found, tenths, took = [], [], []
    for query in asked:
        started = time.process_time()
        cosines = vectors @ query
        took.append(time.process_time() - started)
        best = np.argpartition(-cosines, 100)[:100]
        best = best[np.argsort(-cosines[best])]
        tenths.append(cosines[best[9]])
        found.append((best + 1).tolist())
    return found, float(np.median(tenths)), 1e3 * float(np.median(took))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of some work: of the processor, and of the clock."""
    started, clock = time.process_time(), time.perf_counter()
    work()
    return 1e3 * (time.process_time() - started), 1e3 * (time.perf_counter() - clock)


def first_search(path: Path, query: Vectors) -> dict[str, float]:
    """Return what the first search of a new process takes, and the memory that it needs."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.nearest", "--first", str(path)],
        input=query.tobytes(),
        env={**os.environ, VARIABLE: "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def search_once(path: Path) -> None:
    """Make one search, whose question is read from stdin, and print what it took."""
    query = np.frombuffer(sys.stdin.buffer.read(), np.float32)
    with Store.open(path, readonly=True) as store:
        store.document_count()
        before = own_memory()
        processor, clock = timed(lambda: store.vector_hits(query, HITS))
        kept = own_memory() - before
    print(json.dumps({"first": processor, "clock": clock, "kept": kept}))


def own_memory() -> float:
    """Return the memory of this process in MiB; what it shares counts in parts (Linux)."""
    rows = Path("/proc/self/smaps_rollup").read_text("utf-8").splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("Pss:"))


def leave_memory(path: Path) -> None:
    """Ask the system to forget what it has read of a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measured(path: Path, vectors: Vectors, asked: Vectors) -> dict[str, float]:
    """Return what searches of an index take and find."""
    row: dict[str, float] = {}
    nearest, row["cosine"], row["exact"] = exact_hits(vectors, asked)
    fill(path, vectors)
    leave_memory(path)
    row["cold"] = first_search(path, asked[0])["clock"]
    row |= first_search(path, asked[0])
    with Store.open(path, dimensions=DIMENSIONS) as store:
        store.vector_hits(asked[0], HITS)
        found = [[chunk for chunk, _ in store.vector_hits(query, HITS)] for query in asked]
        row["recall@10"], row["recall@100"] = (recall(found, nearest, k) for k in (10, 100))
        times = np.array([timed(partial(store.vector_hits, query, HITS)) for query in asked])
        row["search"] = float(np.median(times[:, 0]))
        row["p50"], row["p95"] = np.quantile(times[:, 1], (0.5, 0.95)).tolist()
        wide = [timed(partial(store.vector_hits, query, FILTERED))[0] for query in asked[:40]]
        row["filtered"] = float(np.median(wide))
        add(store, "new", vectors[:ADDED])
        row["added"] = timed(lambda: store.vector_hits(asked[0], HITS))[0]
        for number in range(0, ADDED, CHUNKS_PER_FILE):
            store.delete_document(f"new/{number}.py")
        row["deleted"] = timed(lambda: store.vector_hits(asked[0], HITS))[0]
    kept, eight_bits.MAX_BYTES = eight_bits.MAX_BYTES, 0
    with Store.open(path, readonly=True) as store:
        row["from disk"] = min(timed(lambda: store.vector_hits(asked[0], HITS))[0] for _ in "12")
    eight_bits.MAX_BYTES = kept
    return row


def recall(found: Sequence[Sequence[int]], expected: Sequence[Sequence[int]], count: int) -> float:
    """Return the mean share of the first `count` expected chunks that are the first found."""
    pairs = zip(found, expected, strict=True)
    return float(np.mean([len({*hits[:count]} & {*best[:count]}) / count for hits, best in pairs]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=Path, nargs="+", default=[], metavar="DB")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--first", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.first:
        search_once(arguments.first)
        return
    if os.environ.get(VARIABLE) != "1":  # numpy reads it when it is imported
        os.environ[VARIABLE] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.nearest", *sys.argv[1:]])  # noqa: S606
    real, asked = real_vectors(arguments.vectors), questions()
    if not len(real):
        parser.error("--vectors names no file with vectors of the 8-bit engine")
    vectors = enlarged(real, max(arguments.sizes), np.random.default_rng(1))
    report: dict[int, dict[str, Any]] = {}
    print(f"{'vectors':>9}", *(f"{name:>10}" for name in COLUMNS))
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            row = measured(Path(folder) / "vectors-forest.db", vectors[:size], asked)
        report[size] = row | {"real": min(size, len(real))}
        print(f"{size:>9,}", *(f"{shown(name, report[size][name]):>10}" for name in COLUMNS))
        sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


def shown(name: str, value: float) -> str:
    """Return a figure as text."""
    if name in {"real", "kept", "first", "cold", "from disk"}:
        return f"{value:,.0f}"
    return f"{value:.4f}" if name.startswith(("recall", "cosine")) else f"{value:.1f}"


if __name__ == "__main__":
    main()
