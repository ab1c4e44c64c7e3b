"""Compare results with expectations: six metrics of 0 to 1, and one score (seed 003 §2.2).

`docs/plans.md` describes the metrics. Without keywords or patterns their shares are 1. Without
results everything is 0. A Japanese keyword and its English translation are one expectation. In
strict mode they are two, and all keywords must be found: while one is missing, the score is scaled
to stay below the requested confidence.

The score says how well results fit the expectations. It does not say whether they are right: right
results often have fewer of the expected words. So the confidence is the chance that
the first result is right, which depends on its lead over the next ones and on its similarity to the
query (docs/decisions/0090).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from code_intel.planning.matching import ResultPage, occurs, together
from code_intel.planning.patterns import check, found
from code_intel.planning.records import (
    MAP_SOURCE,
    Evaluation,
    Expected,
    Metrics,
    Mode,
    Result,
    Status,
)

WEIGHTS = Metrics(
    keyword_match=0.25,
    pattern_match=0.15,
    semantic_similarity=0.25,
    coverage=0.15,
    precision=0.10,
    recall=0.10,
)
"""What each metric adds to the score; 1 together."""
PARTIAL = 0.3
"""Score above which what was found is worth something, and confidence above which its names are."""
BIAS, LEAD_SLOPE, SIMILARITY_SLOPE = -2.97, 8.65, 2.64
"""From the lead and the similarity of the first result to the chance that it is right, by a
logistic curve that `benchmarks/fit_plan_confidence.py` fits.
"""
MAX_FOLLOWERS = 3
"""Results after the first with which it is compared."""
EMPTY_EVALUATION = Evaluation(Metrics(0, 0, 0, 0, 0, 0), 0.0, 0.0)


def evaluate(
    results: Sequence[Result], expected: Expected, mode: Mode = "fuzzy", source: str = ""
) -> Evaluation:
    """Compare the results of a query with expectations; duplicates and blank keywords are ignored.

    `source` is that of the plan.

    Raises:
        UsageError: A pattern is invalid; it is named.
    """
    keywords = tuple(dict.fromkeys(word for word in expected.keywords if word.strip()))
    patterns = tuple(dict.fromkeys(expected.patterns))
    check(expected.patterns)
    results = list({(each.document, each.position, each.text): each for each in results}.values())
    if not results:
        return replace(EMPTY_EVALUATION, unmatched=(*keywords, *patterns))
    pages = [ResultPage(result) for result in results]
    rows = [[occurs(word, page, mode) for page in pages] for word in keywords]
    things = [[at] for at in range(len(rows))] if mode == "strict" else together(keywords)
    said = [[any(hits) for hits in zip(*(rows[at] for at in each), strict=True)] for each in things]
    matching = [[found(pattern, result.text) for result in results] for pattern in patterns]
    within = all if mode == "strict" else any
    metrics = Metrics(
        keyword_match=_share(hit for row in said for hit in row),
        pattern_match=_share(hit for row in matching for hit in row),
        semantic_similarity=fmean([_bounded(result.similarity) for result in results]),
        coverage=_bounded(len(results) / max(expected.min_matches, 1)),
        precision=_share(within(row[at] for row in said) for at in range(len(results)))
        if said
        else 1.0,
        recall=_share(any(row) for row in said),
    )
    nowhere = {at for each, row in zip(things, said, strict=True) if not any(row) for at in each}
    sought = [(each, any(row)) for each, row in zip(patterns, matching, strict=True)]
    score, chance = score_of(metrics), chance_of_first(results, source)
    if is_incomplete := mode == "strict" and metrics.recall < 1:
        score *= _bounded(expected.confidence)
    is_unmet = bool(rows or matching) and not any(map(any, (*rows, *matching)))
    is_limited = is_incomplete or is_unmet or score <= PARTIAL
    confidence = score if chance is None or (is_limited and score < chance) else chance
    return Evaluation(
        metrics,
        score,
        confidence,
        matched=(
            *(word for word, row in zip(keywords, rows, strict=True) if any(row)),
            *(pattern for pattern, hit in sought if hit),
        ),
        unmatched=(
            *(word for at, word in enumerate(keywords) if at in nowhere),
            *(pattern for pattern, hit in sought if not hit),
        ),
    )


def score_of(metrics: Metrics) -> float:
    """Return the weighted sum of the metrics, 0 to 1, rounded to six decimals."""
    pairs = zip(WEIGHTS, metrics, strict=True)
    return _bounded(round(math.fsum(weight * _bounded(value) for weight, value in pairs), 6))


def chance_of_first(results: Sequence[Result], source: str = "") -> float | None:
    """Return the chance that the first result is right, 0 to 1, rounded to six decimals.

    Scores of the map are calibrated: they are the chance itself. Those of the forest are relative,
    so the lead and the similarity of the first result decide. None without scores, or without
    results that follow.
    """
    first, lead = results[0], lead_of(results)
    if source == MAP_SOURCE:
        return round(_bounded(first.score), 6)
    if lead is None:
        return None
    value = BIAS + LEAD_SLOPE * lead + SIMILARITY_SLOPE * _bounded(first.similarity)
    return round(1 / (1 + math.exp(-value)), 6)


def lead_of(results: Sequence[Result]) -> float | None:
    """Return the lead of the first result over the mean of the next three, -1 to 1.

    It is negative if a rule of the caller has put a result with a lower score first. None without
    scores, or without results that follow.
    """
    followers = results[1 : 1 + MAX_FOLLOWERS]
    if not followers or results[0].score <= 0:
        return None
    return _bounded(results[0].score) - fmean([_bounded(each.score) for each in followers])


def hundredths(confidence: float) -> float:
    """Return a confidence rounded down, so that it never seems to be one that was not reached."""
    return math.floor(confidence * 100 + 1e-6) / 100


def status_of(evaluation: Evaluation, requested: float) -> Status:
    """Return `success` from the requested confidence on, `partial` for a score above `PARTIAL`.

    Results with little confidence often contain the right one further down, so they are partial.
    Without results both numbers are 0, and the plan has failed.
    """
    if evaluation.confidence > 0 and evaluation.confidence >= requested:
        return "success"
    return "partial" if evaluation.score > PARTIAL else "failed"


def _share(hits: Iterable[bool]) -> float:
    known = list(hits)
    return sum(known) / len(known) if known else 1.0


def _bounded(value: float) -> float:
    """Return a value as 0 to 1; what is no number is 0."""
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, value))
