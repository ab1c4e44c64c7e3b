"""What a query plan leaves: its file, its page of knowledge, the answers of its queries, its calls in a session.

Whatever cannot be kept is a warning: an answer is never lost to a full disk.
"""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import anyio

from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.index.sync import sync_document
from code_intel.index.waiting import reading
from code_intel.planning import keeping, knowledge, outcome, queries
from code_intel.planning.records import Iteration, Plan, Result, Search
from code_intel.planning.settings import PlanSettings
from code_intel.session import steps
from code_intel.session.state import Session, Step
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.plans.plan_sources import Source, documents_of, hit_of
from code_intel.tools.wire.answers import logged_hits
from code_intel.tools.wire.paging import files_shown

MOVED = "The session went on while this ran, so nothing of it was noted there: ask again."
T = TypeVar("T")


@dataclass
class Shelved:
    """Where the plan of one call is kept; `warnings` says what could not be."""

    context: GatewayContext
    root: Path
    own: PlanSettings
    intermediate: bool = True
    warnings: list[str] = field(default_factory=list)

    async def same(self, plan: Plan, source: Source, seconds: float) -> Plan | None:
        """Return a kept successful plan that asked the same of the same state of the index, if one is found in time.

        None of what anybody else may have written into its file: the index has all that it found. Its times are
        those of looking it up.
        """
        began = anyio.current_time()
        found = None
        with anyio.move_on_after(seconds):
            look = reading(keeping.same, self.root, plan, plan.revision)
            found = await self._tried("looked up", look)
        if found is None or await self.held(found, source) != found:
            return None
        known = tuple(replace(each, cached=True, milliseconds=0.0) for each in found.iterations)
        took = (anyio.current_time() - began) * 1000
        return replace(found, iterations=known, milliseconds=took)

    async def held(self, plan: Plan, source: Source) -> Plan:
        """Return a kept plan with those of its results alone that the index has now."""
        return await self._tried("compared with the index", reading(_held, plan, source)) or plan

    def cached(self, source: Source) -> Search:
        """Return a search that asks for nothing again that is known of this state of the index."""
        return queries.cached(self.root, source.search, source.key, source.held)

    async def keep(self, plan: Plan) -> None:
        """Keep a plan as it is."""
        await self._tried("kept", thread(self._save, plan))

    async def finish(self, plan: Plan, source: Source) -> tuple[Plan, str]:
        """Keep what a plan found as knowledge, and then the plan; return it, and the name of its file."""
        if source.key.revision:
            work = thread(queries.note, self.root, source.key, plan)
            await self._tried("noted with its queries", work)
        if outcome.status(plan) != "failed":
            page = await self._tried(
                "written down", thread(knowledge.write, self.root, plan, source.folder)
            )
            if page is not None:
                plan = replace(plan, knowledge=self._name(page))
                await self._tried("indexed before the next sync", thread(self._index, page))
        path = await self._tried("kept", thread(self._save, plan))
        return plan, self._name(path) if path else ""

    def _index(self, page: Path) -> None:
        """Let the next search find a page; its vector is made in the background.

        A terminal looks into indexes that it does not write; a page is written all the same.
        """
        forest = self.context.forest
        with Index(forest.config) if forest.readonly else nullcontext(forest) as index:
            sync_document(index.store, index.config, page)

    def _save(self, plan: Plan) -> Path:
        return keeping.save(self.root, plan, intermediate=self.intermediate)

    async def _tried(self, what: str, work: Awaitable[T]) -> T | None:
        try:
            return await work
        except CodeIntelError as error:
            warning = f"The plan was not {what}: {error.message} {error.hint}"
            if warning not in self.warnings:
                self.warnings.append(warning)
        return None

    def _name(self, path: Path) -> str:
        """Return a path relative to the project, or as it is outside of it."""
        inside = path.is_relative_to(self.context.root)
        return path.relative_to(self.context.root).as_posix() if inside else str(path)


def _held(plan: Plan, source: Source) -> Plan:
    iterations = tuple(
        replace(each, results=tuple(source.held(each.results))) for each in plan.iterations
    )
    return replace(plan, iterations=iterations, final=tuple(source.held(plan.final)))


async def noted(
    context: GatewayContext,
    handle: str | None,
    before: Session | None,
    source: Source,
    fresh: Sequence[Iteration],
    shown: Mapping[int, Sequence[Result]],
) -> list[str]:
    """Note in the session what was searched, as the calls that the queries stand for; return what went wrong.

    Args:
        context: The project.
        handle: Of the session, or None.
        before: The session as it was when the plan began.
        source: What was asked.
        fresh: The iterations of this call.
        shown: By the number of an iteration, those of its results that the answer has.
    """
    if before is None:
        return []
    calls = [_call(source, each, shown.get(each.number, ())) for each in fresh]

    def judgement(session: Session) -> tuple[list[str], list[Step]]:
        # What was found for another phase or another frame is evidence for neither.
        if (session.phase_seq, session.frame) != (before.phase_seq, before.frame):
            return [MOVED], []
        return [], calls

    async with context.session(handle, "gistdex_query_plan") as held:
        return await held.decide(judgement)


def _call(source: Source, iteration: Iteration, shown: Sequence[Result]) -> Step:
    """Return the note of one query: what the tool that it stands for would have noted.

    Of another database and of the map no file and no symbol counts: those are not this project's source.
    """
    found = logged_hits(map(hit_of, iteration.results))
    if source.counts_as not in {"search_forest", "files_search"}:
        return steps.called(
            source.counts_as or "gistdex_query_plan",
            iteration.query,
            ok=not iteration.error,
            found=len(iteration.results),
            map_results=found if source.counts_as == "search_map" else None,
        )
    guessed = source.counts_as == "search_forest"
    every = documents_of(iteration.results)
    seen = iteration.results if guessed else shown
    return steps.called(
        source.counts_as,
        iteration.query,
        ok=not iteration.error,
        found=len(iteration.results),
        files=every if guessed else files_shown(every, documents_of(shown)),
        symbols=[each.symbol for each in seen if each.symbol],
        forest_results=found if guessed else None,
    )
