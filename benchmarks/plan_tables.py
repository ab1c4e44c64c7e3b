"""Tables of `plan_search.py`: a plan beside one search with the same words, and its confidence."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.scoring import DEPTH, Difference, area, bootstrap, ndcg

BANDS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.01)
"""Edges of the table that compares the confidence with what happened."""


class Outcome(NamedTuple):
    """One question in one form, asked by a search, by the baseline and by a plan.

    Attributes:
        id: The same for all forms of a question.
        condition: What was expected.
        wanted: The relevant files.
        alone: Files that a search with the goal alone finds, best first.
        baseline: Files that a search with the goal and the same keywords finds.
        plan: Files that the plan has found, best first.
        queries: The queries of the plan.
        score: The best score of its iterations.
        confidence: The confidence of the plan.
        status: The status of the plan.
        lead: The lead of the baseline's first result, if there is one.
        similarity: The similarity of this result.
    """

    repo: str
    id: str
    language: str
    condition: str
    wanted: tuple[str, ...]
    alone: tuple[str, ...]
    baseline: tuple[str, ...]
    plan: tuple[str, ...]
    queries: tuple[str, ...]
    score: float
    confidence: float
    status: str
    lead: float | None
    similarity: float
    stop: str
    baseline_ms: float
    plan_ms: float

    @property
    def first_is_right(self) -> bool:
        """Whether the first result of the plan is a relevant file."""
        return bool(set(self.plan[:1]) & set(self.wanted))


def recall(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of the relevant files that are among the first ten."""
    return len(set(found[:DEPTH]) & set(wanted)) / len(set(wanted))


MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "NDCG@10": ndcg,
    "recall@10": recall,
}
"""What an answer is judged by."""

PARTS: Mapping[str, Callable[[Outcome], bool]] = {
    "all": lambda _: True,
    "English": lambda each: each.language in {"", "en"},
    "Japanese": lambda each: each.language == "ja",
}
"""Questions that are looked at apart; a part without any is left out."""


def gains(
    outcomes: Sequence[Outcome], measure: Callable[[Sequence[str], Sequence[str]], float]
) -> Difference:
    """Return what plans gain over the baseline, the forms of a question drawn together."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in outcomes:
        change = measure(each.plan, each.wanted) - measure(each.baseline, each.wanted)
        groups[each.repo, each.id].append(change)
    return bootstrap(list(groups.values()))


def show_plans(outcomes: Sequence[Outcome], label: str) -> dict[str, Any]:
    """Print every table, condition by condition, and return what they say."""
    print(f"# {label}")
    report: dict[str, Any] = {}
    for condition in dict.fromkeys(each.condition for each in outcomes):
        mine = [each for each in outcomes if each.condition == condition]
        print(f"\n## {condition}: {len(mine)} questions")
        statuses = Counter(each.status for each in mine)
        print(", ".join(f"{status} {count}" for status, count in statuses.most_common()))
        if not any(each.wanted for each in mine):
            report[condition] = {"statuses": statuses}
            continue
        report[condition] = {
            "statuses": statuses,
            "parts": _show_parts(mine),
            "confidence": _show_confidence(mine),
            "cost": _show_cost(mine),
        }
    return {"label": label, **report, "outcomes": [each._asdict() for each in outcomes]}


def _show_parts(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    heads = (f"{f'{name}: goal, baseline, plan, gained':>52}" for name in MEASURES)
    print(f"{'':<12}{'n':>5}{''.join(heads)}")
    report: dict[str, Any] = {}
    for part, belongs in PARTS.items():
        mine = [each for each in outcomes if belongs(each)]
        if not mine:
            continue
        report[part] = {"n": len(mine)}
        line = f"{part:<12}{len(mine):>5}"
        for name, measure in MEASURES.items():
            means = {
                way: statistics.fmean(measure(getattr(each, way), each.wanted) for each in mine)
                for way in ("alone", "baseline", "plan")
            }
            gained = gains(mine, measure)
            cells = " ".join(f"{mean:.3f}" for mean in means.values())
            cells += f" {gained.mean:+.3f} [{gained.low:+.3f}, {gained.high:+.3f}]"
            line += f"{cells:>52}"
            report[part][name] = {**means, "gained": gained._asdict()}
        print(line)
    return report


def _show_confidence(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Print how often the first result is right, by confidence, and the areas under the curve."""
    print("\nconfidence: n, share of plans whose first result is right")
    bands = []
    for low, high in pairwise(BANDS):
        mine = [each for each in outcomes if low <= each.confidence < high]
        if mine:
            right = statistics.fmean(each.first_is_right for each in mine)
            print(f"{low:.1f} to {min(high, 1):.1f}{len(mine):>8}{right:>8.3f}")
            bands.append({"from": low, "n": len(mine), "right": right})
    areas: dict[str, dict[str, float | None]] = {}
    for part, belongs in PARTS.items():
        mine = [each for each in outcomes if belongs(each)]
        predictors: dict[str, Callable[[Outcome], float]] = {
            "confidence": lambda each: each.confidence,
            "score": lambda each: each.score,
        }
        areas[part] = {
            name: area(
                [value(each) for each in mine if each.first_is_right],
                [value(each) for each in mine if not each.first_is_right],
            )
            for name, value in predictors.items()
        }
        shown = (f"{name} {value:.2f}" for name, value in areas[part].items() if value is not None)
        print(f"area under the curve, {part}: {', '.join(shown)}")
    return {"bands": bands, "area": areas}


def _show_cost(outcomes: Sequence[Outcome]) -> dict[str, float]:
    cost = {
        "iterations": statistics.fmean(len(each.queries) for each in outcomes),
        "baseline_ms": statistics.median(each.baseline_ms for each in outcomes),
        "plan_ms": statistics.median(each.plan_ms for each in outcomes),
    }
    stops = Counter(each.stop for each in outcomes).most_common()
    print(
        f"\n{cost['iterations']:.2f} iterations a plan "
        f"({', '.join(f'{stop} {count}' for stop, count in stops)}); "
        f"one search p50 {cost['baseline_ms']:.1f} ms, a plan p50 {cost['plan_ms']:.1f} ms: "
        f"{cost['plan_ms'] / cost['baseline_ms']:.2f} times"
    )
    return cost
