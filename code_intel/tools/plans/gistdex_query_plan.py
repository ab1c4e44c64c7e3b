"""Implement the tool `gistdex_query_plan`."""
# ruff: noqa: N803 - the names of seed 003, on the wire

from dataclasses import replace
from typing import Annotated

import anyio
from pydantic import Field

from code_intel.planning import keeping, loop
from code_intel.planning.expectations import ExpectedResults, Queries, StrategyGiven
from code_intel.planning.records import (
    ITERATIONS,
    MAX_ITERATIONS,
    MAX_PLAN_SECONDS,
    MIN_PLAN_SECONDS,
    SECONDS,
    Mode,
)
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.plans import plan_answers
from code_intel.tools.plans.plan_inputs import earlier_source, either, plan_arguments
from code_intel.tools.plans.plan_keeping import PlanStore, record_calls
from code_intel.tools.plans.plan_sources import source_of
from code_intel.tools.plans.plan_turns import locked_initial_plan

TOOL_NAME = "gistdex_query_plan"
LOCK_SHARE = 0.5
"""Share of the time limit to wait for another call on the same plan."""
LOOKUP_SHARE = 0.25
"""Share of the remaining time to look for an equal plan."""
EVALUATE_SHARE = 0.5
"""Share of the remaining time to evaluate earlier iterations again."""


async def gistdex_query_plan(
    context: GatewayContext,
    goal: Annotated[
        str, Field(min_length=1, max_length=4000, description="What to find out, in any language.")
    ],
    initialQueries: Queries = [],
    maxIterations: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_ITERATIONS,
            description=f"Maximum queries; default {ITERATIONS}, or all initialQueries.",
        ),
    ] = None,
    evaluationMode: Annotated[
        Mode | None,
        Field(description="How keywords match: strict, fuzzy (default) or semantic."),
    ] = None,
    saveIntermediateResults: Annotated[
        bool | None,
        Field(description="Save the texts of all results; false: only of the final results."),
    ] = None,
    timeoutSeconds: Annotated[
        int | None,
        Field(
            ge=MIN_PLAN_SECONDS,
            le=MAX_PLAN_SECONDS,
            description=(
                f"Time limit; default {SECONDS}. After it, the results so far are returned."
            ),
        ),
    ] = None,
    expectedResults: Annotated[
        ExpectedResults | None,
        Field(description="keywords, minMatches, contentPatterns, confidence; all optional."),
    ] = None,
    strategy: Annotated[
        StrategyGiven | None,
        Field(description="initialMode, refinementMethod, expansionRules; all optional."),
    ] = None,
    provider: Annotated[
        str, Field(max_length=100, description="The index to search: forest (default) or map.")
    ] = "",
    db: Annotated[
        str, Field(max_length=1000, description="Another index database inside the project.")
    ] = "",
    planId: Annotated[
        str, Field(max_length=100, description="Continue this plan; pass the same goal.")
    ] = "",
    preset: Annotated[
        str,
        Field(
            max_length=100,
            description="A named set of expectations and strategy, or the planId of a plan that "
            "worked.",
        ),
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Search once with a goal and the words that good results should contain, and compare.

    Give such words in expectedResults, for example names that the code may use. `finalResults`
    contains the best passages, `refinements` what to try next. To search again, call with planId
    and initialQueries; results are merged. `confidence` is the chance that the first result is
    right. Hits are hypotheses and do not change the phase.
    """
    arguments = plan_arguments(
        goal, initialQueries, evaluationMode, expectedResults, strategy, planId, preset
    )
    session, handle = await context.read_session(session_id, TOOL_NAME)
    began = anyio.current_time()
    waits = either(timeoutSeconds, SECONDS) * LOCK_SHARE
    async with locked_initial_plan(context, arguments, waits) as initial:
        root, own, before, plan = initial
        usual = own.defaults
        end = began + either(timeoutSeconds, usual.timeoutSeconds)
        keeps = bool(either(saveIntermediateResults, usual.saveIntermediateResults))
        store = PlanStore(context, root, own, intermediate=keeps)
        index, other = (provider, db) if provider or db or not before else earlier_source(before)
        async with source_of(context, session, index, other) as source:
            same = before is None or source.revision == before.revision
            plan = replace(plan, source=source.name, revision=source.revision if same else "")
            kept = None
            if before is None:
                plan = replace(plan, asked=keeping.key_of(plan))
                kept = await store.same(plan, source, (end - anyio.current_time()) * LOOKUP_SHARE)
            else:
                if (index, other) == earlier_source(before):
                    plan = await store.held(plan, source)
                plan = await loop.evaluated_again(
                    plan, (end - anyio.current_time()) * EVALUATE_SHARE
                )
            if kept is None:
                plan = await loop.run(
                    plan,
                    store.cached(source, plan),
                    more=either(maxIterations, max(usual.maxIterations, len(initialQueries))),
                    seconds=end - anyio.current_time(),
                    report=context.report,
                    keep=store.keep,
                )
                kept = await store.finish(plan, source.folder)
            plan, saved = kept
            fresh = plan.iterations[len(before.iterations) if before else 0 :]
            answer, shown = plan_answers.answer(plan, source, saved)
            notes = await record_calls(context, handle, session, source, fresh, shown)
    return answer.noting(*arguments.given.unknown_keys(), *own.warnings, *store.warnings, *notes)
