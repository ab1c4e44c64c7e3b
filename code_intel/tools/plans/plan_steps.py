"""Evaluate a search of the agent as a step of a query plan, and save it in the plan.

Implements the parameters that seed 003 §3.1 adds to searches: `planId`, `expectedKeywords`,
`evaluateResult`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from code_intel.foundation.text import visible
from code_intel.planning import goals, keeping, loop, place, settings
from code_intel.planning.evaluation import status_of
from code_intel.planning.expectations import Words
from code_intel.planning.records import MAX_KEYWORDS, Expected, FoundResults, QueryPlan
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_answers import evaluation_data
from code_intel.tools.plans.plan_inputs import locked_plan
from code_intel.tools.plans.plan_keeping import PlanStore

PlanId = Annotated[str, Field(max_length=100, description="Add this search to a query plan.")]
ExpectedKeywords = Annotated[
    Words,
    Field(
        max_length=MAX_KEYWORDS,
        description="Words that results should contain; default: the plan's or the query's.",
    ),
]
EvaluateResult = Annotated[
    bool | None,
    Field(description="Evaluate the results; default: if planId or expectedKeywords is given."),
]
MAX_EVALUATION_SECONDS = 30.0
"""Time limit to compare results; by words it takes milliseconds."""


Evaluate = Callable[[Answer, str, FoundResults], Awaitable[Answer]]
"""Adds the field `evaluation` to the answer of a query that found these results."""


@asynccontextmanager
async def evaluating(
    context: GatewayContext, plan_id: str, keywords: Sequence[str], evaluate: bool | None
) -> AsyncIterator[Evaluate | None]:
    """Lock the plan of a search, if one is named; yield None if nothing is to be evaluated.

    Raises as `keeping.load` and `locked_plan`.
    """
    named = plan_id.strip()
    adds_evaluation = bool(named or keywords) if evaluate is None else evaluate
    if not (adds_evaluation or named):
        yield None
        return
    root = await run_in_thread(place.root_of, context.settings)
    usual = (await run_in_thread(settings.load, root)).defaults
    async with AsyncExitStack() as stack:
        plan = None
        if named:
            # Fail before waiting if there is no such plan.
            await run_in_thread(keeping.load, root, named)
            await stack.enter_async_context(locked_plan(root, named, MAX_EVALUATION_SECONDS))
            plan = await run_in_thread(keeping.load, root, named)

        async def evaluated(answer: Answer, query: str, found: FoundResults) -> Answer:
            blank = Expected((), (), usual.minMatches, usual.confidence)
            base = plan or QueryPlan("", query, blank, usual.evaluationMode)
            words = tuple(keywords) or base.expected.keywords or goals.keywords(query)
            expected = replace(base.expected, keywords=words)

            async def search(_query: str) -> FoundResults:
                return found

            judged = await loop.run(
                replace(base, expected=expected, waiting=(query,), source=""),
                search,
                more=1,
                seconds=MAX_EVALUATION_SECONDS,
            )
            if plan is not None:
                store = PlanStore(context, root)
                stored = replace(
                    judged,
                    expected=plan.expected,
                    waiting=plan.waiting,
                    source=plan.source,
                    revision="",
                )
                await store.finish(stored, context.forest.config.folder)
                answer = answer.noting(*store.warnings)
            if not adds_evaluation:
                return answer
            last = judged.iterations[-1]
            status = status_of(last.evaluation, expected.confidence)
            evaluation = {
                "status": status,
                **evaluation_data(last.evaluation),
                "feedback": last.feedback,
                "refinements": list(last.refinements),
            }
            line = f"Evaluation: {status}. {visible(last.feedback[:300])}"
            return Answer({**answer.data, "evaluation": evaluation}, f"{line}\n{answer.text}")

        yield evaluated
