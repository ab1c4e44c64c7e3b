"""Score answers, and estimate the confidence of a difference."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

DEPTH = 10
RESAMPLES = 10_000
SEED = 10


class Score(NamedTuple):
    """One question, asked in one way, and how it went.

    Attributes:
        id: The same for all forms of a question; empty, each form is a question of its own.
        way: Name of the way it was asked in.
    """

    repo: str
    category: str
    query: str
    ndcg: float
    milliseconds: float
    found: tuple[str, ...]
    id: str = ""
    language: str = ""
    way: str = ""

    @property
    def question(self) -> tuple[str, str]:
        """What its forms have in common."""
        return self.repo, self.id or self.query


class Difference(NamedTuple):
    """A mean difference of NDCG and its 95 % interval, over so many questions."""

    mean: float
    low: float
    high: float
    questions: int


def ndcg(found: Sequence[str], wanted: Iterable[str]) -> float:
    """Return NDCG@10 of a ranked list of distinct files."""
    gains = set(wanted)
    got = sum(1 / math.log2(i + 2) for i, path in enumerate(found[:DEPTH]) if path in gains)
    return got / sum(1 / math.log2(i + 2) for i in range(min(DEPTH, len(gains))))


def area(good: Iterable[float], bad: Iterable[float]) -> float | None:
    """Return the area under the ROC curve: how often good outscores bad, with equals half."""
    ones, others = np.array([*good]), np.sort([*bad])
    if not ones.size or not others.size:
        return None
    won = others.searchsorted(ones, "left") + others.searchsorted(ones, "right")
    return float(won.mean() / 2 / others.size)


def bootstrap(groups: Sequence[Sequence[float]]) -> Difference:
    """Return the mean of all values and its 95 % percentile interval; the same each time.

    Args:
        groups: The differences, one group for each question: its forms are drawn together, since
            they are not independent of each other.
    """
    sums = np.array([sum(group) for group in groups])
    sizes = np.array([len(group) for group in groups])
    drawn = np.random.default_rng(SEED).integers(len(groups), size=(RESAMPLES, len(groups)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(float(sums.sum() / sizes.sum()), float(low), float(high), len(groups))


def gained(scores: Iterable[Score], over: Iterable[Score]) -> Difference:
    """Return what one way of asking gains over another; both asked the same, in the same order."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for score, other in zip(scores, over, strict=True):
        groups[score.question].append(score.ndcg - other.ndcg)
    return bootstrap(list(groups.values()))


def lost_in(language: str, scores: Iterable[Score], against: str = "en") -> Difference | None:
    """Return the loss of questions in one language against another; None without pairs."""
    forms: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        forms[score.question][score.language].append(score.ndcg)
    groups = [
        [statistics.fmean(form[against]) - statistics.fmean(form[language])]
        for form in forms.values()
        if form[against] and form[language]
    ]
    return bootstrap(groups) if groups else None
