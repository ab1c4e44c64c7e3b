"""Compare a shared index in Milvus with the SQLite index: NDCG@10 and the time of a search.

Quality, on a labelled set (see `code_search.py` for the options):

    python -m benchmarks.shared_search --data DATA --sources DIR [--vectors --cache DIR]

Speed, with the files of a folder copied until there are enough chunks, and random vectors:

    python -m benchmarks.shared_search --speed 100000 --sources DIR

A push sends no commits, so the row `history` of the ranking has no effect in the shared index;
`--without history` leaves it out of both. Both indexes hold the same chunks, and the same ranking
asks both. All repositories are in one shared index. `--address URL` measures a Milvus server; by
default it is Milvus Lite, in this process.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.labels import (
    HERE,
    Repository,
    add_options,
    asked_about,
    checked,
    forest_config,
    labelled,
)
from benchmarks.scoring import DEPTH, ndcg
from code_intel.chunking import parse_file
from code_intel.chunking.words import query_words
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.forest.source_store import SourceStore
from code_intel.index.corpus import priority
from code_intel.index.facade import Index
from code_intel.index.rows import DocumentRow, index_words
from code_intel.index.store import Store
from code_intel.records import Chunk, Symbol
from code_intel.shared.layers import digest_of, plan_layers
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.records import Generation, SharedChunk, SharedFile

FILES_PER_WRITE = 100
QUESTIONS = (
    "how are HTTP redirects followed",
    "validate an email address",
    "parse command line options",
    "retry a failed request with a delay",
    "Session.send",
    "where is the cookie jar stored",
    "dependency injection of parameters",
    "encode a multipart form",
    "タイムアウトの設定",
    "merge two configuration objects",
)


class Compared(NamedTuple):
    """One question: NDCG@10 and milliseconds in SQLite and in the shared index."""

    local: float
    shared: float
    local_ms: float
    shared_ms: float


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument(
        "--without", action="append", default=[], help="leave out a row of the ranking, in both"
    )
    parser.add_argument(
        "--address",
        default="",
        help="URL, or the file of Milvus Lite to keep; by default a new one",
    )
    parser.add_argument("--token", default="", help="the token for --address")
    parser.add_argument("--speed", type=int, default=0, metavar="CHUNKS", help="measure the time")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        address = args.address or str(Path(scratch) / "shared.db")
        with SharedIndex.open(address, args.token) as index:
            if args.speed:
                measure_speed(index, args.sources or HERE.parent / "code_intel", args.speed)
            else:
                measure_quality(index, checked(parser, args))


def measure_quality(index: SharedIndex, args: argparse.Namespace) -> None:
    """Print NDCG@10 of both indexes by repository."""
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    print(f"{'repository':<14}{'n':>5}{'chunks':>9}{'SQLite':>9}{'Milvus':>9}{'difference':>12}")
    every: list[Compared] = []
    for each in asked_about(args):
        chunks, rows = compared(index, each, embedder, cache, args.without)
        every += rows
        show(each.name, chunks, rows)
    show("ALL", 0, every)
    for name, times in (
        ("SQLite", [row.local_ms for row in every]),
        ("Milvus", [row.shared_ms for row in every]),
    ):
        print(f"{name}: p50 {statistics.median(times):.1f} ms, p95 {at(times, 0.95):.1f} ms")


def show(name: str, chunks: int, rows: Sequence[Compared]) -> None:
    """Print the means of some questions."""
    local = statistics.mean(row.local for row in rows)
    shared = statistics.mean(row.shared for row in rows)
    print(f"{name:<14}{len(rows):>5}{chunks:>9}{local:>9.4f}{shared:>9.4f}{shared - local:>+12.4f}")


def compared(
    index: SharedIndex,
    each: Repository,
    embedder: Embedder | None,
    cache: VectorCache | None,
    without: Sequence[str],
) -> tuple[int, list[Compared]]:
    """Index a repository twice and ask both; return the number of chunks, and the answers."""
    with tempfile.TemporaryDirectory() as scratch:
        local = Index(forest_config(each.folder, scratch), embedder=embedder, cache=cache)
        report = local.complete()
        assert not report.failed, report.failed
        generation = pushed(index, each.name, local.store)
        shared = index.store([generation])
        rows = []
        for question in each.questions:
            query = str(question["query"])
            wanted = [target["path"] for target in question["relevant"]]
            vector = None if embedder is None else embedded(embedder, query)
            found = [asked(store, query, vector, without) for store in (local.store, shared)]
            (first, first_ms), (second, second_ms) = found
            local_score, shared_score = (
                ndcg([labelled(document, each.prefix) for document in documents], wanted)
                for documents in (first, second)
            )
            rows.append(Compared(local_score, shared_score, first_ms, second_ms))
        local.close()
    return generation.chunks, rows


def asked(
    store: SourceStore, query: str, vector: "NDArray[np.float32] | None", without: Sequence[str]
) -> tuple[list[str], float]:
    """Return the documents that a question finds, and the milliseconds that it took."""
    started = time.perf_counter()
    hits = search(store, query, vector, top_k=DEPTH, situation=NO_SITUATION, without=without)
    return [hit.document for hit in hits], 1000 * (time.perf_counter() - started)


def pushed(index: SharedIndex, repository: str, store: Store) -> Generation:
    """Push what a local index holds."""
    digests = {path: digest for path, _, digest in store.digests()}
    settings = digest_of("settings", store.model() or "")
    plan = plan_layers(repository, settings, digests, None, {})
    if (before := index.generation(plan.generation)) is not None:
        return before
    for start in range(0, len(plan.files), FILES_PER_WRITE):
        paths = plan.files[start : start + FILES_PER_WRITE]
        files: list[SharedFile] = []
        vectors: dict[str, bytes] = {}
        for path in paths:
            file, known = shared_file(store, path)
            files.append(file)
            vectors |= known
        index.write(repository, plan.new, files, vectors)
    model = store.model() or ""
    facts = (plan.generation, repository, plan.tree, plan.tree, settings, model, plan.layers)
    index.finish(Generation(*facts, len(digests), 0, ""), "main")
    generation = index.generation(plan.generation)
    assert generation is not None
    return generation


def shared_file(store: Store, path: str) -> tuple[SharedFile, dict[str, bytes]]:
    """Return a document as it is pushed, with its vectors by card."""
    document = store.document(path)
    assert document is not None
    rows = store.chunks_of([path])
    known = store.generations.vectors_of([row.id for row in rows])
    chunks: list[SharedChunk] = []
    vectors: dict[str, bytes] = {}
    for row in rows:
        card = digest_of("card", store.model() or "", row.card) if row.id in known else ""
        if card:
            vectors[card] = known[row.id].tobytes()
        place = (row.position, row.start_line, row.end_line, row.text, row.symbols)
        parsed = Chunk(row.position, row.text, row.start_line, row.end_line, row.symbols)
        chunks.append(SharedChunk(*place, card, *index_words(path, parsed)))
    symbols = tuple(
        Symbol(d.name, d.qualified, d.kind, d.line, d.end_line, d.signature, "", d.digest, d.body)
        for d in store.defined_in([path])
    )
    imports = tuple(target for _, target in store.imports([path]))
    facts = (document.digest, document.language, document.lines, document.priority)
    return SharedFile(path, *facts, tuple(chunks), symbols, imports), vectors


def measure_speed(index: SharedIndex, folder: Path, chunks: int) -> None:
    """Print how long searches and their parts take in both indexes of so many chunks."""
    with tempfile.TemporaryDirectory() as scratch, Store.open(Path(scratch) / "forest.db") as store:
        count = filled(store, folder, chunks)
        started = time.perf_counter()
        generation = pushed(index, "team/large", store)
        took = time.perf_counter() - started
        print(f"{count} chunks; the push took {took:.0f} s ({count / took:.0f} chunks/s)")
        query = unit_vectors(1, seed=1)[0]
        print(f"{'':<28}{'SQLite p50':>12}{'p95 ms':>9}{'Milvus p50':>12}{'p95 ms':>9}{'ratio':>8}")
        for name, work in parts(query):
            rows = [times(work, each) for each in (store, index.store([generation]))]
            (local, local_95), (shared, shared_95) = rows
            print(
                f"{name:<28}{local:>12.1f}{local_95:>9.1f}{shared:>12.1f}{shared_95:>9.1f}"
                f"{shared / local:>8.1f}"
            )


def parts(
    query: "NDArray[np.float32]",
) -> Iterator[tuple[str, Callable[[SourceStore, str], object]]]:
    """Yield what is measured: a whole search, and what it asks of a store."""
    yield (
        "search, words and vectors",
        lambda s, q: search(s, q, query, top_k=10, situation=NO_SITUATION, floor=False),
    )
    yield (
        "search, words",
        lambda s, q: search(s, q, None, top_k=10, situation=NO_SITUATION, floor=False),
    )
    yield (
        "words of both columns",
        lambda s, q: [
            s.word_hits(query_words(q), "body", 300),
            s.word_hits(query_words(q), "names", 300),
        ],
    )
    yield "vectors", lambda s, _: s.vector_hits(query, 300)
    yield "definitions of a name", lambda s, q: s.definition_chunks(query_words(q)[0])


def times(work: Callable[[SourceStore, str], object], store: SourceStore) -> tuple[float, float]:
    """Return p50 and p95 in milliseconds; each question is asked once before."""
    work(store, "the first search reads the graph")
    took = []
    for number in range(3):
        for question in QUESTIONS:
            asked_now = f"{question} {number}"  # a store may remember the words of a question
            started = time.perf_counter()
            work(store, asked_now)
            took.append(1000 * (time.perf_counter() - started))
    return statistics.median(took), at(took, 0.95)


def at(values: Sequence[float], share: float) -> float:
    """Return a quantile."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def filled(store: Store, folder: Path, wanted: int) -> int:
    """Index copies of the files of a folder until there are enough chunks; return their number."""
    texts = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".py", ".ts", ".js", ".md"} and path.is_file()
    }
    parsed = {path: parse_file(path, text) for path, text in texts.items()}
    count, copy = 0, 0
    while count < wanted:
        copy += 1
        with store.batch():
            for path, file in parsed.items():
                name = f"part{copy}/{path}"
                row = DocumentRow(
                    name, digest_of(name), language=file.language, priority=priority(name)
                )
                store.put_document(row, file)
                count += len(file.chunks)
                if count >= wanted:
                    break
        sys.stderr.write(f"\r{count} chunks")
    generation = store.generations.begin("random", 384)
    while waiting := store.generations.pending(generation, 10_000):
        vectors = unit_vectors(len(waiting), seed=waiting[0][0])
        pairs = zip((chunk for chunk, _ in waiting), vectors, strict=True)
        store.generations.put(generation, list(pairs))
    store.generations.finish(generation)
    return count


def unit_vectors(count: int, seed: int) -> "NDArray[np.float32]":
    """Return random vectors with a common direction, as embeddings have."""
    numbers = np.random.default_rng(seed).standard_normal((count, 384)).astype(np.float32) + 0.5
    return np.asarray(numbers / np.linalg.norm(numbers, axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
