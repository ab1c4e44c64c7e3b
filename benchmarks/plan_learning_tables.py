"""Tables of `plan_learning.py`: gains and harm of each way of learning, and wrong offers."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.plan_tables import MEASURES
from benchmarks.scoring import Difference, bootstrap

WAYS = ("second", "first", "expecting", "both", "avoiding")
COSINES = (-1.0, 0.86, 0.87, 0.88, 0.89, 0.9)
WORDS = (0.0, 0.01, 0.1, 0.2)
"""Likenesses of goals from which on something is learned; the first is from whatever is nearest."""


class Way(NamedTuple):
    """How one plan went: files found, best first, the score of each iteration, milliseconds."""

    files: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float


class PlannedQuestion(NamedTuple):
    """One wording, planned in every way.

    Attributes:
        near: The kept need whose goal is nearest.
        near_relevant: The files of that need.
        succeeded: Whether that plan reached what was expected.
        known: Whether a plan for this very need is kept.
        cosine: Between the two goals; words in common without vectors.
        words: Words in common of all words of both.
    """

    repo: str
    id: str
    relevant: tuple[str, ...]
    near: str
    near_relevant: tuple[str, ...]
    succeeded: bool
    known: bool
    cosine: float
    words: float
    ways: Mapping[str, Way]

    @property
    def fits(self) -> bool:
        """Whether the nearest plan is about this need, or about one of its files."""
        return self.near == self.id or bool(set(self.near_relevant) & set(self.relevant))


def show_learning(asked: Sequence[PlannedQuestion], label: str) -> dict[str, Any]:
    """Print every table and return what they say."""
    known = [each for each in asked if each.known]
    unknown = [each for each in asked if not each.known]
    print(f"# {label}: {len(known)} wordings of what is known, {len(unknown)} of what is not")
    report: dict[str, Any] = {"label": label}
    likenesses: Mapping[str, tuple[Callable[[PlannedQuestion], float], Sequence[float]]] = {
        "cosine of the goals": (lambda each: each.cosine, COSINES),
        "words of the goals in common": (lambda each: each.words, WORDS),
    }
    for kind, (of, thresholds) in likenesses.items():
        report[kind] = [_show(asked, kind, of, least) for least in thresholds]
    report["asked"] = [
        {**each._asdict(), "ways": {name: way._asdict() for name, way in each.ways.items()}}
        for each in asked
    ]
    return report


def _show(
    asked: Sequence[PlannedQuestion],
    kind: str,
    of: Callable[[PlannedQuestion], float],
    least: float,
) -> dict[str, Any]:
    """Tell what learning is worth where it is used above one likeness."""
    used = {id(each) for each in asked if of(each) >= least}
    offered = [each for each in asked if id(each) in used]
    right = sum(each.fits for each in offered)
    print(f"\n## {kind} from {least:.2f} on: {len(offered)} of {len(asked)} offered, {right} fit")
    row: dict[str, Any] = {"least": least, "offered": len(offered), "fit": right}
    for name, mine in (("known", True), ("not known", False)):
        part = [each for each in asked if each.known == mine]
        touched = sum(id(each) in used for each in part)
        row[name] = {"n": len(part), "offered": touched}
        for way in WAYS if touched else ():
            taken = {id(each): each.ways[way if id(each) in used else "alone"] for each in part}
            line = f"{name:<10}{way:<10}{touched:>4}/{len(part):<4}"
            row[name][way] = {}
            for measure, function in MEASURES.items():
                gained = _paired(
                    part,
                    lambda each, taken=taken, function=function: (
                        function(  # type: ignore[misc]
                            taken[id(each)].files, each.relevant
                        )
                        - function(each.ways["alone"].files, each.relevant)
                    ),
                )
                row[name][way][measure] = gained._asdict()
                line += f"  {measure} {gained.mean:+.3f} [{gained.low:+.3f}, {gained.high:+.3f}]"
            for what, value in (
                ("iterations", lambda way: float(len(way.scores))),
                ("ms", lambda way: way.milliseconds),
            ):
                before = statistics.fmean(value(each.ways["alone"]) for each in part)
                after = statistics.fmean(value(taken[id(each)]) for each in part)
                row[name][way][what] = (before, after)
                line += f"  {what} {before:.1f} -> {after:.1f}"
            print(line)
    return row


def _paired(
    asked: Sequence[PlannedQuestion], change: Callable[[PlannedQuestion], float]
) -> Difference:
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in asked:
        groups[each.repo, each.id].append(change(each))
    return bootstrap(list(groups.values()))
