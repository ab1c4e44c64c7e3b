"""Run a query plan: search, compare with the expectations, and search again if that is asked for.

By default a plan makes one search, and the caller decides on the next (docs/decisions/0090). The
search and the storage are passed in. Each iteration is stored before the next begins, so that a
timeout, a cancellation or a kill leaves a whole plan (seed 003 §2.3; docs/decisions/0040).
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace

import anyio
from anyio import to_thread

from code_intel.errors import CodeIntelError
from code_intel.index.cancellation import run_read
from code_intel.planning import evaluation, feedback, goals, outcome
from code_intel.planning.records import FoundResults, Iteration, QueryPlan, Search, Stop

Report = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Receives progress: finished iterations, their maximum, and the current query."""
Keep = Callable[[QueryPlan], Awaitable[object]]

MIN_RESULTS = 10
"""Results of an iteration, unless more are wanted."""
SAVE_SECONDS = 5.0
"""Seconds that keeping a plan may take once the call was cancelled: a file is written, no more."""
EVALUATION_SECONDS = 2.0
"""Seconds for a comparison after the deadline, so that results are not lost."""
NOT_EVALUATED = "evaluation: none, because the comparison took too long; use simpler patterns"


async def _silent(done: float, total: float | None, message: str) -> None:
    """Ignore progress."""


async def run(
    plan: QueryPlan,
    search: Search,
    *,
    more: int,
    seconds: float,
    report: Report = _silent,
    keep: Keep | None = None,
) -> QueryPlan:
    """Return the plan with at most `more` further iterations, its result, and why it stopped.

    Waiting queries are tried first, in order; then those of `goals.next_query`. Each has an equal
    share of the remaining time. A query that fails or takes longer is an iteration with `error`.
    `keep` gets the plan after each iteration, as `stopped`; an error of it ends the plan.
    """
    began, spent = anyio.current_time(), plan.milliseconds
    end = began + seconds
    stop: Stop = "iterations"
    first = len(plan.iterations)
    for done in range(more):
        made = goals.next_query
        query = plan.waiting[0] if plan.waiting else await to_thread.run_sync(made, plan)
        if query is None:
            stop = "no_new_query"
            break
        await report(done, more, query)
        share = (end - anyio.current_time()) / (more - done)
        iteration = await _iteration(plan, query, search, share)
        plan = replace(
            plan,
            iterations=(*plan.iterations, iteration),
            waiting=plan.waiting[1:],
            stop="stopped",
            milliseconds=spent + _since(began),
        )
        plan = replace(plan, final=outcome.final(plan.iterations))
        if keep is not None:
            with anyio.move_on_after(SAVE_SECONDS, shield=True):
                await keep(plan)
        if not iteration.error and iteration.evaluation.confidence >= plan.expected.confidence:
            stop = "reached"
            break
        if anyio.current_time() >= end:
            stop = "timeout"
            break
    await report(len(plan.iterations) - first, more, stop)
    return replace(plan, stop=stop, milliseconds=spent + _since(began))


async def evaluated_again(plan: QueryPlan, seconds: float) -> QueryPlan:
    """Return a continued plan, with its earlier iterations compared to its expectations.

    An iteration that is not compared in time scores 0 and says why.
    """
    end = anyio.current_time() + seconds
    iterations = [
        await _evaluated(plan, each, end - anyio.current_time()) for each in plan.iterations
    ]
    return replace(plan, iterations=tuple(iterations), final=outcome.final(iterations))


async def _iteration(plan: QueryPlan, query: str, search: Search, seconds: float) -> Iteration:
    """Ask one query within its time, and compare what it finds with what was expected."""
    began, found, error = anyio.current_time(), FoundResults(()), ""
    with anyio.move_on_after(seconds) as scope:
        try:
            found = await search(query)
            # As many results as are wanted, those first that the rules of the query ask for.
            results = goals.arranged(plan.strategy.rules, query, found.results)
            wanted = max(MIN_RESULTS, plan.expected.min_matches)
            found = found._replace(results=results[:wanted])
        except CodeIntelError as failed:
            error = failed.message
    if scope.cancelled_caught:
        error = f"took longer than {max(seconds, 0.0):.3g} s"
    left = seconds - (anyio.current_time() - began)
    iteration = Iteration(
        number=len(plan.iterations) + 1,
        query=query,
        expected_keywords=plan.expected.keywords,
        results=found.results,
        evaluation=evaluation.EMPTY_EVALUATION,
        cached=found.cached,
        error=error,
        degraded=found.degraded,
    )
    iteration = await _evaluated(plan, iteration, max(left, EVALUATION_SECONDS))
    return replace(iteration, milliseconds=_since(began))


async def _evaluated(plan: QueryPlan, each: Iteration, seconds: float) -> Iteration:
    """Return an iteration compared with the expectations; if it takes too long, it says so."""
    evaluated, notes = evaluation.EMPTY_EVALUATION, [NOT_EVALUATED]
    with anyio.move_on_after(seconds):
        evaluated = await run_read(
            evaluation.evaluate, each.results, plan.expected, plan.mode, plan.source
        )
        notes = []
    language = goals.language_of(plan.goal)
    said, tips = feedback.described(each.query, evaluated, each.results, plan.expected, language)
    return replace(
        each,
        expected_keywords=plan.expected.keywords,
        evaluation=evaluated,
        feedback=said,
        refinements=tips,
        degraded=(*(note for note in each.degraded if note != NOT_EVALUATED), *notes),
    )


def _since(began: float) -> float:
    """Return milliseconds."""
    return (anyio.current_time() - began) * 1000
