"""Tables of `plan_search.py`: a plan beside one search, where it helps, why it stops, its score."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.quality_tables import HALVES
from benchmarks.scoring import DEPTH, Difference, area, bootstrap, ndcg

BANDS = (0.0, 0.3, 0.5, 0.7, 1.01)
"""Edges of the table that says what a plan's score is worth: the statuses', and one between."""


class Outcome(NamedTuple):
    """One question in one form, asked once and by a plan.

    Attributes:
        id: The same for all forms of a question.
        tuned: Whether anything was set on its repository; None, not known.
        condition: What the plan was told.
        wanted: The relevant files.
        single: Files that one search finds, best first.
        plan: Files that the plan has found, best first.
        queries: What the plan asked.
        scores: How each iteration compares with what was expected.
        first: How the plan's first result alone does.
    """

    repo: str
    id: str
    language: str
    tuned: bool | None
    condition: str
    wanted: tuple[str, ...]
    single: tuple[str, ...]
    plan: tuple[str, ...]
    queries: tuple[str, ...]
    scores: tuple[float, ...]
    first: float
    stop: str
    single_ms: float
    plan_ms: float

    @property
    def confidence(self) -> float:
        """The score of the best iteration."""
        return max(self.scores, default=0.0)


def recall(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of the relevant files that are among the first ten."""
    return len(set(found[:DEPTH]) & set(wanted)) / len(set(wanted))


def complete(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return 1 when every relevant file is among the first ten, else 0."""
    return float(recall(found, wanted) == 1)


MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "NDCG@10": ndcg,
    "recall@10": recall,
    "all found": complete,
}
"""What an answer is judged by."""

PARTS: Mapping[str, Callable[[Outcome], bool]] = {
    "all": lambda _: True,
    "English": lambda each: each.language in {"", "en"},
    "Japanese": lambda each: each.language == "ja",
    HALVES[True]: lambda each: each.tuned is True,
    HALVES[False]: lambda each: each.tuned is False,
    "first search: nothing": lambda each: ndcg(each.single, each.wanted) == 0,
    "… not all files": lambda each: complete(each.single, each.wanted) == 0,
    "… all files": lambda each: complete(each.single, each.wanted) == 1,
    "refined": lambda each: len(each.queries) > 1,
}
"""Questions that are looked at apart; a part without any is left out."""


GOOD: Mapping[str, Callable[[Outcome], bool]] = {
    "first place right": lambda each: bool(set(each.plan[:1]) & set(each.wanted)),
    "all found": lambda each: complete(each.plan, each.wanted) == 1,
}
"""What an answer is that its score should be high for."""


SAYS: Mapping[str, Callable[[Outcome], float]] = {
    "score of all results": lambda each: each.confidence,
    "score of the first result": lambda each: each.first,
}
"""What may tell a good answer from a bad one."""


def gains(
    outcomes: Sequence[Outcome], measure: Callable[[Sequence[str], Sequence[str]], float]
) -> Difference:
    """Return what plans gain over single searches, the forms of a question drawn together."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in outcomes:
        change = measure(each.plan, each.wanted) - measure(each.single, each.wanted)
        groups[each.repo, each.id].append(change)
    return bootstrap(list(groups.values()))


def show_plans(outcomes: Sequence[Outcome], label: str) -> dict[str, Any]:
    """Print every table, condition by condition, and return what they say."""
    print(f"# {label}")
    conditions = dict.fromkeys(each.condition for each in outcomes)
    report = {}
    for condition in conditions:
        mine = [each for each in outcomes if each.condition == condition]
        print(f"\n## {condition}: {len(mine)} questions")
        report[condition] = {
            "parts": _show_parts(mine),
            "stops": _show_stops(mine),
            "scores": _show_scores(mine),
            "cost": _show_cost(mine),
        }
    return {"label": label, **report, "outcomes": [each._asdict() for each in outcomes]}


def _show_parts(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    print(
        f"{'':<24}{'n':>5}" + "".join(f"{f'{name}: once, plan, gained':>44}" for name in MEASURES)
    )
    report: dict[str, Any] = {}
    for part, belongs in PARTS.items():
        mine = [each for each in outcomes if belongs(each)]
        if not mine:
            continue
        report[part] = {"n": len(mine)}
        line = f"{part:<24}{len(mine):>5}"
        for name, measure in MEASURES.items():
            once = statistics.fmean(measure(each.single, each.wanted) for each in mine)
            plan = statistics.fmean(measure(each.plan, each.wanted) for each in mine)
            gained = gains(mine, measure)
            said = (
                f"{once:.3f} {plan:.3f} {gained.mean:+.3f} [{gained.low:+.3f}, {gained.high:+.3f}]"
            )
            line += f"{said:>44}"
            report[part][name] = {"once": once, "plan": plan, "gained": gained._asdict()}
        print(line)
    return report


def _show_stops(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    print("\nwhy plans stop: how often, after how many iterations (mean)")
    report = {}
    for stop, count in Counter(each.stop for each in outcomes).most_common():
        after = statistics.fmean(len(each.queries) for each in outcomes if each.stop == stop)
        print(f"{stop:<24}{count:>5}{after:>8.2f}")
        report[stop] = {"n": count, "iterations": after}
    return report


def _show_scores(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Print how well a plan's score judges its answer: area under the curve, a table by bands."""
    print("\nwhat a plan's score says: n, NDCG@10 and share with all files by score")
    bands = []
    for low, high in pairwise(BANDS):
        mine = [each for each in outcomes if low <= each.confidence < high]
        if mine:
            worth = statistics.fmean(ndcg(each.plan, each.wanted) for each in mine)
            every = statistics.fmean(complete(each.plan, each.wanted) for each in mine)
            print(f"{low:.1f} to {min(high, 1):.1f}{len(mine):>21}{worth:>8.3f}{every:>8.3f}")
            bands.append({"from": low, "n": len(mine), "ndcg10": worth, "all_found": every})
    tells: dict[str, dict[str, float | None]] = {}
    for said, score in SAYS.items():
        tells[said] = {}
        for name, good in GOOD.items():
            right = [score(each) for each in outcomes if good(each)]
            wrong = [score(each) for each in outcomes if not good(each)]
            tells_it = tells[said][name] = area(right, wrong)
            shown = "-" if tells_it is None else f"{tells_it:.3f}"
            print(f"area under the curve, {said} for {name}: {shown}")
    return {"bands": bands, "area": tells}


def _show_cost(outcomes: Sequence[Outcome]) -> dict[str, float]:
    cost = {
        "iterations": statistics.fmean(len(each.queries) for each in outcomes),
        "single_ms": statistics.median(each.single_ms for each in outcomes),
        "plan_ms": statistics.median(each.plan_ms for each in outcomes),
        "plan_mean_ms": statistics.fmean(each.plan_ms for each in outcomes),
    }
    print(
        f"\n{cost['iterations']:.2f} iterations a plan; one search p50 {cost['single_ms']:.1f} ms, "
        f"a plan p50 {cost['plan_ms']:.1f} ms, mean {cost['plan_mean_ms']:.1f} ms"
    )
    return cost
