"""Format a query plan as an answer: seed 003's fields, cut to the budget (docs/decisions/0014).

Results of iterations have place and scores only; final results have as much text as fits. Many
iterations are shown in less detail each. The answer names the plan's file, which has the rest.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.foundation.text import counted, visible
from code_intel.planning import outcome
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import (
    Evaluation,
    Iteration,
    Metrics,
    QueryPlan,
    Result,
    Stop,
    by_name,
)
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_sources import PlanSource, hit_of
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, fit, index_data, index_text, tokens
from code_intel.tools.wire.reader import advice
from code_intel.tools.wire.suspicion import flags_of, note_of

TAB = "\t"
RESULTS_NOTE = (
    "Results are hypotheses. Check what you rely on with find_definitions or find_references."
)
MAX_DATA_TOKENS = 9_500
"""Tokens of the data of an answer; leaves room for fields that every answer may have."""
MAX_PLAN_LINE_CHARS = 90
"""Characters of a query in the text of an answer."""
MAX_TEXT_RESULTS = 10
"""Final results in the text of an answer."""
FEEDBACK_TOKENS = 350
ITERATION_TOKENS = 450
RESULT_TOKENS = 850
"""Tokens of feedback, iterations and final results in the text of an answer."""


class DetailLevel(NamedTuple):
    """How much detail an answer has.

    Attributes:
        iterations: Number of iterations, the last ones.
        results: Results per iteration.
        items: Items of each list of an iteration.
        max_chars: Characters of a text.
        final: Number of final results.
        texts: Tokens of the final results' texts.
    """

    iterations: int
    results: int
    items: int
    max_chars: int
    final: int
    texts: int


LEVELS = (
    DetailLevel(100, 50, 40, 4000, 50, MAX_SEARCH_TOKENS),
    DetailLevel(100, 10, 40, 400, 50, MAX_SEARCH_TOKENS),
    DetailLevel(60, 5, 20, 200, 50, 1500),
    DetailLevel(40, 2, 10, 100, 30, 1000),
    DetailLevel(20, 1, 5, 60, 20, 600),
    DetailLevel(12, 0, 2, 40, 10, 300),
)
"""The levels in order; the first at which the answer fits is used."""

STOPS: Mapping[Stop, str] = MappingProxyType(
    {
        "reached": "The requested confidence was reached.",
        "no_new_query": "No new query could be derived.",
        "no_improvement": "Two queries in a row did not improve the results.",
        "iterations": "All iterations were used.",
        "timeout": "The time limit was reached; these are the results so far.",
        "stopped": "The plan was interrupted; these are the results so far.",
    }
)
"""Why the plan made no further query."""
CONTINUE_HINT = "To continue, call again with planId and your own initialQueries."


def answer(
    plan: QueryPlan, source: PlanSource, saved: str
) -> tuple[Answer, dict[int, list[Result]]]:
    """Return the answer, and the results that it shows by the number of their iteration."""
    level, *others = LEVELS
    data = _data(plan, source, saved, level)
    while others and tokens(json.dumps(data, ensure_ascii=False)) > MAX_DATA_TOKENS:
        level = others.pop(0)
        data = _data(plan, source, saved, level)
    text = _text(plan, str(data["message"]), data["finalResults"]["data"])
    shown = {each.number: list(each.results[: level.results]) for each in _last(plan, level)}
    return Answer(data, text + index_text(source.index)), shown


def _data(plan: QueryPlan, source: PlanSource, saved: str, level: DetailLevel) -> dict[str, Any]:
    shown, cut = fit([hit_of(each) for each in plan.final[: level.final]], level.texts)
    found = [_result(each, text) for each, (_, text) in zip(plan.final, shown, strict=False)]
    less = cut or len(found) < len(plan.final) or len(plan.iterations) > level.iterations
    less = less or any(len(each.results) > level.results for each in plan.iterations)
    matched, missed = outcome.met(plan)
    data: dict[str, Any] = {
        "planId": plan.id,
        "goal": plan.goal[: level.max_chars],
        "status": outcome.status(plan),
        "iterations": [_iteration(each, level) for each in _last(plan, level)],
        "finalResults": {
            "data": found,
            "confidence": round(outcome.score(plan), 6),
            "matchedExpectations": [each[: level.max_chars] for each in matched],
            "unmatchedExpectations": [each[: level.max_chars] for each in missed],
        },
        "metadata": {
            "totalIterations": len(plan.iterations),
            "totalTime": round(plan.milliseconds, 1),
            "cacheHits": sum(each.cached for each in plan.iterations),
            "improvementRate": round(outcome.improvement(plan), 6),
        },
        "savedAt": saved,
        **({"structuredKnowledgePath": plan.knowledge} if plan.knowledge else {}),
        "stopReason": plan.stop,
        "source": plan.source,
        "message": _message(plan, saved if less else ""),
        "index": index_data(source.index),
    }
    return data | ({"truncated": True} if less else {})


def _message(plan: QueryPlan, rest: str) -> str:
    """Return seed 003's summary line, why the plan ended, how to continue, and where `rest` is."""
    status = outcome.status(plan)
    score = hundredths(outcome.score(plan), plan.expected.confidence)
    count = len(plan.iterations)
    parts = [
        f"Query plan {status} after {counted(count, 'iteration')} with confidence {score:.2f}.",
        STOPS[plan.stop],
        "" if status == "success" else advice(CONTINUE_HINT),
        f"The complete plan is in {rest}." if rest else "",
        advice(RESULTS_NOTE) if plan.final else "",
    ]
    return " ".join(filter(None, parts))


