"""Implement the tool `gistdex_query_plan`."""
# ruff: noqa: N803 - the names of seed 003, on the wire

from dataclasses import replace
from typing import Annotated

import anyio
from pydantic import Field

from code_intel.index.waiting import reading
from code_intel.planning import keeping, learning, likeness, loop
from code_intel.planning.learning import Template
from code_intel.planning.records import (
    LEAST_SECONDS,
    LONGEST_QUERY,
    LONGEST_SECONDS,
    MOST_ITERATIONS,
    MOST_QUERIES,
    SECONDS,
    Mode,
    Plan,
)
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.plans import plan_answers
from code_intel.tools.plans.plan_inputs import (
    Asked,
    ExpectedResults,
    StrategyGiven,
    asked_before,
    either,
    says_what,
    unread,
)
from code_intel.tools.plans.plan_keeping import Shelved, noted
from code_intel.tools.plans.plan_sources import source_of
from code_intel.tools.plans.plan_turns import beginning

NAME = "gistdex_query_plan"
WAITING, LOOKING, TEACHING, JUDGING = 0.5, 0.25, 0.25, 0.5
"""Shares of a plan's time within which another call must be done with it, an equal plan found, earlier ones compared, and
what it had found before judged anew."""


async def gistdex_query_plan(
    context: GatewayContext,
    goal: Annotated[
        str, Field(min_length=1, max_length=4000, description="What to find out, in any language.")
    ],
    initialQueries: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]],
        Field(max_length=MOST_QUERIES, description="Queries to try first, in this order."),
    ] = [],
    maxIterations: Annotated[
        int | None,
        Field(ge=1, le=MOST_ITERATIONS, description="Queries at the most; default 5; 1 to steer."),
    ] = None,
    evaluationMode: Annotated[
        Mode | None,
        Field(description="How keywords match: strict, fuzzy (default) or semantic."),
    ] = None,
    saveIntermediateResults: Annotated[
        bool | None,
        Field(description="Keep the texts of all results, or (false) of the final ones alone."),
    ] = None,
    timeoutSeconds: Annotated[
        int | None,
        Field(
            ge=LEAST_SECONDS,
            le=LONGEST_SECONDS,
            description="Seconds for all of it; default 120. What was found until then is returned.",
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
        str, Field(max_length=100, description="forest (default) or map: which index is asked.")
    ] = "",
    db: Annotated[
        str, Field(max_length=1000, description="Another index database inside the project.")
    ] = "",
    planId: Annotated[
        str, Field(max_length=100, description="Go on with this plan; goal as it was.")
    ] = "",
    preset: Annotated[
        str, Field(max_length=100, description="Expectations and strategy by name.")
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Plan a search: say what is expected, search, compare, refine, until it is good enough; and keep it.

    Use it for what one search does not answer. Say in expectedResults what good results have, such as names the
    code may use: that is what makes it better than a search. Each iteration is a query with its score, what was
    missing and what to try next; finalResults has the best places with their text. maxIterations 1 lets you steer: call
    again with planId and initialQueries. It finds what search_forest finds where that is allowed now, else by
    words; its hits are hypotheses, and it moves no phase. Plans are kept in .gistdex.
    """
    asked = Asked(goal, initialQueries, evaluationMode, expectedResults, strategy, planId, preset)
    session, handle = await context.read_session(session_id, NAME)
    began = anyio.current_time()
    waits = either(timeoutSeconds, SECONDS) * WAITING
    async with beginning(context, asked, waits) as begun:
        root, own, before, plan = begun
        usual = own.defaults
        end = began + either(timeoutSeconds, usual["timeoutSeconds"])
        keeps = bool(either(saveIntermediateResults, usual["saveIntermediateResults"]))
        shelved = Shelved(context, root, own, intermediate=keeps)
        index, other = (provider, db) if provider or db or not before else asked_before(before)
        async with source_of(context, session, index, other) as source:
            same = before is None or source.revision == before.revision
            plan = replace(plan, source=source.name, revision=source.revision if same else "")
            known, offers = None, list[Template]()
            if before is None:
                plan = replace(plan, asked=keeping.key_of(plan))
                known = await shelved.same(plan, source, (end - anyio.current_time()) * LOOKING)
                if known is None:
                    plan, offers = await _taught(context, shelved, plan, asked, end)
            else:
                if (index, other) == asked_before(before):
                    plan = await shelved.held(plan, source)
                plan = await loop.judged_anew(plan, before, (end - anyio.current_time()) * JUDGING)
            if known is not None:
                plan = replace(known, id=plan.id, created=plan.created)
            else:
                plan = await loop.run(
                    plan,
                    shelved.cached(source),
                    more=either(maxIterations, usual["maxIterations"]),
                    seconds=end - anyio.current_time(),
                    likeness=likeness.measure(context.embedder)
                    if plan.mode == "semantic"
                    else None,
                    report=context.report,
                    keep=shelved.keep,
                )
            plan, saved = await shelved.finish(plan, source)
            fresh = plan.iterations[len(before.iterations) if before else 0 :]
            answer, shown = plan_answers.answer(plan, source, saved)
            notes = await noted(context, handle, session, source, fresh, shown)
    answer = plan_answers.offering(answer, offers)
    return answer.noting(*unread(asked), *own.warnings, *shelved.warnings, *notes)


async def _taught(
    context: GatewayContext, shelved: Shelved, plan: Plan, asked: Asked, end: float
) -> tuple[Plan, list[Template]]:
    """Let earlier plans teach a new one, unless comparing the goals takes too long, as where a model is loaded."""
    offers: list[Template] = []
    with anyio.move_on_after((end - anyio.current_time()) * TEACHING):
        offers = await reading(learning.similar, shelved.root, plan, context.embedder)
    return learning.taught(plan, offers, expecting=not says_what(asked)), offers
