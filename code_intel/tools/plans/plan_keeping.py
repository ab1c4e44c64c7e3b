"""Save a query plan: its file, its knowledge page, its calls in the session.

A failure to save becomes a warning, so that a full disk loses no answer.
"""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import anyio

from code_intel.errors import CodeIntelError
from code_intel.index.cancellation import run_read
from code_intel.index.facade import Index
from code_intel.index.sync import sync_document
from code_intel.planning import keeping, knowledge
from code_intel.planning.records import FoundResults, Iteration, QueryPlan, Result, Search
from code_intel.planning.settings import PlanSettings
from code_intel.session import steps
from code_intel.session.state import Session, Step
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.plans.plan_sources import PlanSource, hit_of
from code_intel.tools.wire.answers import logged_hits
from code_intel.tools.wire.paging import files_to_record

PLAN_SESSION_CHANGED_NOTE = (
    "The session changed during this call, so nothing was recorded in it. Call again."
)
ResultT = TypeVar("ResultT")


@dataclass
class PlanStore:
    """Saves the plan of one call; `warnings` has the failures."""

    context: GatewayContext
    root: Path
    own: PlanSettings
    intermediate: bool = True
    warnings: list[str] = field(default_factory=list)

    async def same(
        self, plan: QueryPlan, source: PlanSource, seconds: float
    ) -> tuple[QueryPlan, str] | None:
        """Return the saved successful plan of equal arguments and index state, with its file.

        Return None if none is found in time, or if the index lacks some of its results, because
        the plan's file may have been edited. Its times are those of the lookup.
        """
        began = anyio.current_time()
        found = None
        with anyio.move_on_after(seconds):
            look = run_read(keeping.same, self.root, plan, plan.revision)
            found = await self._tried("looked up", look)
        if found is None or await self.held(found, source) != found:
            return None
        cached_iterations = tuple(
            replace(each, cached=True, milliseconds=0.0) for each in found.iterations
        )
        took = (anyio.current_time() - began) * 1000
        page = await run_read(knowledge.page_of, self.root, found.goal)
        found = replace(
            found,
            iterations=cached_iterations,
            milliseconds=took,
            knowledge=self._name(page) if page else "",
        )
        return found, self._name(keeping.file_of(self.root, found.id))

    async def held(self, plan: QueryPlan, source: PlanSource) -> QueryPlan:
        """Return a saved plan with only those results that the index still has."""
        return await self._tried("compared with the index", run_read(_held, plan, source)) or plan

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

    async def keep(self, plan: QueryPlan) -> None:
        """Save a plan as it is."""
        await self._tried("saved", run_in_thread(self._save, plan))

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
        path = await self._tried("saved", run_in_thread(self._save, plan))
        return plan, self._name(path) if path else ""

    def _index(self, page: Path) -> None:
        """Index a page for the next search; its vector follows in the background.

        A terminal opens the index read-only, so open it for writing here.
        """
        forest = self.context.forest
        with Index(forest.config) if forest.readonly else nullcontext(forest) as index:
            sync_document(index.store, index.config, page)

    def _save(self, plan: QueryPlan) -> Path:
        return keeping.save(self.root, plan, intermediate=self.intermediate)

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


def _held(plan: QueryPlan, source: PlanSource) -> QueryPlan:
    iterations = tuple(replace(each, results=source.held(each.results)) for each in plan.iterations)
    return replace(plan, iterations=iterations, final=source.held(plan.final))


async def record_calls(
    context: GatewayContext,
    handle: str | None,
    before: Session | None,
    source: PlanSource,
    fresh: Sequence[Iteration],
    shown: Mapping[int, Sequence[Result]],
) -> list[str]:
    """Record the queries in the session as the calls that they stand for; return warnings.

    Args:
        context: The project.
        handle: The session's handle.
        before: The session as it was when the plan began, if there is one.
        source: The index that was searched.
        fresh: The iterations of this call.
        shown: The results in the answer, by the number of their iteration.
    """
    if before is None:
        return []
    calls = [_call(source, each, shown.get(each.number, ())) for each in fresh]

    def judgement(session: Session) -> tuple[list[str], list[Step]]:
        # Results for an earlier phase or query frame are no evidence now.
        if (session.phase_seq, session.frame) != (before.phase_seq, before.frame):
            return [PLAN_SESSION_CHANGED_NOTE], []
        return [], calls

    async with context.session(handle, "gistdex_query_plan") as locked_session:
        return await locked_session.decide(judgement)


def _call(source: PlanSource, iteration: Iteration, shown: Sequence[Result]) -> Step:
    """Return the step of one query, as the tool that it stands for would record it.

    Files and symbols of the map or of another database do not count as this project's source.
    """
    tool, every = source.counts_as, _documents(iteration.results)
    hits = logged_hits(map(hit_of, iteration.results))
    files = {
        "search_forest": every,
        "files_search": files_to_record(every, _documents(shown)),
    }
    seen = {"search_forest": iteration.results, "files_search": shown}.get(tool, ())
    return steps.called(
        tool or "gistdex_query_plan",
        iteration.query,
        ok=not iteration.error,
        found=len(iteration.results),
        files=files.get(tool, ()),
        symbols=[each.symbol for each in seen if each.symbol],
        map_results=hits if tool == "search_map" else None,
        forest_results=hits if tool == "search_forest" else None,
    )


def _documents(results: Sequence[Result]) -> list[str]:
    """Return the documents of results, each once, best first."""
    return list(dict.fromkeys(each.document for each in results))
