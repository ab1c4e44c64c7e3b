"""A search of an agent's own as a step of a query plan: compared with what is expected, and kept.

What seed 003 §3.1 adds to searches: `planId`, `expectedKeywords`, `evaluateResult`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from code_intel.foundation.text import visible
from code_intel.planning import goals, keeping, likeness, loop, place, settings
from code_intel.planning.evaluation import status_of
from code_intel.planning.queries import Key
from code_intel.planning.records import MOST_KEYWORDS, Expected, Found, Iteration, Plan
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer
from code_intel.tools.plans.plan_answers import evaluation_data
from code_intel.tools.plans.plan_inputs import Words
from code_intel.tools.plans.plan_keeping import Shelved
from code_intel.tools.plans.plan_sources import Source
from code_intel.tools.plans.plan_turns import turn

PlanId = Annotated[
    str, Field(max_length=100, description="A query plan that this search is a further query of.")
]
ExpectedKeywords = Annotated[
    Words,
    Field(
        max_length=MOST_KEYWORDS,
        description="What results should speak of; default: as the plan, the query.",
    ),
]
EvaluateResult = Annotated[
    bool | None,
    Field(
        description="Compare results with that; default: when planId or expectedKeywords is given."
    ),
]
SECONDS = 30.0
"""Seconds that comparing may take; by words it takes milliseconds."""


@dataclass
class Judge:
    """What the results of one search are compared with; without `plan` nothing is kept of it."""

    context: GatewayContext
    shelved: Shelved
    plan: Plan | None
    keywords: Sequence[str]
    tells: bool

    async def added_to(self, answer: Answer, query: str, found: Found, name: str) -> Answer:
        """Return the answer with the field `evaluation`, and keep the search if there is a plan."""
        plan = self.plan or Plan("", query, Expected(()), mode=self._default("evaluationMode"))
        keywords = tuple(self.keywords) or plan.expected.keywords or goals.keywords(query)
        expected = replace(plan.expected, keywords=keywords)
        if self.plan is None:
            expected = replace(
                expected,
                min_matches=self._default("minMatches"),
                confidence=self._default("confidence"),
            )

        async def search(_query: str) -> Found:
            return found

        judged = await loop.run(
            replace(plan, expected=expected, waiting=(query,)),
            search,
            more=1,
            seconds=SECONDS,
            likeness=likeness.measure(self.context.embedder) if plan.mode == "semantic" else None,
        )
        if self.plan is not None:
            source = Source(name, search, Key(name, ""), "", self.context.forest.config.folder)
            kept = replace(judged, expected=plan.expected, waiting=plan.waiting, revision="")
            await self.shelved.finish(kept, source)
        answer = answer.noting(*self.shelved.warnings)
        if not self.tells:
            return answer
        return _told(answer, judged.iterations[-1], expected.confidence)

    def _default(self, key: str) -> Any:
        return self.shelved.own.defaults[key]


@asynccontextmanager
async def judging(
    context: GatewayContext, plan_id: str, keywords: Sequence[str], evaluate: bool | None
) -> AsyncIterator[Judge | None]:
    """Hold the plan that a search goes on with, if one is named; None where nothing is to be compared.

    Raises:
        UsageError: `planId` is no id of a plan.
        NotFoundError: There is no such plan.
        BusyError: Another call works on it for too long.
    """
    named = plan_id.strip()
    tells = bool(named or keywords) if evaluate is None else evaluate
    if not (tells or named):
        yield None
        return
    root = await thread(place.root_of, context.settings)
    own = await thread(settings.load, root)
    async with AsyncExitStack() as held:
        plan = None
        if named:
            await thread(keeping.load, root, named)  # what is not there is waited for by nobody
            await held.enter_async_context(turn(context, root, named, SECONDS))
            plan = await thread(keeping.load, root, named)
        shelved = Shelved(context, root, own)
        yield Judge(context, shelved, plan, keywords, tells)


def _told(answer: Answer, iteration: Iteration, confidence: float) -> Answer:
    score = iteration.evaluation.score
    status = status_of(score, confidence)
    told = {
        "status": status,
        **evaluation_data(iteration.evaluation),
        "feedback": iteration.feedback,
        "refinements": list(iteration.refinements),
    }
    line = f"Evaluation: {status}. {visible(iteration.feedback[:300])}"
    return Answer({**answer.data, "evaluation": told}, f"{line}\n{answer.text}")
