"""How a query plan is told: seed 003's fields, within the budgets of all answers (docs/decisions/0014).

What does not fit is in the plan's file, and the answer says so: of results within iterations place and scores
are told, of final ones as much text as fits, and of many iterations each less.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.foundation.text import counted, visible
from code_intel.planning import outcome
from code_intel.planning.evaluation import hundredths
from code_intel.planning.learning import Template
from code_intel.planning.records import Evaluation, Iteration, Metrics, Plan, Result, Stop
from code_intel.planning.stored import as_json
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_sources import Source, hit_of
from code_intel.tools.wire.answers import BUDGET, fit, index_data, index_text, tokens
from code_intel.tools.wire.suspicion import flags_of, note_of

TAB = "\t"
VERIFY = "Results are hypotheses: check what you build on with find_definitions or find_references."
MOST = 9_500
"""Tokens that an answer may take as data; what every answer may add has room beside it."""
LINE = 90
"""Characters of a query in the text of an answer."""
SHOWN = 10
"""Final results that the text of an answer has."""
SAID, TRIED, FOUND = 350, 450, 850
"""Tokens that feedback, iterations and final results may take in the text of an answer."""
GOAL = 200
"""Characters of another plan's goal and query."""


class Level(NamedTuple):
    """How much is told.

    Attributes:
        iterations: The last ones.
        results: Of each iteration.
        items: Of each of its lists.
        longest: Characters of a text.
        final: Final results.
        texts: Tokens of theirs.
    """

    iterations: int
    results: int
    items: int
    longest: int
    final: int
    texts: int


LEVELS = (
    Level(100, 50, 40, 4000, 50, BUDGET),
    Level(100, 10, 40, 400, 50, BUDGET),
    Level(60, 5, 20, 200, 50, 1500),
    Level(40, 2, 10, 100, 30, 1000),
    Level(20, 1, 5, 60, 20, 600),
    Level(12, 0, 2, 40, 10, 300),
)
"""The first at which the answer fits is taken."""

STOPS: Mapping[Stop, str] = MappingProxyType(
    {
        "reached": "The confidence asked for was reached.",
        "no_new_query": "Nothing suggests a query that was not asked yet.",
        "no_improvement": "Two queries in a row found nothing better.",
        "iterations": "All iterations were used.",
        "timeout": "The time was over; this is what was found until then.",
        "stopped": "It was interrupted; this is what was found until then.",
    }
)
"""What the answer says of the reason why no further query was made."""
GO_ON = "To go on, call again with planId, and initialQueries of your own."


def answer(plan: Plan, source: Source, saved: str) -> tuple[Answer, dict[int, list[Result]]]:
    """Return the answer, and, by the number of each iteration, those of its results that it shows."""
    level, *others = LEVELS
    data = _data(plan, source, saved, level)
    while others and tokens(json.dumps(data, ensure_ascii=False)) > MOST:
        level = others.pop(0)
        data = _data(plan, source, saved, level)
    text = _text(plan, str(data["message"]), data["finalResults"]["data"])
    shown = {each.number: list(each.results[: level.results]) for each in _last(plan, level)}
    return Answer(data, text + index_text(source.index)), shown


def offering(answer: Answer, templates: Sequence[Template]) -> Answer:
    """Return the answer with the plans that the new one could begin with; the first one's query is tried."""
    if not templates:
        return answer
    offers = [
        {
            "planId": each.id,
            "goal": each.goal[:GOAL],
            "status": each.status,
            "confidence": round(each.confidence, 6),
            "query": each.query[:GOAL],
            "likeness": round(each.likeness, 4),
            **flags_of(each.goal, each.query),
        }
        for each in templates
    ]
    text = f"A plan for a goal like this one succeeded before: planId {templates[0].id}."
    return Answer({**answer.data, "similarPlans": offers}, f"{answer.text}\n{text}")


