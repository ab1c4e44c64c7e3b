"""Run a query plan: search, compare with the expectations, and search again if that is asked for.

By default a plan makes one search, and the caller decides on the next (docs/decisions/0090). The
search and the storage are passed in. Each iteration is stored before the next begins, so that a
timeout, a cancellation or a kill leaves a whole plan (seed 003 §2.3; docs/decisions/0040).
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial

import anyio
from anyio import to_thread

from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.index.cancellation import run_read
from code_intel.planning import evaluation, feedback, fusing, goals, refining
from code_intel.planning.records import (
    MAX_MATCHES,
    Evaluation,
    Expected,
    FoundResults,
    Iteration,
    Likeness,
    QueryPlan,
    Search,
    Stop,
)

Report = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Receives progress: finished iterations, their maximum, and the current query."""
Keep = Callable[[QueryPlan], Awaitable[None]]

MIN_RESULTS = 10
"""Results of an iteration, unless more are wanted."""
SAVE_SECONDS = 5.0
"""Seconds that keeping a plan may take once the call was cancelled: a file is written, no more."""
EVALUATION_SECONDS = 2.0
"""Seconds for a comparison by words after the deadline, so that results are not lost."""
NOT_EVALUATED = "evaluation: none, because the comparison took too long; use simpler patterns"
WORDS_ONLY_NOTE = "evaluation: by words only, because the comparison of meanings {}"


async def _silent(done: float, total: float | None, message: str) -> None:
    """Ignore progress."""


async def run(
    plan: QueryPlan,
    search: Search,
    *,
    more: int,
    seconds: float,
    likeness: Likeness | None = None,
    report: Report = _silent,
    keep: Keep | None = None,
) -> QueryPlan:
    """Return the plan with at most `more` further iterations, its result, and why it stopped.

    Waiting queries are tried first, in order; then those of `refining`. Each has an equal share of
    the remaining time. A query that fails or takes longer is an iteration with `error`.

    Args:
        plan: The plan so far; it is not changed.
        search: Searches the index.
        more: Maximum of further iterations.
        seconds: Time limit of all of them.
        likeness: Compares keywords with results by meaning; None: by words only.
        report: Called before each query, and at the end.
        keep: Called with the plan after each iteration, as `stopped`; an error ends the plan.
    """
    began, spent = anyio.current_time(), plan.milliseconds
    end = began + seconds
    stop: Stop = "iterations"
    first = len(plan.iterations)
    for done in range(more):
        query = (
            plan.waiting[0] if plan.waiting else await to_thread.run_sync(refining.next_query, plan)
        )
        if query is None:
            stop = "no_new_query"
            break
        await report(done, more, query)
        share = (end - anyio.current_time()) / (more - done)
        iteration = await _iteration(plan, query, search, share, likeness)
        plan = replace(
            plan,
            iterations=(*plan.iterations, iteration),
            waiting=plan.waiting[1:],
            stop="stopped",
            milliseconds=spent + _since(began),
        )
        plan = replace(plan, final=fusing.final(plan.iterations))
        if keep is not None:
            with anyio.move_on_after(SAVE_SECONDS, shield=True):
                await keep(plan)
        if (over := _over(plan, end)) is not None:
            stop = over
            break
    await report(len(plan.iterations) - first, more, stop)
    return replace(plan, stop=stop, milliseconds=spent + _since(began))


async def evaluated_again(plan: QueryPlan, before: QueryPlan, seconds: float) -> QueryPlan:
    """Return a continued plan, with its iterations compared to the new expectations.

    Args:
        plan: The plan with the new expectations and the remaining results.
        before: The stored plan.
        seconds: Time limit; an iteration that is not compared in time scores 0 and says why.

    Raises:
        UsageError: A pattern is invalid; it is named.
    """
    asks_the_same = (plan.expected, plan.mode) == (before.expected, before.mode)
    end, iterations = anyio.current_time() + seconds, list[Iteration]()
    for old, each in zip(before.iterations, plan.iterations, strict=True):
        is_same = asks_the_same and old.results == each.results
        iterations.append(each if is_same else await _again(plan, each, end))
    if tuple(iterations) == before.iterations:
        return plan
    return replace(plan, iterations=tuple(iterations), final=fusing.final(iterations))


