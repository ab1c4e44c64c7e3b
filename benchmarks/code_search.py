"""How well the forest finds files: NDCG@10 on labelled questions, over indexes built as users build them.

    python benchmarks/code_search.py
    python benchmarks/code_search.py --data FILE.jsonl --manifest FILE --sources DIR [--scope root|full]

Without --data the questions are about this package, half of them Japanese. With it, each line is
{"repo", "query", "category", "relevant": [{"path"}]}; the manifest gives each repository's `root`, the
folder that scope `root` indexes; DIR holds one folder a repository. `full` indexes the whole folder.
--vectors embeds every card first, which takes minutes to hours; vectors are cached in --cache.

NDCG@10: binary gains, a file counts once, the ideal has every relevant file in front.
"""

import argparse
import json
import math
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import IndexConfig, load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.question import embedded
from code_intel.forest.search import search
from code_intel.index.facade import open_index
from code_intel.records import Hit

HERE = Path(__file__).resolve().parent
OWN = HERE / "data" / "code_search_own.jsonl"
OWN_MANIFEST = {"code-intel": {"root": "code_intel"}}
DEPTH = 10


class Score(NamedTuple):
    """One question and how it went."""

    repo: str
    category: str
    query: str
    ndcg: float
    milliseconds: float
    found: tuple[str, ...]


class Built(NamedTuple):
    """One repository's index: what it holds and what it took."""

    repo: str
    files: int
    chunks: int
    seconds: float
    vector_seconds: float


def ndcg(found: Sequence[str], wanted: Iterable[str]) -> float:
    """Return NDCG@10 of a ranked list of distinct files."""
    gains = set(wanted)
    got = sum(1 / math.log2(i + 2) for i, path in enumerate(found[:DEPTH]) if path in gains)
    return got / sum(1 / math.log2(i + 2) for i in range(min(DEPTH, len(gains))))


def measure(
    repo: str,
    folder: Path,
    prefix: str,
    questions: Sequence[Mapping[str, Any]],
    embedder: Embedder | None,
    cache: VectorCache | None,
) -> tuple[Built, list[Score]]:
    """Index `folder` in a temporary database and ask it everything."""
    for path in {target["path"] for question in questions for target in question["relevant"]}:
        assert _below(folder, prefix, path).is_file(), f"{repo} has no {path}: the labels are old"
    with tempfile.TemporaryDirectory() as scratch:
        # The config file need not exist: documents are named relative to where it would be.
        config = IndexConfig(
            path=folder / "devrag-forest.json",
            corpus="forest",
            patterns=(".",),
            db_path=Path(scratch) / "forest.db",
        )
        index = open_index(config, embedder=embedder, cache=cache)
        started = time.perf_counter()
        report = index.complete(words_only=True)
        seconds = time.perf_counter() - started
        assert not report.failed, report.failed
        if embedder is not None:
            index.complete(progress=lambda done, total: _say(f"{repo}: {done}/{total} vectors"))
        vector_seconds = time.perf_counter() - started - seconds
        with closing(sqlite3.connect(config.db_path)) as database:
            (chunks,) = database.execute("SELECT count(*) FROM chunks").fetchone()
        built = Built(repo, index.store.document_count(), chunks, seconds, vector_seconds)
        scores = []
        for question in questions:
            query = str(question["query"])
            started = time.perf_counter()
            vector = None if embedder is None else embedded(embedder, query)
            hits = search(index.store, query, vector, top_k=DEPTH)
            took = 1000 * (time.perf_counter() - started)
            found = _names(hits, prefix)
            gain = ndcg(found, (target["path"] for target in question["relevant"]))
            scores.append(Score(repo, str(question["category"]), query, gain, took, found))
        index.close()
    return built, scores


def _below(folder: Path, prefix: str, path: str) -> Path:
    """Return the file that labels name, which do so relative to the repository."""
    return folder / (path.removeprefix(f"{prefix}/") if prefix else path)


def _names(hits: Iterable[Hit], prefix: str) -> tuple[str, ...]:
    """Return the files found, named as labels name them: relative to the repository."""
    return tuple(f"{prefix}/{hit.document}" if prefix else hit.document for hit in hits)


def show(built: Sequence[Built], scores: Sequence[Score], label: str) -> dict[str, Any]:
    """Print the tables and return what they say."""
    print(f"# {label}")
    print(
        f"{'repository':<14}{'n':>4}{'NDCG@10':>9}{'files':>7}{'chunks':>8}{'words s':>9}{'vectors s':>11}"
    )
    for row in built:
        mine = [score.ndcg for score in scores if score.repo == row.repo]
        print(
            f"{row.repo:<14}{len(mine):>4}{statistics.fmean(mine):>9.3f}{row.files:>7}{row.chunks:>8}"
            f"{row.seconds:>9.2f}{row.vector_seconds:>11.1f}"
        )
    by_category: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        by_category[score.category].append(score.ndcg)
    for category, values in sorted(by_category.items()):
        print(f"{category:<14}{len(values):>4}{statistics.fmean(values):>9.3f}")
    overall = statistics.fmean(score.ndcg for score in scores)
    median = statistics.median(score.milliseconds for score in scores)
    print(f"{'ALL':<14}{len(scores):>4}{overall:>9.4f}   search p50 {median:.1f} ms")
    return {
        "label": label,
        "ndcg10": overall,
        "p50_ms": median,
        "by_category": {key: statistics.fmean(values) for key, values in by_category.items()},
        "repositories": [row._asdict() for row in built],
        "queries": [score._asdict() for score in scores],
    }


def _say(text: str) -> None:
    sys.stderr.write(f"\r{text}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=OWN)
    parser.add_argument("--manifest", type=Path)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--scope", choices=["root", "full"], default="root")
    parser.add_argument("--repo", action="append", help="only this repository; may be repeated")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")
    args = parser.parse_args()
    if (args.manifest is None) != (args.sources is None):
        parser.error("--manifest and --sources go together")

    manifest = json.loads(args.manifest.read_text()) if args.manifest else OWN_MANIFEST
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in args.data.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if not args.repo or question["repo"] in args.repo:
            questions[question["repo"]].append(question)
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None

    built, scores = [], []
    for repo, asked in questions.items():
        prefix = (manifest[repo].get("root") or "") if args.scope == "root" else ""
        folder = (args.sources / repo if args.sources else HERE.parent) / prefix
        row, mine = measure(repo, folder, prefix, asked, embedder, cache)
        built.append(row)
        scores += mine
    how = "words and vectors" if args.vectors else "words only"
    result = show(built, scores, f"{args.data.name}, scope {args.scope}, {how}")
    if args.json:
        args.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