def _last(plan: QueryPlan, level: DetailLevel) -> tuple[Iteration, ...]:
    return plan.iterations[-level.iterations :]


def evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation's fields on the wire."""
    return {
        "score": round(evaluation.score, 6),
        "metrics": metrics_data(evaluation.metrics),
        "matchedExpectations": list(evaluation.matched),
        "unmatchedExpectations": list(evaluation.unmatched),
    }


def metrics_data(metrics: Metrics) -> dict[str, float]:
    """Return the six metrics by the names of seed 003."""
    return {name: round(value, 6) for name, value in by_name(metrics).items()}


def _iteration(each: Iteration, level: DetailLevel) -> dict[str, Any]:
    max_chars, items = level.max_chars, level.items
    data: dict[str, Any] = {
        "iterationNumber": each.number,
        "query": each.query[:max_chars],
        "expectedKeywords": list(each.expected_keywords[:items]),
        "actualResults": [_result(result) for result in each.results[: level.results]],
        "evaluationScore": round(each.evaluation.score, 6),
        "feedback": each.feedback[:max_chars],
        "refinements": [refinement[:max_chars] for refinement in each.refinements[:items]],
        "metrics": metrics_data(each.evaluation.metrics),
        "found": len(each.results),
        "cached": each.cached,
        "time": round(each.milliseconds, 1),
    }
    data |= {"error": each.error[:max_chars]} if each.error else {}
    degraded = [note[:max_chars] for note in each.degraded[:items]]
    return data | ({"degraded": degraded} if degraded else {})


def _result(result: Result, text: str | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "document": result.document,
        "symbol": result.symbol,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "score": round(result.score, 4),
        "similarity": round(result.similarity, 4),
    }
    if text is not None:
        data |= {"chunk": text, "position": result.position, "why": list(result.why)}
    return data | flags_of(text or "", result.document, result.symbol)


def _text(plan: QueryPlan, message: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer as text, complete enough for clients that show only text."""
    head, _, rest = message.partition(". ")
    best = outcome.best(plan)
    tried = [f"{each.number}. {_line(each)}" for each in reversed(plan.iterations)]
    shown_queries = _within(tried, ITERATION_TOKENS)
    lines = [f"{head}.", f"planId: {plan.id}"]
    lines += (
        [f"… {len(tried) - len(shown_queries)} before"] if len(shown_queries) < len(tried) else []
    )
    lines += reversed(shown_queries)
    if best:
        refinements = [f"   - {_short(each)}" for each in best.refinements[:3]]
        which = f"Best, {best.number}: " if len(plan.iterations) > 1 else ""
        lines += _within(
            [f"{which}{_short(best.feedback, 3 * MAX_PLAN_LINE_CHARS)}", *refinements],
            FEEDBACK_TOKENS,
        )
    lines += [note_of(results)] if note_of(results) else []
    found: list[str] = []
    shown, _ = fit([hit_of(each) for each in plan.final[:MAX_TEXT_RESULTS]], RESULT_TOKENS - 100)
    for hit, text in shown:
        name = f"  {_short(hit.symbol)}" if hit.symbol else ""
        found.append(f"{_short(hit.document)}:{hit.start_line}-{hit.end_line}{name}")
        found += [f"   {visible(line, TAB)}" for line in text.rstrip().splitlines()]
    lines += _within(found, RESULT_TOKENS)
    left = len(plan.final) - len(shown)
    lines += [f"… {left} more in `finalResults`"] if left > 0 else []
    return "\n".join((*lines, rest))


def _within(lines: Sequence[str], budget: int) -> list[str]:
    """Return the first lines that fit."""
    costs = accumulate(tokens(line) + 1 for line in lines)
    return [line for line, cost in zip(lines, costs, strict=True) if cost <= budget]


def _line(each: Iteration) -> str:
    cached_note = ", cached" if each.cached else ""
    outcome_text = (
        _short(each.error) if each.error else f"{counted(len(each.results), 'result')}{cached_note}"
    )
    return f"“{_short(each.query)}”: {each.evaluation.score:.2f}, {outcome_text}"


def _short(text: str, most: int = MAX_PLAN_LINE_CHARS) -> str:
    return visible(text if len(text) <= most else f"{text[:most]}…")
