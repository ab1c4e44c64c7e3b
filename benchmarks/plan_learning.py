r"""Measure what plans learn from earlier plans, by questions in other authors' words.

    python -m benchmarks.plan_learning [--vectors] [--cache DIR] [--json OUT]
    python -m benchmarks.plan_learning --vectors \
        --data benchmarks/data/code_search_others.jsonl --sources DIR

A line of the set is a need with its wordings, {"id", "query", "again": {language: query}}, as in
replay.py, or one wording of several with the same "id", as in code_search.py. For every repository,
each need's first wording is planned. Half of the plans are kept. The plans of the other needs are
dropped: these needs are unrelated to what is known. Then all other wordings are planned, each on
the same index in the same run

    alone          as shipped, nothing known
    second         the query that worked for the nearest kept goal is tried second
    first          ... is tried first
    expecting      what was found for the nearest kept goal is expected, too
    both           ... and its query is tried second
    avoiding       words that did not help the nearest kept goal are left out of refined queries

The gain of a way is shown for every likeness between goals from which on it is used: paired with
`alone`, with its 95 % bootstrap interval, for known needs and, separately, for the others, where it
can only do harm. No files are at hand, as in code_search.py; the goal alone is planned, with the
defaults of the tool.
"""

import argparse
import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import HERE, OWN, Repository, add_options, asked_about, checked, labelled
from benchmarks.plan_learning_tables import PlannedQuestion, Way, show_learning
from benchmarks.plan_search import Wanted, indexed, planned, searching
from benchmarks.scoring import DEPTH
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.planning import learning, loop, outcome, refining
from code_intel.planning.goals import distinct, folded
from code_intel.planning.records import ITERATIONS, SECONDS, QueryPlan, Result, Search, Strategy

REWORDED = HERE / "data" / "replay_own.jsonl"
SEED = 43


class Need(NamedTuple):
    """An information need, in the words of one author and then of another."""

    id: str
    relevant: tuple[str, ...]
    wordings: tuple[str, ...]


class Kept(NamedTuple):
    """A plan that is remembered."""

    need: Need
    plan: QueryPlan

    @property
    def succeeded(self) -> bool:
        """Whether it reached what was expected."""
        return outcome.status(self.plan) == "success"


def needs_of(place: Repository) -> list[Need]:
    """Return the needs of a repository; what is worded once is asked once."""
    forms: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in place.questions:
        forms[str(row["id"])].append(row)
    needs = []
    for name, rows in forms.items():
        again = [text for row in rows for text in row.get("again", {}).values()]
        files = [each if isinstance(each, str) else each["path"] for each in rows[0]["relevant"]]
        needs.append(Need(name, tuple(files), (*(row["query"] for row in rows), *again)))
    return needs


async def worked(plan: QueryPlan, ask: Search) -> QueryPlan:
    """Run a plan as the tool does."""
    return await loop.run(plan, ask, more=ITERATIONS, seconds=SECONDS)


async def avoiding(plan: QueryPlan, ask: Search, avoided: frozenset[str]) -> QueryPlan:
    """Run a plan whose refined queries lack some words; it stops as the tool's do."""
    top, in_vain = 0.0, 0
    while len(plan.iterations) < ITERATIONS and in_vain < loop.MAX_FUTILE_QUERIES:
        if not plan.waiting:
            query = refining.next_query(plan) or ""
            left = " ".join(word for word in query.split() if not folded(word) & avoided)
            if not left or folded(left) in {folded(each.query) for each in plan.iterations}:
                break
            plan = replace(plan, waiting=(left,))
        plan = await loop.run(plan, ask, more=1, seconds=SECONDS)
        if plan.stop == "reached":
            break
        score = plan.iterations[-1].evaluation.score
        in_vain = 0 if score > top else in_vain + 1
        top = max(top, score)
    return plan


def useless(plan: QueryPlan) -> frozenset[str]:
    """Return the words that queries of a plan added to its first, and that never improved it."""
    helped: set[str] = set()
    failed: set[str] = set()
    top = 0.0
    for each in plan.iterations:
        (helped if each.evaluation.score > top else failed).update(folded(each.query))
        top = max(top, each.evaluation.score)
    return (
        frozenset(failed - helped - folded(plan.iterations[0].query))
        if plan.iterations
        else frozenset()
    )


