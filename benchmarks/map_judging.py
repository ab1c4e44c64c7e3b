"""Judge scores of the map by labels. Pure: shares with intervals, curves, calibration.

Questions about one agreement are not independent of each other: intervals are 95 % percentiles of a
bootstrap that draws them together; an unrelated question stands alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.map_labels import WITHOUT_ANSWER, Labels
from benchmarks.scoring import SEED, bootstrap
from code_intel.learned.fit.judging import Judgements, Mask, Scores, hit, judged, pooled, wrong
from code_intel.records import READY_SCORE, VERIFICATION_SCORE

__all__ = ["Judgements", "Mask", "Scores", "hit", "judged", "pooled", "wrong"]

THRESHOLDS = (VERIFICATION_SCORE, READY_SCORE)
BINS = 10
DRAWS = 1_000


@dataclass
class Rates:
    """Shares at each threshold, and the area under the curve of right against wrong answers."""

    at: dict[float, dict[str, float]] = field(default_factory=dict)
    auc: float = 0.0
    first: float = 0.0

    def show(self) -> None:
        """Print the table."""
        names = list(self.at[THRESHOLDS[0]])
        print("  at  " + " ".join(f"{name.removeprefix('paraphrase_'):>9}" for name in names))
        for threshold, shares in self.at.items():
            print(f"  {threshold:<4}" + " ".join(f"{shares[name]:9.3f}" for name in names))
        print(f"  AUC {self.auc:.3f}, right agreement first {self.first:.3f}")


class Share(NamedTuple):
    """A share of so many questions, and its 95 % interval."""

    share: float
    low: float
    high: float
    questions: int


class Bin(NamedTuple):
    """Questions with scores close to each other: mean score and share of right answers."""

    score: float
    right: float
    questions: float


class Reliability(NamedTuple):
    """How far scores are from the share of right answers among those with such scores.

    Attributes:
        bins: As many questions each, but for equal scores, which stay together.
        error: Mean distance of score and share over the bins, weighted by questions.
        low, high: 95 % interval of it; a bootstrap leans upwards here.
        chance: What a perfectly calibrated score would show for want of questions, on average.
        brier: Mean squared distance of score and truth.
    """

    bins: list[Bin]
    error: float
    low: float
    high: float
    chance: float
    brier: float


def rates(labels: Labels, scores: Scores) -> Rates:
    """Judge scores of shape (questions, agreements) by what each question's best agreement is."""
    found, questions = Rates(), judged(labels, scores)
    for threshold in THRESHOLDS:
        found.at[threshold] = {
            name: float(counted(questions, threshold)[among].mean())
            for name, counted, among in measures(questions)
        }
    expected = np.array(labels.expected)
    true = scores[np.flatnonzero(questions.answerable), expected[questions.answerable]]
    false = questions.value[~questions.answerable]
    found.auc = float(np.mean(true[:, None] > false) + np.mean(true[:, None] == false) / 2)
    found.first = float(questions.right[questions.answerable].mean())
    return found


Counted = Callable[[Judgements, float], Mask]


def measures(questions: Judgements) -> Iterator[tuple[str, Counted, Mask]]:
    """Yield the counts at a threshold, by name, each with its questions: first hits by kind."""
    for kind in dict.fromkeys(questions.kinds.tolist()):
        if kind not in WITHOUT_ANSWER:
            yield kind, hit, questions.kinds == kind
    if questions.answerable.any():
        yield "hit", hit, questions.answerable
        yield "wrong", wrong, questions.answerable
    for kind in WITHOUT_ANSWER:
        if (among := questions.kinds == kind).any():
            yield kind, wrong, among


def shares(questions: Judgements, threshold: float) -> dict[str, Share]:
    """Return every measure at a threshold with its interval."""
    return {
        name: interval(counted(questions, threshold)[among], questions.group[among])
        for name, counted, among in measures(questions)
    }


def interval(counted: Mask, group: NDArray[np.str_]) -> Share:
    """Return a share and its interval; where all groups agree, the exact bound for so many groups.

    A bootstrap of nothing seen says nothing could be: then the bound is what would stay unseen in
    one of forty samples.
    """
    groups = [counted[group == each].astype(float).tolist() for each in np.unique(group)]
    found = bootstrap(groups)
    bound = 0.025 ** (1 / len(groups))
    low = bound if counted.all() else found.low
    high = found.high if counted.any() else 1 - bound
    return Share(found.mean, low, high, len(counted))


def curve(questions: Judgements, thresholds: Sequence[float]) -> list[dict[str, float]]:
    """Return hit, wrong, near_miss and unrelated at each threshold."""
    wanted = {"hit", "wrong", *WITHOUT_ANSWER}
    return [
        {"threshold": float(threshold)}
        | {
            name: float(counted(questions, threshold)[among].mean())
            for name, counted, among in measures(questions)
            if name in wanted
        }
        for threshold in thresholds
    ]


def best_within(questions: Judgements, near: float, unrelated: float) -> dict[str, float] | None:
    """Return the curve's point with the most hits within both limits; None without one."""
    points = curve(questions, np.unique(np.round(questions.value, 4)).tolist())
    kept = (
        point
        for point in points
        if point.get("near_miss", 0) <= near and point.get("unrelated", 0) <= unrelated
    )
    return max(kept, key=lambda point: point.get("hit", 0), default=None)


def reliability(questions: Judgements) -> Reliability:
    """Compare the best answer's score with whether it is right, over all questions."""
    random = np.random.default_rng(SEED)
    value, right = questions.value, questions.right.astype(float)
    evenly = np.ones(len(value))
    bins = binned(value, right, evenly)
    _, members = np.unique(questions.group, return_inverse=True)
    groups = int(members.max()) + 1
    drawn = random.multinomial(groups, [1 / groups] * groups, size=DRAWS)
    errors = [error(binned(value, right, times[members].astype(float))) for times in drawn]
    lucky = [error(binned(value, (random.random(len(value)) < value).astype(float), evenly))
             for _ in range(DRAWS // 5)]  # fmt: skip
    low, high = np.quantile(errors, (0.025, 0.975))
    brier = float(np.mean((value - right) ** 2))
    return Reliability(bins, error(bins), float(low), float(high), float(np.mean(lucky)), brier)


def binned(value: Scores, right: Scores, weight: Scores) -> list[Bin]:
    """Put questions into bins of equal weight by score; equal scores share one."""
    _, level = np.unique(value, return_inverse=True)
    mass = np.bincount(level, weight)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    place = np.minimum((middle * BINS).astype(int), BINS - 1)[level]
    total = np.bincount(place, weight, BINS)
    sums = (np.bincount(place, weight * column, BINS) for column in (value, right))
    rows = zip(*sums, total, strict=True)
    return [Bin(float(a / n), float(b / n), float(n)) for a, b, n in rows if n > 0]


def error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error."""
    total = sum(each.questions for each in bins)
    return sum(each.questions * abs(each.score - each.right) for each in bins) / total
