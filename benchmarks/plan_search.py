r"""Compare a query plan with one search that has the same words: NDCG@10, recall, time, confidence.

This package, and twelve others whose sources are fetched once:

    python -m benchmarks.plan_search [--vectors] [--plain] [--iterations 3]
    python -m benchmarks.fetch_sources DIR
    python -m benchmarks.plan_search --vectors \
        --data benchmarks/data/code_search_others.jsonl --sources DIR

Each question is asked of the same index in the same run three times: by one search with the goal
alone, by one search with the goal and the expected keywords (the baseline), and by a plan, with the
code of `gistdex_query_plan` (`planning.loop`). A plan with one iteration makes the search of the
baseline; --iterations lets it go on by itself. As many questions about other repositories, which
nothing answers, show how often a plan claims to have succeeded.

--expect has keywords and patterns, one question on each line, {"set", "repo", "id", "keywords",
"patterns"}. The shipped ones were written from the questions alone, without code or labels; but the
author knows the twelve repositories well, since they are famous. --plain keeps only words in small
letters, which are easy to guess. Without an id a question is known by its words.

Each difference is paired, with its 95 % bootstrap interval. No files are at hand, as in
code_search.py, which describes sets; --cache keeps vectors. --json writes what
`fit_plan_confidence.py` reads.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import (
    HERE,
    OTHERS,
    OWN,
    Repository,
    add_options,
    asked_about,
    checked,
    forest_config,
    labelled,
)
from benchmarks.plan_tables import Outcome, show_plans
from benchmarks.scoring import DEPTH
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.forest.ranking.question import embedded
from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.state import NO_SITUATION
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.planning import goals, likeness, loop, outcome
from code_intel.planning.evaluation import lead_of
from code_intel.planning.records import (
    ITERATIONS,
    MAX_ITERATIONS,
    SECONDS,
    Expected,
    FoundResults,
    QueryPlan,
    Result,
    Search,
    Strategy,
)
from code_intel.tools.plans.plan_sources import result_of

EXPECTATIONS = HERE / "data" / "plan_expectations.jsonl"
PLAIN = re.compile("[a-z]+")
"""A keyword that is a word of English and no name that only who knows the code can know."""
ALONE, EXPECTING = "the goal alone", "with expectations"
UNANSWERABLE = "questions about other repositories"


class Wanted(NamedTuple):
    """What an agent expects of the answer to one question."""

    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@contextmanager
def indexed(
    folder: Path, embedder: Embedder | None, cache: VectorCache | None, label: str
) -> Iterator[Index]:
    """Index a folder in a temporary database, with vectors if there is an embedder."""
    with tempfile.TemporaryDirectory() as scratch:
        index = Index(forest_config(folder, scratch), embedder=embedder, cache=cache)
        try:
            index.complete(words_only=True)
            if embedder is not None:
                index.complete(progress=lambda done, total: _say(f"{label}: {done}/{total}"))
            yield index
        finally:
            index.close()


def searching(store: Store, embedder: Embedder | None) -> Search:
    """Return a search of an index as plans make it: with vectors if there is an embedder."""

    async def ask(query: str) -> FoundResults:
        vector = None if embedder is None else embedded(embedder, query)
        hits = search(store, query, vector, top_k=DEPTH, situation=NO_SITUATION)
        return FoundResults(
            tuple(
                result_of(hit, hit.chunk, _alike(query, hit.chunk, hit.similarity, embedder))
                for hit in hits
            )
        )

    return ask


def _alike(query: str, text: str, similarity: float, embedder: Embedder | None) -> float:
    """Return a hit's calibrated likeness; `similarity` is (1 + cosine) / 2, 0 without a vector."""
    if embedder is None or similarity == 0:
        return likeness.by_words(query, text)
    cosine = 2 * similarity - 1
    known: float | None = likeness.of_cosine(cosine, embedder.identity, goals.language_of(query))
    return likeness.by_words(query, text) if known is None else known


def planned(question: Mapping[str, Any], wanted: Wanted, strategy: Strategy) -> QueryPlan:
    """Return a plan for a question, before its first query, as the tool makes it."""
    goal = str(question["query"])
    expected = Expected(keywords=wanted.keywords or goals.keywords(goal), patterns=wanted.patterns)
    return QueryPlan(
        id="",
        goal=goal,
        expected=expected,
        strategy=strategy,
        waiting=goals.first_queries(goal, strategy, expected=expected.keywords),
    )


