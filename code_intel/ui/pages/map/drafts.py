"""Confirm an agreement that only the draft of a session holds, which writes its file."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import NotFoundError
from code_intel.operations.map.confirm import confirm_agreement
from code_intel.operations.map.drafts import DraftedAgreement, drafted_agreements
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.access import form_of
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.pages.map.changes import address_after
from code_intel.ui.pages.map.entry_code import CodeOfEntry, code_of_entry
from code_intel.ui.pages.map.two_steps import (
    Shown,
    Task,
    carried_out_once,
    make,
    plan,
    refusal,
)
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render, url

PATH = "/map/draft"
REVIEW = "/map/review"


class Drafted(NamedTuple):
    """An agreement of a draft, with the code of its symbol."""

    drafted: DraftedAgreement
    said: CodeOfEntry

    @property
    def address(self) -> str:
        """The page that shows what its confirmation would do."""
        term, symbol = self.drafted.key
        return url(PATH, term=term, symbol=symbol)


def drafts_of(project: OpenProject, limit: int) -> list[Drafted]:
    """Return the agreements of drafts, of the newest draft first, with lines of code."""
    return [
        Drafted(each, _said(project, each, limit)) for each in drafted_agreements(project.settings)
    ]


async def show(request: Request) -> Response:
    """Show what the confirmation of a draft would do."""
    if refused := refusal(request):
        return refused
    task = await _task(request, request.query_params)
    return _page(request, await plan(project_of(request), task))


@carried_out_once
async def confirm(request: Request) -> Response:
    """Confirm a draft."""
    made = await make(request, await _task(request, form_of(request)))
    return made if isinstance(made, Response) else _page(request, made)


async def _task(request: Request, given: Mapping[str, str]) -> Task:
    project, pair = project_of(request), (given.get("term", ""), given.get("symbol", ""))
    found = await run_in_thread(drafted_agreements, project.settings)
    if pair not in {each.key for each in found}:
        raise NotFoundError(
            "No draft has this agreement any more.",
            hint="It was confirmed, dropped or replaced. Look for it in the list.",
            details={"field": "term"},
        )
    term, symbol = pair
    return Task(
        title=N_("Confirm"),
        explained=N_("A session changed this, and recorded no outcome. Its file is written now."),
        done=N_("Confirmed. Commit the file to share it."),
        subject=f"{term} → {symbol}",
        address=REVIEW,
        path=PATH,
        hidden={"term": term, "symbol": symbol},
        operation=lambda context: partial(confirm_agreement, context, term, symbol),
        after=address_after,
        source=[file.path for each in found if each.key == pair for file in each.agreement.files],
    )


def _page(request: Request, shown: Shown) -> Response:
    status = HTTPStatus.CONFLICT if shown.conflict else HTTPStatus.OK
    return render(request, "map/draft.html", {"shown": shown}, status)


def _said(project: OpenProject, drafted: DraftedAgreement, limit: int) -> CodeOfEntry:
    agreement = drafted.agreement
    files = [file.path for file in agreement.files]
    evidence = agreement.evidence
    return code_of_entry(project.context, agreement.symbol, files, evidence, limit)


ROUTES = (Route(PATH, shown_once(show)), Route(PATH, confirm, methods=["POST"]))
