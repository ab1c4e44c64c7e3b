"""Measure how often the map's answers were right, by their score, and how long answers took."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median, quantiles
from typing import Literal, NamedTuple

from code_intel.learned.files.agreements import Key
from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.learned.history.experience import AgreementExperience
from code_intel.operations.map.session_costs import ScoredAnswer

Verdict = Literal["accepted", "rejected", "failed", "open"]
SCORE_BANDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Bounds of the bands of the score; the last band includes 1."""
_JUDGED: Mapping[str, Verdict] = {
    "accepted": "accepted",
    "confirmed": "accepted",
    "rejected": "rejected",
    "failed": "failed",
}


class ScoreBand(NamedTuple):
    """The answers of the map whose scores are in one band.

    Attributes:
        low: The lower bound, included.
        high: The upper bound, excluded except in the last band.
        judged: The number of answers that were accepted, rejected or failed.
        right: The number of those that were accepted.
        mean_score: The mean score of the judged answers; 0 without any.
    """

    low: float
    high: float
    judged: int
    right: int
    mean_score: float

    @property
    def share(self) -> float:
        """The share of judged answers that were right; 0 without any."""
        return self.right / self.judged if self.judged else 0.0


class ToolFigures(NamedTuple):
    """The answers of one tool: how many tokens they had, and how long they took.

    Attributes:
        tool: The tool, or `prompt` for the context that a hook added.
        answers: The number of answers.
        tokens: The median of their tokens, and the 95th percentile.
        milliseconds: The same of their times; None if no time was logged.
    """

    tool: str
    answers: int
    tokens: tuple[int, int]
    milliseconds: tuple[int, int] | None


def verdicts_of(
    answers: Iterable[ScoredAnswer], experiences: Iterable[AgreementExperience]
) -> list[tuple[ScoredAnswer, Verdict]]:
    """Return what became of each answer in its own session; the last event counts.

    An answer that a session gave twice, for the same agreement, counts once.
    """
    last: dict[tuple[str, Key], Verdict] = {}
    for found in experiences:
        if verdict := _JUDGED.get(found.kind):
            last[found.session_id, found.key] = verdict
    once = {(each.session, each.key): each for each in answers}
    return [(each, last.get(place, "open")) for place, each in once.items()]


def calibration_curve(judged: Iterable[tuple[ScoredAnswer, Verdict]]) -> list[ScoreBand]:
    """Return the share of right answers by band of the score; open answers do not count."""
    known = [(each.score, verdict == "accepted") for each, verdict in judged if verdict != "open"]
    bands = pairwise(SCORE_BANDS)
    return [_band(low, high, known) for low, high in bands]


def tool_figures(sizes: Mapping[str, Sequence[AnswerSize]]) -> list[ToolFigures]:
    """Return the figures of each tool, the tool with most answers first."""
    by_tool: dict[str, list[AnswerSize]] = {}
    for each in (size for session in sizes.values() for size in session):
        by_tool.setdefault(each.tool, []).append(each)
    found = [
        ToolFigures(
            tool,
            len(answers),
            _spread([each.tokens for each in answers]),
            _spread(times)
            if (times := [each.milliseconds for each in answers if each.milliseconds is not None])
            else None,
        )
        for tool, answers in by_tool.items()
    ]
    return sorted(found, key=lambda each: (-each.answers, each.tool))


def _band(low: float, high: float, known: Sequence[tuple[float, bool]]) -> ScoreBand:
    is_last = high == SCORE_BANDS[-1]
    inside = [each for each in known if low <= each[0] < high or (is_last and each[0] >= high)]
    right = sum(is_right for _, is_right in inside)
    mean = fmean(score for score, _ in inside) if inside else 0.0
    return ScoreBand(low, high, len(inside), right, mean)


def _spread(values: Sequence[int]) -> tuple[int, int]:
    """Return the median and the 95th percentile."""
    top = quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return round(median(values)), round(top)
