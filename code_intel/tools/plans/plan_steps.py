"""Evaluate a search of the agent as a step of a query plan, and save it in the plan.

Implements the parameters that seed 003 §3.1 adds to searches: `planId`, `expectedKeywords`,
`evaluateResult`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from code_intel.foundation.text import visible
from code_intel.planning import goals, keeping, loop, place, settings
from code_intel.planning.evaluation import status_of
from code_intel.planning.expectations import Words
from code_intel.planning.records import MAX_KEYWORDS, Expected, FoundResults, Iteration, QueryPlan
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_answers import evaluation_data
from code_intel.tools.plans.plan_keeping import PlanStore
from code_intel.tools.plans.plan_turns import locked_plan

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


@dataclass
class SearchEvaluator:
    """Evaluates the results of one search; without `plan` it saves nothing."""

    context: GatewayContext
    store: PlanStore
    plan: QueryPlan | None
    keywords: Sequence[str]
    adds_evaluation: bool

    async def added_to(self, answer: Answer, query: str, found: FoundResults) -> Answer:
        """Return the answer with the field `evaluation`, and save the search if there is a plan."""
        plan = self.plan or QueryPlan("", query, Expected(()), mode=self._default("evaluationMode"))
        keywords = tuple(self.keywords) or plan.expected.keywords or goals.keywords(query)
        expected = replace(plan.expected, keywords=keywords)
        if self.plan is None:
            expected = replace(
                expected,
                min_matches=self._default("minMatches"),
                confidence=self._default("confidence"),
            )

        async def search(_query: str) -> FoundResults:
            return found

        judged = await loop.run(
            replace(plan, expected=expected, waiting=(query,)),
            search,
            more=1,
            seconds=MAX_EVALUATION_SECONDS,
        )
        if self.plan is not None:
            stored = replace(judged, expected=plan.expected, waiting=plan.waiting, revision="")
            await self.store.finish(stored, self.context.forest.config.folder)
        answer = answer.noting(*self.store.warnings)
        if not self.adds_evaluation:
            return answer
        return _with_evaluation(answer, judged.iterations[-1], expected.confidence)

    def _default(self, key: str) -> Any:
        return getattr(self.store.own.defaults, key)


@asynccontextmanager
async def evaluating(
    context: GatewayContext, plan_id: str, keywords: Sequence[str], evaluate: bool | None
) -> AsyncIterator[SearchEvaluator | None]:
    """Lock the plan of a search, if one is named; yield None if nothing is to be evaluated.

    Raises:
        UsageError: `planId` is not a plan id.
        NotFoundError: There is no such plan.
        BusyError: Another call holds its lock for too long.
    """
    named = plan_id.strip()
    adds_evaluation = bool(named or keywords) if evaluate is None else evaluate
    if not (adds_evaluation or named):
        yield None
        return
    root = await run_in_thread(place.root_of, context.settings)
    own = await run_in_thread(settings.load, root)
    async with AsyncExitStack() as stack:
        plan = None
        if named:
            # Fail before waiting if there is no such plan.
            await run_in_thread(keeping.load, root, named)
            await stack.enter_async_context(locked_plan(root, named, MAX_EVALUATION_SECONDS))
            plan = await run_in_thread(keeping.load, root, named)
        store = PlanStore(context, root, own)
        yield SearchEvaluator(context, store, plan, keywords, adds_evaluation)


def _with_evaluation(answer: Answer, iteration: Iteration, confidence: float) -> Answer:
    status = status_of(iteration.evaluation, confidence)
    evaluation = {
        "status": status,
        **evaluation_data(iteration.evaluation),
        "feedback": iteration.feedback,
        "refinements": list(iteration.refinements),
    }
    line = f"Evaluation: {status}. {visible(iteration.feedback[:300])}"
    return Answer({**answer.data, "evaluation": evaluation}, f"{line}\n{answer.text}")
