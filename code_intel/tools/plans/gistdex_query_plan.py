"""Implement the tool `gistdex_query_plan`."""
# ruff: noqa: N803 - the names of seed 003, on the wire

from dataclasses import replace
from typing import Annotated

import anyio
from pydantic import Field

from code_intel.index.cancellation import run_read
from code_intel.planning import keeping, loop, records
from code_intel.planning.expectations import ExpectedResults, Queries, StrategyGiven
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.plans import plan_answers
from code_intel.tools.plans.plan_inputs import (
    PlanArguments,
    earlier_source,
    locked_initial_plan,
)
from code_intel.tools.plans.plan_keeping import PlanStore, record_calls
from code_intel.tools.plans.plan_sources import source_of

LOCK_SHARE = 0.5
"""Share of the time limit to wait for another call on the same plan."""


async def gistdex_query_plan(
    context: GatewayContext,
    goal: Annotated[
        str, Field(min_length=1, max_length=4000, description="What to find out, in any language.")
    ],
    initialQueries: Queries = [],
    maxIterations: Annotated[
        records.Iterations | None,
        Field(description=f"Maximum queries; default {records.ITERATIONS}, or all initialQueries."),
    ] = None,
    evaluationMode: Annotated[
        records.Mode | None,
        Field(description="How keywords match: strict, fuzzy (default) or semantic."),
    ] = None,
    saveIntermediateResults: Annotated[
        bool | None,
        Field(description="Save the texts of all results; false: only of the final results."),
    ] = None,
    timeoutSeconds: Annotated[
        records.Seconds | None,
        Field(
            description=f"Time limit; default {records.SECONDS}. After it, the results so far are "
            "returned.",
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
            description="A named set of expectations and strategy, or an earlier plan's id: its "
            "expectations and best query are used.",
        ),
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Search once with a goal and the words that good results should contain, and compare.

    Give such words in expectedResults, for example names in the code. `finalResults` has the
    best passages, `refinements` what to try next. To search again, pass planId and
    initialQueries; results are merged. `confidence` is the chance that the first result is right.
    Hits are hypotheses and do not change the phase.
    """
    arguments = PlanArguments.of(
        goal=goal,
        initialQueries=initialQueries,
        evaluationMode=evaluationMode,
        expectedResults=expectedResults,
        strategy=strategy,
        planId=planId,
        preset=preset,
    )
    session, handle = await context.read_session(session_id, "gistdex_query_plan")
    began = anyio.current_time()
    waits = (timeoutSeconds or records.SECONDS) * LOCK_SHARE
    async with locked_initial_plan(context, arguments, waits) as initial:
        root, own, before, plan = initial
        usual = own.defaults
        end = began + (timeoutSeconds or usual.timeoutSeconds)
        keeps = saveIntermediateResults
        store = PlanStore(context, root, usual.saveIntermediateResults if keeps is None else keeps)
        more = maxIterations or max(usual.maxIterations, len(initialQueries))
        index, other = (provider, db) if provider or db or not before else earlier_source(before)
        async with source_of(context, session, index, other) as source:
            same = before is None or source.revision == before.revision
            plan = replace(plan, source=source.name, revision=source.revision if same else "")
            kept = None
            if before is None:
                plan = replace(plan, asked=keeping.key_of(plan))
                kept = await store.same(plan, source, more)
            else:
                if (index, other) == earlier_source(before):
                    plan = await store.held(plan, source)
                plan = await loop.evaluated_again(plan, (end - anyio.current_time()) / 2)
            if kept is None:
                plan = await loop.run(
                    plan,
                    store.cached(source, plan),
                    more=more,
                    seconds=end - anyio.current_time(),
                    report=context.report,
                    keep=store.keep,
                )
                kept = await store.finish(plan, source.folder)
            plan, saved = kept
            fresh = plan.iterations[len(before.iterations) if before else 0 :]
            answer = await run_read(plan_answers.answer, plan, source, saved)
            notes = await record_calls(context, handle, session, source, fresh)
    return answer.noting(*arguments.unknown_keys(), *own.unknown_keys(), *store.warnings, *notes)