def _data(plan: Plan, source: Source, saved: str, level: Level) -> dict[str, Any]:
    told, cut = fit([hit_of(each) for each in plan.final[: level.final]], level.texts)
    found = [_result(each, text) for each, (_, text) in zip(plan.final, told, strict=False)]
    less = cut or len(found) < len(plan.final) or len(plan.iterations) > level.iterations
    less = less or any(len(each.results) > level.results for each in plan.iterations)
    matched, missed = outcome.met(plan)
    data: dict[str, Any] = {
        "planId": plan.id,
        "goal": plan.goal[: level.longest],
        "status": outcome.status(plan),
        "iterations": [_iteration(each, level) for each in _last(plan, level)],
        "finalResults": {
            "data": found,
            "confidence": round(outcome.score(plan), 6),
            "matchedExpectations": [each[: level.longest] for each in matched],
            "unmatchedExpectations": [each[: level.longest] for each in missed],
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


def _message(plan: Plan, rest: str) -> str:
    """Return the summary line of seed 003, why it ended, how to go on, and where the `rest` is."""
    status = outcome.status(plan)
    score = hundredths(outcome.score(plan), plan.expected.confidence)
    count = len(plan.iterations)
    parts = [
        f"Query plan {status} after {counted(count, 'iteration')} with confidence {score:.2f}.",
        STOPS[plan.stop],
        "" if status == "success" else GO_ON,
        f"The rest is in {rest}." if rest else "",
        VERIFY if plan.final else "",
    ]
    return " ".join(filter(None, parts))


def _last(plan: Plan, level: Level) -> tuple[Iteration, ...]:
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
    return {name: round(value, 6) for name, value in as_json(metrics).items()}


def _iteration(each: Iteration, level: Level) -> dict[str, Any]:
    longest, items = level.longest, level.items
    data: dict[str, Any] = {
        "iterationNumber": each.number,
        "query": each.query[:longest],
        "expectedKeywords": list(each.expected_keywords[:items]),
        "actualResults": [_result(result) for result in each.results[: level.results]],
        "evaluationScore": round(each.evaluation.score, 6),
        "feedback": each.feedback[:longest],
        "refinements": [refinement[:longest] for refinement in each.refinements[:items]],
        "metrics": metrics_data(each.evaluation.metrics),
        "found": len(each.results),
        "cached": each.cached,
        "time": round(each.milliseconds, 1),
    }
    data |= {"error": each.error[:longest]} if each.error else {}
    degraded = [note[:longest] for note in each.degraded[:items]]
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


def _text(plan: Plan, message: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer for a reader: what a client that shows no data must have to go on."""
    head, _, rest = message.partition(". ")
    best = outcome.best(plan)
    tried = [f"{each.number}. {_line(each)}" for each in reversed(plan.iterations)]
    kept = _within(tried, TRIED)
    lines = [f"{head}.", f"planId: {plan.id}"]
    lines += [f"… {len(tried) - len(kept)} before"] if len(kept) < len(tried) else []
    lines += reversed(kept)
    if best:
        refinements = [f"   - {_short(each)}" for each in best.refinements[:3]]
        which = f"Best, {best.number}: " if len(plan.iterations) > 1 else ""
        lines += _within([f"{which}{_short(best.feedback, 3 * LINE)}", *refinements], SAID)
    lines += [note_of(results)] if note_of(results) else []
    found: list[str] = []
    shown, _ = fit([hit_of(each) for each in plan.final[:SHOWN]], FOUND - 100)
    for hit, text in shown:
        name = f"  {_short(hit.symbol)}" if hit.symbol else ""
        found.append(f"{_short(hit.document)}:{hit.start_line}-{hit.end_line}{name}")
        found += [f"   {visible(line, TAB)}" for line in text.rstrip().splitlines()]
    lines += _within(found, FOUND)
    left = len(plan.final) - len(shown)
    lines += [f"… {left} more in `finalResults`"] if left > 0 else []
    return "\n".join((*lines, rest))


def _within(lines: Sequence[str], budget: int) -> list[str]:
    """Return the first lines that fit."""
    costs = accumulate(tokens(line) + 1 for line in lines)
    return [line for line, cost in zip(lines, costs, strict=True) if cost <= budget]


def _line(each: Iteration) -> str:
    known = ", known" if each.cached else ""
    came = _short(each.error) if each.error else f"{counted(len(each.results), 'result')}{known}"
    return f"“{_short(each.query)}”: {each.evaluation.score:.2f}, {came}"


def _short(text: str, most: int = LINE) -> str:
    return visible(text if len(text) <= most else f"{text[:most]}…")