async def _again(plan: QueryPlan, each: Iteration, end: float) -> Iteration:
    judged, why = evaluation.EMPTY_EVALUATION, [NOT_EVALUATED]
    with anyio.move_on_after(end - anyio.current_time()):
        judged = await run_read(evaluation.evaluate, each.results, plan.expected, plan.mode)
        why = []
    told = await to_thread.run_sync(_told, plan, each.query, FoundResults(each.results), judged)
    return replace(
        each,
        expected_keywords=plan.expected.keywords,
        evaluation=judged,
        feedback=told[0],
        refinements=told[1],
        degraded=(*(note for note in each.degraded if note != NOT_EVALUATED), *why),
    )


def _over(plan: QueryPlan, end: float) -> Stop | None:
    """Return why to stop now, or None."""
    last = plan.iterations[-1]
    if not last.error and last.evaluation.confidence >= plan.expected.confidence:
        return "reached"
    return "timeout" if anyio.current_time() >= end else None


async def _iteration(
    plan: QueryPlan, query: str, search: Search, seconds: float, likeness: Likeness | None
) -> Iteration:
    """Ask one query within its time, and compare what it finds with what was expected."""
    began, found, error = anyio.current_time(), FoundResults(()), ""
    with anyio.move_on_after(seconds) as scope:
        try:
            found = _arranged(plan, query, await search(query))
        except CodeIntelError as failed:
            error = failed.message
    if scope.cancelled_caught:
        error = f"took longer than {max(seconds, 0.0):.3g} s"
    left = seconds - (anyio.current_time() - began)
    judged, degraded = await _judged(plan, found, left, likeness)
    feedback_text, refinements = await to_thread.run_sync(_told, plan, query, found, judged)
    return Iteration(
        number=len(plan.iterations) + 1,
        query=query,
        expected_keywords=plan.expected.keywords,
        results=found.results,
        evaluation=judged,
        feedback=feedback_text,
        refinements=refinements,
        cached=found.cached,
        milliseconds=_since(began),
        error=error,
        degraded=(*found.degraded, *degraded),
    )


async def _judged(
    plan: QueryPlan, found: FoundResults, seconds: float, likeness: Likeness | None
) -> tuple[Evaluation, tuple[str, ...]]:
    """Compare results with the expectations; by words, with a note, if meaning takes too long."""
    judge = partial(evaluation.evaluate, found.results, plan.expected, plan.mode)
    why = "took too long"
    if likeness is not None:
        with anyio.move_on_after(seconds):
            try:
                return await run_read(judge, likeness), ()
            except EmbeddingError as error:
                why = f"failed: {error.message}"
    told = (WORDS_ONLY_NOTE.format(why),) if likeness else ()
    with anyio.move_on_after(max(seconds, EVALUATION_SECONDS)):
        return await run_read(judge), told
    return evaluation.EMPTY_EVALUATION, (*told, NOT_EVALUATED)


def _arranged(plan: QueryPlan, query: str, found: FoundResults) -> FoundResults:
    """Return as many results as are wanted, those first that the rules of the query ask for."""
    results = refining.arranged(plan.strategy.rules, query, found.results)
    return found._replace(results=results[: wanted(plan.expected)])


def wanted(expected: Expected) -> int:
    """Return how many results an iteration has at the most."""
    return min(MAX_MATCHES, max(MIN_RESULTS, expected.min_matches))


def _told(
    plan: QueryPlan, query: str, found: FoundResults, judged: Evaluation
) -> tuple[str, tuple[str, ...]]:
    language = goals.language_of(plan.goal)
    return (
        feedback.feedback(judged, found.results, plan.expected, language),
        feedback.suggestions(query, judged, found.results, plan.expected, language),
    )


def _since(began: float) -> float:
    """Return milliseconds."""
    return (anyio.current_time() - began) * 1000
