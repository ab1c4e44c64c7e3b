"""Measure what a question costs an instance of `serve-shared`, beside its engine.

    python -m benchmarks.scale_instance --engine http://127.0.0.1:19530 --sources DIR \
        [--cache DIR] [--json benchmarks/data/scale_instance.json]

Start an empty engine first: `milvus-lite server --data-dir DIR --host 127.0.0.1 --port 19530`.
The script pushes repositories of `fetch_sources.py` into it, asks their labelled questions as
`search_forest` of the server does, and measures the processor time of its own process: the
ranking, and the work with the engine's answers. What the engine takes is not counted: Milvus Lite
compares row after row in Python, which says nothing about Milvus.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.labels import Repository, repositories
from benchmarks.scale_commits import MODEL
from benchmarks.scale_rates import OTHERS, machine, row_of
from code_intel.chunking import decode, parse_file
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.forest.ranking.places import places_of
from code_intel.forest.ranking.search import search
from code_intel.index.corpus import MAX_FILE_BYTES, priority
from code_intel.index.rows import index_words
from code_intel.index.vectors import card_vectors
from code_intel.shared.cards import card_digest, settings_digest
from code_intel.shared.layers import plan_layers
from code_intel.shared.milvus.index import SharedIndex
from code_intel.shared.records import Generation, SharedChunk, SharedFile

NAMES = ("fzf", "jsoup", "rich", "leveldb", "sidekiq")
FILES_AT_ONCE = 50


def files_of(folder: Path) -> Iterator[tuple[SharedFile, dict[str, str]]]:
    """Yield the files below a folder as they are pushed, each with its cards by digest."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "/.git/" not in f"/{name}" and path.stat().st_size <= MAX_FILE_BYTES:
            data = path.read_bytes()
            if (text := decode(data)) is not None:
                yield _file(name, text, hashlib.sha256(data).hexdigest())


def _file(name: str, text: str, digest: str) -> tuple[SharedFile, dict[str, str]]:
    parsed = parse_file(name, text)
    cards = {card_digest(MODEL, chunk.card): chunk.card for chunk in parsed.chunks if chunk.card}
    chunks = tuple(
        SharedChunk(
            each.position, each.start_line, each.end_line, each.text, each.symbols,
            card_digest(MODEL, each.card), *index_words(name, each),
        )
        for each in parsed.chunks
    )  # fmt: skip
    lines = text.count("\n") + 1
    file = SharedFile(
        name, digest, parsed.language, lines, priority(name), chunks, parsed.symbols,
        parsed.imports,
    )  # fmt: skip
    return file, cards


def push(index: SharedIndex, each: Repository, engine: OnnxE5, cache: VectorCache | None) -> int:
    """Push a repository, and return the number of its chunks."""
    files = [*files_of(each.folder)]
    settings = settings_digest(MODEL, 500)
    digests = {file.path: file.digest for file, _ in files}
    plan = plan_layers(each.name, settings, digests, None, {})
    for at in range(0, len(files), FILES_AT_ONCE):
        part = files[at : at + FILES_AT_ONCE]
        cards = {digest: text for _, own in part for digest, text in own.items()}
        found = card_vectors(engine, cache, MODEL, engine.dimensions, [*cards.values()]) or {}
        vectors = {
            digest: np.ascontiguousarray(found[text], "<f4").tobytes()
            for digest, text in cards.items()
            if text in found
        }
        index.write(each.name, plan.new, [file for file, _ in part], vectors)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    chunks = sum(len(file.chunks) for file, _ in files)
    generation = Generation(
        plan.generation, each.name, "0" * 40, plan.tree, settings, MODEL, plan.layers, len(files),
        chunks, now,
    )  # fmt: skip
    index.finish(generation, "main")
    return chunks


def ask(index: SharedIndex, each: Repository, engine: OnnxE5) -> tuple[list[float], list[float]]:
    """Return milliseconds of processor time, and of the clock, for each question."""
    busy, passed = [], []
    for turn, query in enumerate([each.queries[0], *each.queries]):
        vector = engine.queries([query])[0]
        started, began = time.process_time(), time.perf_counter()
        head = index.head(each.name, "main")
        generation = index.generation(head.generation) if head else None
        assert generation, f"{each.name} was not pushed"
        store = index.store([generation])
        places_of(store, query, search(store, query, vector, top_k=10), 3)
        if turn:  # the first one fills caches
            busy.append(round(1000 * (time.process_time() - started), 2))
            passed.append(round(1000 * (time.perf_counter() - began), 1))
    return busy, passed


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", required=True, metavar="URL")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="keep the vectors of passages here")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    manifest = json.loads(OTHERS.with_suffix(".manifest.json").read_text(encoding="utf-8"))
    cache = VectorCache(args.cache) if args.cache else None
    engine = OnnxE5(1)
    chunks: dict[str, int] = {}
    times: list[float] = []
    with SharedIndex.open(args.engine) as index:
        for each in repositories(OTHERS, manifest, args.sources, "full", NAMES):
            chunks[each.name] = push(index, each, engine, cache)
            busy, passed = ask(index, each, engine)
            times += busy
            print(f"{each.name:<12}{chunks[each.name]:>6} chunks")
            print(row_of("processor, ms", busy))
            print(row_of("clock, ms", passed))
    print(row_of("all, ms", times))
    if args.json:
        report = {"machine": machine(), "chunks": chunks, "instance_ms": times}
        args.json.write_text(json.dumps(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
