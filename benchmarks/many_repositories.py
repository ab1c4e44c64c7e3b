r"""Measure how well and how fast several repositories are searched together.

    python -m benchmarks.fetch_sources DIR
    python -m benchmarks.many_repositories --sources DIR \
        --data benchmarks/data/code_search_others.jsonl

Each question is about one repository. It is put to this repository alone, and to all of them: as a
union (`code-intel search --all`), and as one search each whose hits are merged by score. --vectors
embeds every card first; --cache keeps the vectors. NDCG@10 and the share of questions with a wanted
file at place 1, and among the first 5 and 10. Many questions fit several projects, such as how
options are parsed; only files of the repository that the question is about count.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.forest.union_store import Part, UnionStore
from code_intel.index.facade import Index
from code_intel.records import Hit


class Answer(NamedTuple):
    """One question, asked in one way: the places of wanted files, and the time it took."""

    ndcg: float
    places: Sequence[int]
    milliseconds: float


def opened(
    asked: Sequence[Repository],
    scratch: Path,
    embedder: LazyEmbedder | None,
    cache: VectorCache | None,
) -> dict[str, Index]:
    """Index every repository."""
    found = {}
    for each in asked:
        (scratch / each.name).mkdir()
        config = forest_config(each.folder, scratch / each.name)
        found[each.name] = Index(config, embedder=embedder, cache=cache)
        found[each.name].complete(words_only=embedder is None)
    return found


def answers(
    asked: Sequence[Repository], indexes: Mapping[str, Index], embedder: LazyEmbedder | None
) -> dict[str, list[Answer]]:
    """Put every question in every way."""
    prefixes = {each.name: each.prefix for each in asked}
    union = UnionStore([Part(index.store, f"{name}//") for name, index in indexes.items()])
    scores: dict[str, list[Answer]] = defaultdict(list)
    for each in asked:
        for question in each.questions:
            query = str(question["query"])
            wanted = {f"{each.name}//{target['path']}" for target in question["relevant"]}
            vector = None if embedder is None else embedded(embedder, query)

            def ask(store: Any, query: str = query, vector: Any = vector, **more: Any) -> list[Hit]:
                return search(store, query, vector, top_k=DEPTH, situation=NO_SITUATION, **more)

            started = time.perf_counter()
            alone = [(each.name, hit) for hit in ask(indexes[each.name].store)]
            times = {"its repository alone": time.perf_counter() - started}
            started = time.perf_counter()
            together = [
                (hit.document.partition("//")[0], hit)
                for hit in ask(union, bases=[*indexes], imports=False)
            ]
            times["all, together"] = time.perf_counter() - started
            started = time.perf_counter()
            merged = [(name, hit) for name, index in indexes.items() for hit in ask(index.store)]
            merged.sort(key=lambda found: -(found[1].score or 0.0))
            times["all, merged by score"] = time.perf_counter() - started
            for way, hits in zip(times, (alone, together, merged), strict=True):
                files = [
                    f"{name}//{labelled(hit.document.rpartition('//')[2], prefixes[name])}"
                    for name, hit in hits[:DEPTH]
                ]
                places = [place for place, file in enumerate(files, 1) if file in wanted]
                scores[way].append(Answer(ndcg(files, wanted), places, 1000 * times[way]))
    return scores


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    args = checked(parser, parser.parse_args())
    asked = asked_about(args)
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        indexes = opened(asked, Path(scratch), embedder, cache)
        chunks = sum(index.store.word_counts(())[0] for index in indexes.values())
        print(f"{len(indexes)} repositories, {chunks:,} chunks")
        for way, found in answers(asked, indexes, embedder).items():
            times = sorted(each.milliseconds for each in found)
            row = {
                "ndcg": statistics.fmean(each.ndcg for each in found),
                **{
                    f"first {depth}": statistics.fmean(
                        any(place <= depth for place in each.places) for each in found
                    )
                    for depth in (1, 5, 10)
                },
                "p50 ms": statistics.median(times),
                "p95 ms": times[int(0.95 * len(times))],
            }
            result[way] = row
            print(f"{way:22}", *(f"{name} {value:.3f}" for name, value in row.items()), sep="  ")
        for index in indexes.values():
            index.close()
    if args.json:
        args.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
