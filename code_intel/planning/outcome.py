"""What came of a plan: status, confidence, what was found of what was expected (seed 003 §2)."""

from code_intel.planning.evaluation import EMPTY_EVALUATION, status_of
from code_intel.planning.records import Iteration, QueryPlan, Status


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
