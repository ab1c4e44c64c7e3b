"""List the query plans, the last used first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.config import Settings
from code_intel.operations.plans import changed_documents, knowledge_names, plan_listing
from code_intel.planning import outcome
from code_intel.planning.catalog import KeptFile
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import QueryPlan
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.paging import ListPage, place_of_page
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 25


class PlanRow(NamedTuple):
    """A plan of the list.

    Attributes:
        plan: The plan.
        used: When it was last of use, in ISO 8601.
        status: Its status.
        confidence: The confidence of its best query.
        changed: The documents of its results that have changed since.
    """

    plan: QueryPlan
    used: str
    status: str
    confidence: float
    changed: tuple[str, ...]


@dataclass(frozen=True)
class PlanList:
    """A page of the plans.

    Attributes:
        listed: The plans.
        damaged: Files that cannot be read, with the reason.
        pages: How many knowledge pages there are.
    """

    listed: ListPage[PlanRow]
    damaged: Mapping[str, str]
    pages: int


async def show(request: Request) -> Response:
    """Show the list."""
    page = number_of(request, "page") or 1
    found = await run_in_thread(read_plans, project_of(request).settings, page)
    return render(request, "plans/list.html", {"found": found, "address": _address})


def read_plans(settings: Settings, page: int) -> PlanList:
    """Return a page of the plans; this blocks."""
    found = plan_listing(settings)
    plans = found.latest()
    page, pages, start = place_of_page(page, len(plans), PAGE_SIZE)
    rows = [_row(settings, kept) for kept in plans[start : start + PAGE_SIZE]]
    listed = ListPage(rows, page, pages, start, len(plans))
    return PlanList(listed, found.damaged, len(knowledge_names(settings)[0]))


def _row(settings: Settings, kept: KeptFile[QueryPlan]) -> PlanRow:
    plan = kept.content
    return PlanRow(
        plan,
        kept.used,
        outcome.status(plan),
        hundredths(outcome.confidence(plan)),
        changed_documents(settings, plan),
    )


def _address(page: int) -> str:
    return url("/plans", page=page)


ROUTES = (Route("/plans", show),)
