"""Measure the rates and distributions that docs/scale.md and `scale_model.py` compute with.

    python -m benchmarks.scale_rates --tasks DIR --sources DIR [--cache DIR] [--faiss] \
        [--commits 200] [--json benchmarks/data/scale_rates.json]

`--tasks` contains bare git repositories (`*.git`), `--sources` the folders of `fetch_sources.py`.
All times are processor time, which other load changes little.

- cards: cards and tokens a second that one core embeds, with the 8-bit engine.
- questions: the time to embed each labelled question, and to rank its hits in an SQLite index.
- commits: for each of the last commits of a branch, what a push of it writes: files, chunks, cards
  that the parent's versions of these files do not have, the bytes of the records as JSON, plain and
  compressed, and the time to read and split the files.
- engine: with `--faiss` (the extra `milvus` has it), the size of an HNSW and an IVF_SQ8 index per
  vector, the time to build the first, and to find 300 of 100,000 vectors on one core. Milvus uses
  the same library. The vectors are those of real cards, and neighbours made of them.
"""

import argparse
import dataclasses
import datetime as dt
import gzip
import hashlib
import json
import os
import platform
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.labels import HERE, forest_config, repositories
from code_intel.chunking import decode, parse_file
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.embedding.tokenizer import Tokenizer
from code_intel.embedding.weights import Weights
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.corpus import MAX_FILE_BYTES, priority
from code_intel.index.facade import Index
from code_intel.index.rows import index_words
from code_intel.records import Chunk
from code_intel.shared.records import SharedChunk, SharedFile

OTHERS = HERE / "data" / "code_search_others.jsonl"
CARDS = 4_000
ROUNDS = 3
VECTORS, DIMENSIONS, FOUND = 100_000, 384, 300
LINKS, BUILD_DEPTH, LISTS = 16, 200, 1_024
SPREAD = 0.25
"""Length of the change that makes a neighbour of a real unit vector."""

Vectors = NDArray[np.float32]


class Commit(NamedTuple):
    """What a push of a commit writes."""

    files: int
    chunks: int
    cards: int
    json_bytes: int
    gzip_bytes: int
    milliseconds: float


def chunks_of(name: str, text: str) -> tuple[SharedFile, list[str]]:
    """Return a file as it is pushed, and its cards."""
    parsed = parse_file(name, text)
    chunks = tuple(_chunk(name, each) for each in parsed.chunks)
    lines = text.count("\n") + 1
    return (
        SharedFile(name, _digest(text), parsed.language, lines, priority(name), chunks,
                   parsed.symbols, parsed.imports),
        [each.card for each in parsed.chunks if each.card],
    )  # fmt: skip


def _chunk(name: str, chunk: Chunk) -> SharedChunk:
    body, names = index_words(name, chunk)
    digest = _digest(chunk.card) if chunk.card else ""
    return SharedChunk(
        chunk.position, chunk.start_line, chunk.end_line, chunk.text, chunk.symbols, digest,
        body, names,
    )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def commits_of(repository: Path, count: int) -> Iterator[Commit]:
    """Yield what pushes of the last commits of a bare repository write."""
    listed = _git(repository, "log", "--first-parent", f"-{count}", "--format=%H").decode().split()
    for commit in listed[:-1]:
        yield _pushed(repository, commit)


def _pushed(repository: Path, commit: str) -> Commit:
    raw = _git(repository, "diff-tree", "-r", "--no-renames", "-z", f"{commit}^", commit)
    fields = raw.decode("utf-8", "replace").split("\0")
    old: set[str] = set()
    written: list[SharedFile] = []
    cards: set[str] = set()
    spent = 0.0
    for meta, name in zip(fields[::2], fields[1::2], strict=False):
        _, _, before, after, _ = meta.removeprefix(":").split(" ")
        if (text := _text(repository, before)) is not None:
            old.update(chunks_of(name, text)[1])
        if (text := _text(repository, after)) is not None:
            started = time.process_time()
            file, have = chunks_of(name, text)
            spent += time.process_time() - started
            written.append(file)
            cards.update(have)
    started = time.process_time()
    data = json.dumps(written, ensure_ascii=False, default=dataclasses.astuple).encode()
    packed = gzip.compress(data, 6)
    spent += time.process_time() - started
    return Commit(
        len(written),
        sum(len(each.chunks) for each in written),
        len(cards - old),
        len(data),
        len(packed),
        round(1000 * spent, 1),
    )


def _text(repository: Path, blob: str) -> str | None:
    """Return the text of a blob; None if it is absent, binary or too large for an index."""
    if not blob.strip("0"):
        return None
    kind = _git(repository, "cat-file", "-t", blob).strip()
    data = _git(repository, "cat-file", "blob", blob) if kind == b"blob" else b""
    return decode(data) if 0 < len(data) <= MAX_FILE_BYTES else None


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, check=False, capture_output=True)
    return done.stdout


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
        file, have = chunks_of(name, text)
        cards += have
        chunks += len(file.chunks)
        for chunk in file.chunks:
            tokens += len(set(chunk.body.split())) + len(set(chunk.names.split()))
            for field in sizes:
                sizes[field] += len(getattr(chunk, field).encode())
    drawn = random.Random(1).sample(cards, CARDS)
    tokenizer = Tokenizer(Weights().vocabulary)
    read = sum(len(window) for text in drawn for window in tokenizer.windows(f"passage: {text}"))
    engine = OnnxE5(1)
    spent = []
    for _ in range(ROUNDS):
        started = time.process_time()
        vectors = engine.passages(drawn)
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
    embedding: list[float] = []
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
                started = time.process_time()
                vector = embedded(embedder, query)
                between = time.process_time()
                search(index.store, query, vector, top_k=10, situation=NO_SITUATION)
                if turn:  # the first one fills caches
                    embedding.append(round(1000 * (between - started), 2))
                    ranking.append(round(1000 * (time.process_time() - between), 2))
            index.close()
    return {"chunks": sizes, "embedding_ms": embedding, "ranking_ms": ranking}


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
    lists = faiss.index_factory(DIMENSIONS, f"IVF{LISTS},SQ8", faiss.METRIC_INNER_PRODUCT)
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
    for name in ("embedding_ms", "ranking_ms"):
        _row(name, questions[name])
    for at, name in enumerate(Commit._fields):
        _row(f"commit: {name}", [row[at] for row in report["commits"]])
    for name, value in report.get("engine", {}).items():
        if name.endswith("_ms"):
            _row(name, value)
        else:
            print(f"{name:<36}{value}")


def _row(name: str, values: Sequence[float]) -> None:
    ordered = sorted(values)
    last = len(ordered) - 1
    places = "".join(f"{ordered[round(last * at)]:>12,.1f}" for at in (0.5, 0.9, 0.99, 1))
    print(f"{name:<24}{len(ordered):>6}{sum(ordered) / len(ordered):>12,.1f}{places}")


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
    report["commits"] = [
        list(commit)
        for repository in sorted(args.tasks.glob("*.git"))
        for commit in commits_of(repository, args.commits)
    ]
    if args.faiss:
        report["engine"] = engine_rates(vectors)
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
