"""Save a query plan: its file, its knowledge page, its calls in the session.

A failure to save becomes a warning, so that a full disk loses no answer.
"""

from collections.abc import Awaitable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from code_intel.errors import CodeIntelError
from code_intel.index.cancellation import run_read
from code_intel.index.facade import Index
from code_intel.index.sync import sync_document
from code_intel.planning import keeping, knowledge
from code_intel.planning.records import FoundResults, Iteration, QueryPlan, Search
from code_intel.session import steps
from code_intel.session.state import Session, Step
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.plans.plan_sources import PlanSource, hit_of
from code_intel.tools.wire.answers import logged_hits

PLAN_SESSION_CHANGED_NOTE = (
    "The session changed during this call, so nothing was recorded in it. Call again."
)
ResultT = TypeVar("ResultT")


@dataclass
class PlanStore:
    """Saves the plan of one call; `warnings` has the failures."""

    context: GatewayContext
    root: Path
    intermediate: bool = True
    warnings: list[str] = field(default_factory=list)

    async def same(
        self, plan: QueryPlan, source: PlanSource, more: int
    ) -> tuple[QueryPlan, str] | None:
        """Return the saved plan of equal arguments and index state, with its file.

        Return None without one, or if the index lacks some of its results, because the plan's
        file may have been edited. Its times are those of the lookup.
        """
        began = anyio.current_time()
        look = run_read(keeping.same, self.root, plan, more)
        found = await self._tried("looked up", look)
        if found is None or await self.held(found, source) != found:
            return None
        page = await run_read(knowledge.page_of, self.root, found.goal)
        found = replace(
            found,
            iterations=tuple(
                replace(each, cached=True, milliseconds=0.0) for each in found.iterations
            ),
            milliseconds=(anyio.current_time() - began) * 1000,
            knowledge=self._name(page) if page else "",
        )
        return found, self._name(keeping.file_of(self.root, found.id))

    async def held(self, plan: QueryPlan, source: PlanSource) -> QueryPlan:
        """Return a saved plan with only those results that the index still has."""

        def compared() -> QueryPlan:
            rows = [replace(each, results=source.held(each.results)) for each in plan.iterations]
            return replace(plan, iterations=tuple(rows), final=source.held(plan.final))

        return await self._tried("compared with the index", run_read(compared)) or plan

    def cached(self, source: PlanSource, plan: QueryPlan) -> Search:
        """Return a search that uses what earlier plans found in this state of the index."""

        async def ask(query: str) -> FoundResults:
            look = run_read(keeping.results_of, self.root, plan, query)
            known = await self._tried("compared with earlier plans", look)
            # The file of a plan may have been edited.
            if known and await run_read(source.held, known) == known:
                return FoundResults(known, cached=True)
            return await source.search(query)

        return ask

    async def keep(self, plan: QueryPlan) -> Path | None:
        """Save a plan as it is; return its file, None if that failed."""
        save = partial(keeping.save, self.root, plan, intermediate=self.intermediate)
        return await self._tried("saved", run_in_thread(save))

    async def finish(self, plan: QueryPlan, folder: Path) -> tuple[QueryPlan, str]:
        """Save a plan's results as knowledge, then the plan; return it and the name of its file.

        A failed plan leaves no page. `folder` is the one that documents are relative to.
        """
        page = await self._tried(
            "saved as a knowledge page",
            run_in_thread(knowledge.write, self.root, plan, folder),
        )
        plan = replace(plan, knowledge=self._name(page) if page else "")
        page = page or await self._tried(
            "removed from the knowledge pages", run_in_thread(knowledge.remove, self.root, plan)
        )
        if page:
            await self._tried("indexed (the next sync does it)", run_in_thread(self._index, page))
        path = await self.keep(plan)
        return plan, self._name(path) if path else ""

    def _index(self, page: Path) -> None:
        """Index a page for the next search; its vector follows in the background.

        A terminal opens the index read-only, so open it for writing here.
        """
        forest = self.context.forest
        with Index(forest.config) if forest.readonly else nullcontext(forest) as index:
            sync_document(index.store, index.config, page)

    async def _tried(self, what: str, work: Awaitable[ResultT]) -> ResultT | None:
        try:
            return await work
        except CodeIntelError as error:
            warning = f"The plan was not {what}: {error.message} {error.hint}"
            if warning not in self.warnings:
                self.warnings.append(warning)
        return None

    def _name(self, path: Path) -> str:
        """Return a path relative to the project; unchanged if it is outside."""
        inside = path.is_relative_to(self.context.root)
        return path.relative_to(self.context.root).as_posix() if inside else str(path)


async def record_calls(
    context: GatewayContext,
    handle: str | None,
    before: Session | None,
    source: PlanSource,
    fresh: Sequence[Iteration],
) -> list[str]:
    """Record the queries of this call in the session; return warnings.

    `before` is the session as it was when the plan began, if there is one.
    """
    if before is None:
        return []

    def judgement(session: Session) -> tuple[list[str], list[Step]]:
        # Results for an earlier phase or query frame are no evidence now.
        if (session.phase_seq, session.frame) != (before.phase_seq, before.frame):
            return [PLAN_SESSION_CHANGED_NOTE], []
        return [], [_call(source.counts_as, each) for each in fresh]

    async with context.session(handle, "gistdex_query_plan") as locked_session:
        return await locked_session.decide(judgement)


def _call(tool: str, iteration: Iteration) -> Step:
    """Return the step of one query, as the tool that it stands for would record it.

    Files and symbols of the map or of another database do not count as this project's source.
    """
    results = iteration.results if tool in {"search_forest", "files_search"} else ()
    hits = logged_hits(map(hit_of, iteration.results))
    return steps.called(
        tool or "gistdex_query_plan",
        iteration.query,
        ok=not iteration.error,
        found=len(iteration.results),
        files=[each.document for each in results],
        symbols=[each.symbol for each in results if each.symbol],
        map_results=hits if tool == "search_map" else None,
        forest_results=hits if tool == "search_forest" else None,
    )
