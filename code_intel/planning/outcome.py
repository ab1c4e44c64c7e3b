"""What came of a plan: status, confidence, final results, what each query added (seed 003 §2)."""

from collections import defaultdict
from collections.abc import Sequence

from code_intel.planning.evaluation import EMPTY_EVALUATION, status_of
from code_intel.planning.records import Iteration, QueryPlan, Result, Status

MIN_WEIGHT = 0.01
"""So that a query whose results were not compared in time keeps its order."""


def confidence(plan: QueryPlan) -> float:
    """Return the confidence of a plan's best iteration."""
    return max((each.evaluation.confidence for each in plan.iterations), default=0.0)


def status(plan: QueryPlan) -> Status:
    """Return the status of a plan; out of time with a result is at least partial."""
    requested = plan.expected.confidence
    reached = {status_of(each.evaluation, requested) for each in plan.iterations}
    if "success" in reached:
        return "success"
    late = plan.stop == "timeout" and any(each.results for each in plan.iterations)
    return "partial" if late or "partial" in reached else "failed"


def best(plan: QueryPlan) -> Iteration | None:
    """Return the iteration with the highest confidence, the first of equals."""
    return max(
        plan.iterations,
        key=lambda each: (each.evaluation.confidence, bool(each.results)),
        default=None,
    )


def improvement(plan: QueryPlan) -> float:
    """Return the best score minus the first one."""
    scores = [each.evaluation.score for each in plan.iterations]
    return max(scores) - scores[0] if scores else 0.0


def met(plan: QueryPlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what of the expectations any query has found, and what none has."""
    names = dict.fromkeys((*plan.expected.keywords, *plan.expected.patterns))
    judged = [each for each in plan.iterations if each.evaluation != EMPTY_EVALUATION]
    matched = {name for each in judged for name in each.evaluation.matched}
    # A keyword that is in neither list was found as the same word in the other language.
    settled = matched.union(
        *({*each.expected_keywords}.difference(each.evaluation.unmatched) for each in judged)
    )
    return (
        tuple(name for name in names if name in matched),
        tuple(name for name in names if name not in settled),
    )


def final(iterations: Sequence[Iteration]) -> tuple[Result, ...]:
    """Return the final result of a plan, best first: one hit per document, no more than one query.

    A document's score is the sum of its scores in all queries, relative to the first result of each
    and weighted by the confidence of the query (docs/decisions/0042). One query keeps its order. Of
    a document, the hit with the highest score is shown.
    """
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    shown: dict[str, tuple[float, Result]] = {}
    for each in iterations:
        weight = max(each.evaluation.confidence, MIN_WEIGHT)
        best = max((result.score for result in each.results), default=0.0)
        for place, result in enumerate(each.results):
            # Not every index says how sure it is; the order it answers in is left then.
            share = result.score / best if best > 0 else 1 - place / len(each.results)
            score, of_query = weight * share, scores[result.document]
            of_query[each.number] = max(score, of_query.get(each.number, score))
            if score > shown.get(result.document, (-1.0, result))[0]:
                shown[result.document] = score, result
    order = sorted(scores, key=lambda document: -sum(scores[document].values()))
    most = max((len(each.results) for each in iterations), default=0)
    return tuple(shown[document][1] for document in order[:most])


def added(plan: QueryPlan) -> tuple[tuple[str, ...], ...]:
    """Return, for each iteration, the files of the final results that it was the first to find."""
    documents = dict.fromkeys(result.document for result in plan.final)
    seen: set[str] = set()
    rows = []
    for each in plan.iterations:
        new = {result.document for result in each.results} - seen
        seen |= new
        rows.append(tuple(document for document in documents if document in new))
    return tuple(rows)
