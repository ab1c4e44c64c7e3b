"""Measure how well the forest finds files: NDCG@10 on labelled questions.

The indexes are built as users build them.

This package, and twelve others in ten languages, whose sources are fetched once:

    python -m benchmarks.code_search
    python -m benchmarks.fetch_sources DIR
    python -m benchmarks.code_search --data benchmarks/data/code_search_others.jsonl --sources DIR

Half of the questions are the other half in Japanese. DIR holds one folder for each repository;
scope `root` indexes the folder that the manifest names, `full` the whole. --data takes any set in
the form that benchmarks/labels.py describes. --vectors embeds every card first, about thirty a
second on two cores; --cache keeps the vectors. One run builds one index for each repository and
searches it in every requested way:

    --without NAME   leave out rows of the ranking table, code_intel/forest/ranking/signals.py
    --ablation       each row left out in turn: what it is worth
    --paired         vectors against words only: mean difference, 95 % bootstrap interval

No files are at hand: rows about edited or recently changed files have no effect here. Otherwise the
times of files on a machine would change the figures. Repositories on which the weights were set,
and others, are reported separately if the manifest tells them apart. NDCG@10: binary gains, a file
counts once, the ideal has every relevant file in front.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import (
    HERE,
    Questions,
    add_options,
    asked_about,
    checked,
    forest_config,
    labelled,
)
from benchmarks.quality_tables import Built, show, show_ablation, show_paired
from benchmarks.scoring import DEPTH, Score, ndcg
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.signals import RANKING
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.records import Hit

SIGNALS = tuple(signal.name for signal in RANKING)


class Way(NamedTuple):
    """One way of asking: with vectors or words only, and without which rows of the ranking."""

    name: str
    vectors: bool
    without: frozenset[str] = frozenset()


def measure(
    repo: str,
    folder: Path,
    prefix: str,
    questions: Questions,
    embedder: Embedder | None,
    cache: VectorCache | None,
    ways: Sequence[Way] = (),
) -> tuple[Built, list[Score]]:
    """Index `folder` in a temporary database and ask it everything, in every way.

    Without ways there is one: the whole table, with vectors if there is an embedder.
    """
    for path in {target["path"] for question in questions for target in question["relevant"]}:
        assert _below(folder, prefix, path).is_file(), f"{repo} has no {path}: the labels are old"
    with tempfile.TemporaryDirectory() as scratch:
        config = forest_config(folder, scratch)
        index = Index(config, embedder=embedder, cache=cache)
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
        ways = ways or (Way("", vectors=embedder is not None),)
        scores = [
            score
            for question in questions
            for score in _asked(index.store, question, prefix, embedder, ways)
        ]
        index.close()
    return built, scores


def _asked(
    store: Store,
    question: Mapping[str, Any],
    prefix: str,
    embedder: Embedder | None,
    ways: Sequence[Way],
) -> Iterator[Score]:
    """Ask one question in every way; it is embedded once, which counts wherever vectors do."""
    query = str(question["query"])
    wanted = [target["path"] for target in question["relevant"]]
    started = time.perf_counter()
    vector = None if embedder is None else embedded(embedder, query)
    embedding = time.perf_counter() - started
    for way in ways:
        started = time.perf_counter()
        hits = search(
            store,
            query,
            vector if way.vectors else None,
            top_k=DEPTH,
            situation=NO_SITUATION,
            without=way.without,
        )
        took = time.perf_counter() - started + (embedding if way.vectors else 0)
        found = _names(hits, prefix)
        yield Score(
            repo=str(question["repo"]),
            category=str(question["category"]),
            query=query,
            ndcg=ndcg(found, wanted),
            milliseconds=1000 * took,
            found=found,
            id=str(question.get("id", "")),
            language=str(question.get("language", "")),
            way=way.name,
        )


def _below(folder: Path, prefix: str, path: str) -> Path:
    """Return the file that labels name, which do so relative to the repository."""
    return folder / (path.removeprefix(f"{prefix}/") if prefix else path)


def _names(hits: Iterable[Hit], prefix: str) -> tuple[str, ...]:
    """Return the files found, named as labels name them: relative to the repository."""
    return tuple(labelled(hit.document, prefix) for hit in hits)


def _say(text: str) -> None:
    sys.stderr.write(f"\r{text}")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments, by default of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument(
        "--without",
        action="append",
        choices=SIGNALS,
        default=[],
        metavar="NAME",
        help=f"leave out this row of the ranking; may be repeated. One of {', '.join(SIGNALS)}",
    )
    parser.add_argument("--ablation", action="store_true", help="leave out each row in turn")
    parser.add_argument(
        "--paired", action="store_true", help="implies --vectors; compare with words"
    )
    args = parser.parse_args(arguments)
    args.vectors |= args.paired
    return checked(parser, args)


def ways_of(args: argparse.Namespace) -> dict[str, list[Way]]:
    """Return what is asked for what: the table itself, words only, each row left out."""
    off = frozenset(args.without)
    how = "words and vectors" if args.vectors else "words only"
    left = f", without {', '.join(sorted(off))}" if off else ""
    return {
        "whole": [Way(how + left, args.vectors, off)],
        "words": [Way("paired: words only" + left, vectors=False, without=off)]
        if args.paired
        else [],
        "ablation": [
            Way(name, args.vectors, off | {name})
            for name in SIGNALS
            if args.ablation and name not in off
        ],
    }


def main() -> None:
    """Command line."""
    args = parsed()
    asked = asked_about(args)
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    ways = ways_of(args)
    built: list[Built] = []
    scores: dict[str, list[Score]] = {way.name: [] for group in ways.values() for way in group}
    for each in asked:
        place = (each.name, each.folder, each.prefix, each.questions)
        row, mine = measure(
            *place, embedder, cache, [way for group in ways.values() for way in group]
        )
        built.append(row)
        for score in mine:
            scores[score.way].append(score)
    tuned = {each.name: each.tuned for each in asked}
    (whole,) = ways["whole"]
    result = show(
        built, scores[whole.name], tuned, f"{args.data.name}, scope {args.scope}, {whole.name}"
    )
    for way in ways["words"]:
        result["paired"] = show_paired(scores[whole.name], scores[way.name])
    if ways["ablation"]:
        off = {way.name: scores[way.name] for way in ways["ablation"]}
        result["ablation"] = show_ablation(scores[whole.name], off, tuned)
    if args.json:
        args.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
