"""Show the course of one query plan: its queries, their metrics, and what each query added."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.operations.plans import (
    KnowledgePage,
    is_of_project,
    knowledge_pages,
    load_plan,
    plan_file,
)
from code_intel.operations.standing import Standing
from code_intel.planning import outcome
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import MAP_SOURCE, Iteration, QueryPlan, Result
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import project_path_of
from code_intel.ui.current_files import CurrentFiles
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render


@dataclass(frozen=True)
class ShownResult:
    """A result, and where it stands now.

    Attributes:
        result: The result.
        file: Its file, relative to the project; empty if the page cannot show it.
        entry: Its file in the map, if the plan searched the map.
        standing: Where its text stands now; None if it is not kept or not in this project.
    """

    result: Result
    file: str
    entry: str
    standing: Standing | None


@dataclass(frozen=True)
class Query:
    """A query of a plan, with its numbers in hundredths, so that all show them alike.

    Attributes:
        iteration: The query and its results.
        confidence: The chance that its first result is right.
        score: How well its results fit the expectations.
        metrics: The six metrics, in their order.
        results: The results.
        added: The files of the final results that it was the first to find.
    """

    iteration: Iteration
    confidence: float
    score: float
    metrics: tuple[float, ...]
    results: Sequence[ShownResult]
    added: Sequence[ShownResult]

    @property
    def number(self) -> int:
        """Its number in the plan."""
        return self.iteration.number


@dataclass(frozen=True)
class PlanPage:
    """What the page of a plan shows.

    Attributes:
        plan: The plan.
        status: Its status.
        confidence: The confidence of its best query.
        queries: Its queries.
        final: Its final results.
        finders: The number of the query that first found each document.
        met: What of the expectations was found, and what was not.
        page: Its knowledge page, if it is still the page of this plan.
        saved: The file of the plan.
    """

    plan: QueryPlan
    status: str
    confidence: float
    queries: Sequence[Query]
    final: Sequence[ShownResult]
    finders: Mapping[str, int]
    met: tuple[tuple[str, ...], tuple[str, ...]]
    page: KnowledgePage | None
    saved: str

    @property
    def notes(self) -> Sequence[str]:
        """What was missing in searches, each once."""
        return list(dict.fromkeys(note for each in self.plan.iterations for note in each.degraded))

    @property
    def changed(self) -> int:
        """How many final results have changed since."""
        return sum(
            each.standing is not None and each.standing.state in {"changed", "gone"}
            for each in self.final
        )


async def show(request: Request) -> Response:
    """Show a plan."""
    context = project_of(request).context
    found = await run_in_thread(read_plan, context, request.path_params["id"])
    return render(request, "plans/show.html", {"found": found, "plan": found.plan})


def read_plan(context: GatewayContext, text: str) -> PlanPage:
    """Return what is to be shown of the plan with an id, or the beginning of one; this blocks.

    Raises:
        NotFoundError: No plan matches.
        UsageError: Several plans match.
        StorageError: The plan is damaged.
    """
    plan = load_plan(context.settings, text)
    files = CurrentFiles(context)
    final = [_shown(context, files, plan, each) for each in plan.final]
    by_document = {each.result.document: each for each in final}
    rows = zip(plan.iterations, outcome.added(plan), strict=True)
    finders = {
        document: each.number
        for each, added in zip(plan.iterations, outcome.added(plan), strict=True)
        for document in added
    }
    return PlanPage(
        plan,
        outcome.status(plan),
        hundredths(outcome.confidence(plan)),
        [
            Query(
                each,
                hundredths(each.evaluation.confidence),
                hundredths(each.evaluation.score),
                tuple(map(hundredths, each.evaluation.metrics)),
                [_shown(context, files, plan, result) for result in each.results],
                [by_document[document] for document in added],
            )
            for each, added in rows
        ],
        final,
        finders,
        outcome.met(plan),
        _page_of(context, plan),
        str(plan_file(context.settings, plan)),
    )


def _shown(
    context: GatewayContext, files: CurrentFiles, plan: QueryPlan, result: Result
) -> ShownResult:
    if not is_of_project(plan) or Path(result.document).is_absolute():
        return ShownResult(result, "", "", None)
    file = project_path_of(context, result.document)
    entry = result.document if plan.source == MAP_SOURCE else ""
    has_text = bool(result.text.strip())
    standing = files.quoted(file, result.text, result.start_line) if has_text else None
    return ShownResult(result, file, entry, standing)


def _page_of(context: GatewayContext, plan: QueryPlan) -> KnowledgePage | None:
    """Return the knowledge page of a plan; None if it is missing or of a later plan."""
    found = knowledge_pages(context.settings, [Path(plan.knowledge).name])
    return next((page for page in found if page.front.plan_id == plan.id), None)


ROUTES = (Route("/plans/{id}", show),)
