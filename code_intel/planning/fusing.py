"""Combine the results of all queries of a plan into its final result (docs/decisions/0042)."""

from collections import defaultdict
from collections.abc import Sequence

from code_intel.planning.records import Iteration, Result

MIN_WEIGHT = 0.01
"""So that a query whose results were not compared in time keeps its order."""


def final(iterations: Sequence[Iteration]) -> tuple[Result, ...]:
    """Return the final result of a plan, best first: one hit per document, no more than one query.

    A document's score is the sum of its scores in all queries, relative to the first result of each
    and weighted by the confidence of the query. One query keeps its order. Of a document, the hit
    with the highest score is shown.
    """
    total: dict[str, float] = defaultdict(float)
    shown: dict[str, tuple[float, Result]] = {}
    for each in iterations:
        for document, (score, result) in _scored(each).items():
            total[document] += score
            shown[document] = max(shown.get(document, (-1.0, result)), (score, result), key=_score)
    order = sorted(total, key=lambda document: -total[document])
    most = max((len(each.results) for each in iterations), default=0)
    return tuple(shown[document][1] for document in order[:most])


def _scored(iteration: Iteration) -> dict[str, tuple[float, Result]]:
    """Return the best result of each document with its weighted score."""
    weight = max(iteration.evaluation.confidence, MIN_WEIGHT)
    best = max((result.score for result in iteration.results), default=0.0)
    found: dict[str, tuple[float, Result]] = {}
    for place, result in enumerate(iteration.results):
        # Not every index says how sure it is; the order it answers in is left then.
        score = result.score / best if best > 0 else 1 - place / len(iteration.results)
        if result.document not in found or weight * score > found[result.document][0]:
            found[result.document] = weight * score, result
    return found


def _score(scored: tuple[float, Result]) -> float:
    return scored[0]