async def compared(
    ask: Search,
    question: Mapping[str, Any],
    place: Repository,
    wanted: Wanted,
    strategy: Strategy,
    iterations: int,
) -> Outcome:
    """Ask one question by a search with the goal, by the baseline, and by a plan."""
    goal = str(question["query"])
    is_foreign = question["repo"] != place.name
    alone = (await ask(goal)).results
    query = goals.well_formed(goal, wanted.keywords)
    baseline = (await ask(query)).results
    began = time.perf_counter()
    await ask(query)  # again: the vector of the question is cached, as for the plan
    took = 1000 * (time.perf_counter() - began)
    plan = planned(question, wanted, strategy)
    began = time.perf_counter()
    plan = await loop.run(plan, ask, more=iterations, seconds=SECONDS)
    return Outcome(
        repo=place.name,
        id=str(question.get("id") or goal),
        language=str(question.get("language", "")),
        condition=UNANSWERABLE if is_foreign else EXPECTING if wanted.keywords else ALONE,
        wanted=() if is_foreign else tuple(target["path"] for target in question["relevant"]),
        alone=_named(alone, place.prefix),
        baseline=_named(baseline, place.prefix),
        plan=_named(plan.final, place.prefix)[:DEPTH],
        queries=tuple(each.query for each in plan.iterations),
        score=max((each.evaluation.score for each in plan.iterations), default=0.0),
        confidence=outcome.confidence(plan),
        status=outcome.status(plan),
        lead=lead_of(baseline),
        similarity=baseline[0].similarity if baseline else 0.0,
        stop=plan.stop,
        baseline_ms=took,
        plan_ms=1000 * (time.perf_counter() - began),
    )


async def all_compared(
    ask: Search,
    place: Repository,
    known: Mapping[tuple[str, str], Wanted],
    strategy: Strategy,
    iterations: int,
) -> list[Outcome]:
    """Ask every question about a repository; do not count the first search of a process."""
    await ask("warm")
    outcomes = []
    for question in place.questions:
        wanted = known.get((place.name, str(question.get("id") or question["query"])))
        outcomes += [
            await compared(ask, question, place, each, strategy, iterations)
            for each in ((Wanted(), wanted) if wanted else (Wanted(),))
        ]
    for question in foreign(place):
        outcomes.append(await compared(ask, question, place, Wanted(), strategy, iterations))
    return outcomes


def foreign(place: Repository) -> list[dict[str, Any]]:
    """Return as many shipped questions about other repositories as there are about this one."""
    lines = (line for data in (OWN, OTHERS) for line in data.read_text("utf-8").splitlines())
    others = [row for row in map(json.loads, lines) if row["repo"] != place.name]
    step = max(1, len(others) // len(place.questions))
    return others[::step][: len(place.questions)]


def expectations(path: Path, *, plain: bool = False) -> dict[tuple[str, str], Wanted]:
    """Return what is expected, by repository and question; with `plain`, only plain words."""
    if not path.is_file():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    found = {
        (row["repo"], row["id"]): Wanted(tuple(row["keywords"]), tuple(row["patterns"]))
        for row in rows
    }
    if not plain:
        return found
    words = {
        key: tuple(word for word in each.keywords if PLAIN.fullmatch(word))
        for key, each in found.items()
    }
    return {key: Wanted(kept) for key, kept in words.items() if kept}


def _named(results: Sequence[Result], prefix: str) -> tuple[str, ...]:
    """Return the files, each once, as labels name them: relative to the repository."""
    files = dict.fromkeys(each.document for each in results)
    return tuple(labelled(name, prefix) for name in files)


def _say(text: str) -> None:
    sys.stderr.write(f"\r{text}")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments, by default of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--expect", type=Path, default=EXPECTATIONS, help="JSONL of expectations")
    parser.add_argument("--plain", action="store_true", help="expect plain words alone, no names")
    parser.add_argument(
        "--iterations",
        type=int,
        choices=range(1, MAX_ITERATIONS + 1),
        default=ITERATIONS,
        metavar="N",
        help="queries of a plan",
    )
    parser.add_argument(
        "--method",
        choices=["keywords", "semantic", "hybrid"],
        default="hybrid",
        help="how queries are refined",
    )
    return checked(parser, parser.parse_args(arguments))


def main() -> None:
    """Command line."""
    args = parsed()
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    known = expectations(args.expect, plain=args.plain)
    outcomes: list[Outcome] = []
    for place in asked_about(args):
        with indexed(place.folder, embedder, cache, place.name) as index:
            ask = searching(index.store, embedder)
            strategy = Strategy(refinement=args.method)
            outcomes += asyncio.run(all_compared(ask, place, known, strategy, args.iterations))
    how = "words and vectors" if args.vectors else "words only"
    how += ", plain words expected" if args.plain else ""
    how += f", {args.iterations} iterations, {args.method}" if args.iterations > 1 else ""
    result = show_plans(outcomes, f"{args.data.name}, scope {args.scope}, {how}")
    if args.json:
        args.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