def taught(plan: QueryPlan, known: QueryPlan, way: str) -> QueryPlan:
    """Return a plan with an earlier plan's lessons, before its first query.

    `both` is the shipped way.
    """
    likest = learning.template(known, 1.0)
    both = learning.taught(plan, [likest], expecting=True)
    if way == "first":
        return replace(plan, waiting=tuple(distinct([likest.query, *plan.waiting])))
    if way == "second":
        return learning.taught(plan, [likest], expecting=False)
    return both if way == "both" else replace(both, waiting=plan.waiting)


def nearest(
    goal: str, kept: Sequence[Kept], embedder: Embedder | None
) -> tuple[Kept, float, float]:
    """Return the kept plan whose goal is most like this one: how alike by meaning, and in words."""
    goals = [one.plan.goal for one in kept]
    words = [_shared(folded(goal), folded(other)) for other in goals]
    alike = learning.likenesses(goal, goals, embedder) if embedder else words
    at = max(range(len(kept)), key=lambda at: (alike[at], words[at]))
    return kept[at], alike[at], words[at]


def _shared(mine: frozenset[str], theirs: frozenset[str]) -> float:
    return len(mine & theirs) / len(mine | theirs)


async def learned(
    place: Repository, ask: Search, embedder: Embedder | None, *, succeeded: bool
) -> list[PlannedQuestion]:
    """Plan every need once, forget half, and plan all other wordings in every way."""
    needs = needs_of(place)
    held = set(
        random.Random(f"{SEED} {place.name}").sample([need.id for need in needs], len(needs) // 2)
    )
    kept = []
    for need in needs:
        if need.id not in held:
            plan = await worked(_plan(need.wordings[0]), ask)
            kept.append(Kept(need, plan))
    kept = [one for one in kept if one.succeeded] if succeeded else kept
    asked = []
    for need in needs if kept else ():
        for goal in need.wordings[1:]:
            near, cosine, words = nearest(goal, kept, embedder)
            ways = {"alone": await _timed(worked(_plan(goal), ask), place)}
            for way in ("second", "first", "expecting", "both"):
                ways[way] = await _timed(worked(taught(_plan(goal), near.plan, way), ask), place)
            ways["avoiding"] = await _timed(avoiding(_plan(goal), ask, useless(near.plan)), place)
            asked.append(
                PlannedQuestion(
                    place.name, need.id, need.relevant,
                    near.need.id, near.need.relevant, near.succeeded,
                    any(one.need.id == need.id for one in kept), cosine, words, ways,
                )
            )  # fmt: skip
    return asked


async def _timed(run: Any, place: Repository) -> Way:
    began = time.perf_counter()
    plan: QueryPlan = await run
    took = 1000 * (time.perf_counter() - began)
    scores = tuple(each.evaluation.score for each in plan.iterations)
    return Way(_files(plan.final, place.prefix), scores, took)


def _files(results: Iterable[Result], prefix: str) -> tuple[str, ...]:
    names = dict.fromkeys(each.document for each in results)
    return tuple(labelled(name, prefix) for name in names)[:DEPTH]


def _plan(goal: str) -> QueryPlan:
    return planned({"query": goal}, Wanted(), Strategy())


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--any", action="store_true", help="learn from plans that failed, too")
    args = checked(parser, parser.parse_args())
    if args.data == OWN:
        args.data = REWORDED
    embedder = LazyEmbedder(load_settings(HERE.parent), corpus="forest") if args.vectors else None
    cache = VectorCache(args.cache) if args.vectors and args.cache else None
    asked: list[PlannedQuestion] = []
    for place in asked_about(args):
        with indexed(Path(place.folder), embedder, cache, place.name) as index:
            ask = searching(index.store, embedder)
            asked += asyncio.run(learned(place, ask, embedder, succeeded=not args.any))
    how = "words and vectors" if args.vectors else "words only"
    result = show_learning(asked, f"{args.data.name}, {how}")
    if args.json:
        args.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
