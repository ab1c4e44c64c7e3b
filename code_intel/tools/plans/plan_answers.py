"""Format a query plan as an answer: seed 003's fields, cut to the budget (docs/decisions/0014).

Results of iterations have place and scores only; final results have as much text as fits. The
answer names the plan's file, which has the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from code_intel.foundation.text import counted, visible
from code_intel.planning import outcome
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import Evaluation, Iteration, QueryPlan, Result, Stop, by_name
from code_intel.records import Hit
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_sources import PlanSource
from code_intel.tools.wire.answers import (
    MAX_SEARCH_TOKENS,
    bounded,
    fit,
    hits_text,
    index_data,
    index_text,
    tokens,
    within,
)
from code_intel.tools.wire.reader import advice
from code_intel.tools.wire.suspicion import flags_of

RESULTS_NOTE = (
    "Results are hypotheses. Check what you rely on with find_definitions or find_references."
)
MAX_DATA_TOKENS = 9_500
"""Tokens of the data of an answer; leaves room for fields that every answer may have."""
ITERATION_TOKENS = 2_000
"""Tokens of the iterations in the data, the last ones."""
MAX_ITERATION_RESULTS = 3
MAX_FINAL_RESULTS = 5
"""Final results, unless more are expected."""
MAX_CHARS, MAX_ITEMS = 400, 20
"""Characters of a text of an iteration, and items of its lists."""
MAX_LINE_CHARS = 90
"""Characters of a query in the text of an answer."""
MAX_FEEDBACK_CHARS = 250
TEXT_TOKENS = 850
"""Tokens of the final results in the text of an answer."""
MAX_TEXT_QUERIES = 3

STOPS: Mapping[Stop, str] = {
    "reached": "The requested confidence was reached.",
    "no_new_query": "No new query could be derived.",
    "no_improvement": "Two queries in a row did not improve the results.",
    "iterations": "All iterations were used.",
    "timeout": "The time limit was reached; these are the results so far.",
    "stopped": "The plan was interrupted; these are the results so far.",
}
"""Why the plan made no further query; `no_improvement` is in plans of earlier versions."""
CONTINUE_HINT = "To continue, call again with planId and your own initialQueries."
NOTHING_HINT = "Nothing likely was found. Call again with planId and other words as initialQueries."


def answer(plan: QueryPlan, source: PlanSource, saved: str) -> Answer:
    """Return the answer of a plan that is saved in a file. Reads the index, so it blocks."""
    last = within(map(_iteration, reversed(plan.iterations)), ITERATION_TOKENS)
    final = plan.final[: max(MAX_FINAL_RESULTS, plan.expected.min_matches)]
    best = outcome.best(plan)
    hits = source.located(best.query if best else plan.goal, final)
    texts, is_cut = fit(hits, MAX_SEARCH_TOKENS)
    matched, missed = outcome.met(plan)
    data: dict[str, Any] = {
        "planId": plan.id,
        "goal": plan.goal,
        "status": outcome.status(plan),
        "iterations": last[::-1],
        "finalResults": {
            "data": [_final(each, *shown) for each, shown in zip(final, texts, strict=True)],
            "confidence": round(outcome.confidence(plan), 6),
            "matchedExpectations": [each[:MAX_CHARS] for each in matched],
            "unmatchedExpectations": [each[:MAX_CHARS] for each in missed],
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
        "index": index_data(source.index),
    }
    data = bounded(data, MAX_DATA_TOKENS)
    shown = sum(len(row["actualResults"]) for row in data["iterations"])
    if is_cut or shown < sum(len(each.results) for each in plan.iterations):
        data["truncated"] = True
    data["message"] = _message(plan, saved if "truncated" in data else "")
    return Answer(data, _text(plan, data["message"], hits) + index_text(source.index))


def evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation's fields on the wire."""
    return {
        "score": round(evaluation.score, 6),
        "confidence": round(evaluation.confidence, 6),
        "metrics": {name: round(value, 6) for name, value in by_name(evaluation.metrics).items()},
        "matchedExpectations": list(evaluation.matched),
        "unmatchedExpectations": list(evaluation.unmatched),
    }


def _iteration(each: Iteration) -> dict[str, Any]:
    evaluation = evaluation_data(each.evaluation)
    data: dict[str, Any] = {
        "iterationNumber": each.number,
        "query": each.query[:MAX_CHARS],
        "expectedKeywords": list(each.expected_keywords[:MAX_ITEMS]),
        "actualResults": [_result(result) for result in each.results[:MAX_ITERATION_RESULTS]],
        "evaluationScore": evaluation["score"],
        "confidence": evaluation["confidence"],
        "feedback": each.feedback[:MAX_CHARS],
        "refinements": [text[:MAX_CHARS] for text in each.refinements[:MAX_ITEMS]],
        "metrics": evaluation["metrics"],
        "found": len(each.results),
        "cached": each.cached,
        "time": round(each.milliseconds, 1),
    }
    degraded = [note[:MAX_CHARS] for note in each.degraded[:MAX_ITEMS]]
    optional = {"error": each.error[:MAX_CHARS], "degraded": degraded}
    return data | {name: value for name, value in optional.items() if value}


def _result(result: Result) -> dict[str, Any]:
    return {
        "document": result.document,
        "symbol": result.symbol,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "score": round(result.score, 4),
        "similarity": round(result.similarity, 4),
        **flags_of(result.document, result.symbol),
    }


def _final(result: Result, hit: Hit, text: str) -> dict[str, Any]:
    """Return a final result with the part of its text that is shown."""
    return {
        **_result(replace(result, symbol=hit.symbol)),
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "chunk": text,
        "position": result.position,
        "why": list(result.why),
        **flags_of(text, result.document, hit.symbol),
    }


def _message(plan: QueryPlan, rest: str) -> str:
    """Return seed 003's summary line, why the plan ended, how to continue, and where `rest` is."""
    status = outcome.status(plan)
    confidence = hundredths(outcome.confidence(plan))
    effort = counted(len(plan.iterations), "iteration")
    parts = [
        f"Query plan {status} after {effort} with confidence {confidence:.2f}.",
        STOPS[plan.stop],
        "" if status == "success" else advice(CONTINUE_HINT if plan.final else NOTHING_HINT),
        f"The complete plan is in {rest}." if rest else "",
        advice(RESULTS_NOTE) if plan.final else "",
    ]
    return " ".join(filter(None, parts))


def _text(plan: QueryPlan, message: str, hits: Sequence[Hit]) -> str:
    """Return the answer as text, complete enough for clients that show only text."""
    head, _, rest = message.partition(". ")
    lines = [f"{head}.", f"planId: {plan.id}"]
    lines += [_line(each) for each in plan.iterations[-MAX_TEXT_QUERIES:]]
    if best := outcome.best(plan):
        which = f"Best, {best.number}: " if len(plan.iterations) > 1 else ""
        lines.append(f"{which}{_short(best.feedback, MAX_FEEDBACK_CHARS)}")
        lines += [f"   - {_short(each)}" for each in best.refinements[:3]]
    results = hits[:MAX_FINAL_RESULTS]
    budget = min(TEXT_TOKENS, MAX_SEARCH_TOKENS - tokens("\n".join((*lines, rest))))
    lines.append(hits_text(fit(results, budget)[0]))
    left = len(plan.final) - len(results)
    lines += [f"… {left} more in the plan's file"] if left > 0 else []
    return "\n".join(filter(None, (*lines, rest)))


def _line(each: Iteration) -> str:
    """Return an iteration as one line."""
    found = _short(each.error) if each.error else counted(len(each.results), "result")
    cached = ", cached" if each.cached and not each.error else ""
    return (
        f"{each.number}. “{_short(each.query)}”: "
        f"{hundredths(each.evaluation.confidence):.2f}, {found}{cached}"
    )


def _short(text: str, most: int = MAX_LINE_CHARS) -> str:
    return visible(text if len(text) <= most else f"{text[:most]}…")
