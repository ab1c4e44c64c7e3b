"""List the files in the trash, show one of them, and restore it."""

from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.agreement_body import encodable
from code_intel.chunking.decode import decode
from code_intel.foundation.redaction import masked
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.trash import TrashEntry
from code_intel.operations.map.preview import Operation
from code_intel.operations.map.trash import restore_trashed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import split_lines
from code_intel.ui.access import form_of
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.pages.code import Line, number_of
from code_intel.ui.pages.map.changes import address_after
from code_intel.ui.pages.map.two_steps import (
    Shown,
    Task,
    carried_out_once,
    make,
    notice_of,
    plan,
    refusal,
)
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.references import named, reference
from code_intel.ui.rendering import render

PAGE_SIZE = 50


async def show(request: Request) -> Response:
    """Show the files in the trash, those deleted last first."""
    page = number_of(request, "page") or 1
    data = await run_in_thread(_read, project_of(request), page)
    return render(request, "map/trash.html", data | {"notice": notice_of(request)})


async def show_restoring(request: Request) -> Response:
    """Show what restoring a file would do."""
    if refused := refusal(request):
        return refused
    name = await _named(request, request.query_params.get("name", ""))
    shown = await plan(project_of(request), _restoring(name))
    return _restoring_page(request, shown)


@carried_out_once
async def restore(request: Request) -> Response:
    """Restore a file."""
    name = await _named(request, form_of(request).get("name", ""))
    made = await make(request, _restoring(name))
    return made if isinstance(made, Response) else _restoring_page(request, made)


async def _named(request: Request, given: str) -> str:
    """Return the name in the trash of the file that an address or a form names."""
    found = await run_in_thread(trash.contents, project_of(request).settings)
    return named(given, (encodable(entry.name) for entry in found))


def _restoring(name: str) -> Task:
    return Task(
        title=N_("Restore"),
        explained=N_("The file returns to its place. Nothing is overwritten."),
        done=N_("Restored."),
        subject=name,
        address="/map/trash",
        path="/map/restore",
        hidden={"name": reference(name)},
        operation=partial(_restore, name=name),
        after=address_after,
    )


def _restore(context: GatewayContext, name: str) -> Operation:
    return partial(restore_trashed, context, name)


def _restoring_page(request: Request, shown: Shown) -> Response:
    status = HTTPStatus.CONFLICT if shown.conflict else HTTPStatus.OK
    return render(request, "map/restore.html", {"shown": shown}, status)


async def show_file(request: Request) -> Response:
    """Show the text of a file in the trash."""
    name = await _named(request, request.query_params.get("name", ""))
    data = await run_in_thread(_read_file, project_of(request), name)
    return render(request, "map/trashed.html", data)


def _read(project: OpenProject, page: int) -> dict[str, Any]:
    found = trash.contents(project.settings)[::-1]
    pages = max(1, -(-len(found) // PAGE_SIZE))
    page = min(page, pages)
    rows = [_row(entry) for entry in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]]
    waiting = sum(project.map_entries().waiting.values())
    return {"rows": rows, "total": len(found), "page": page, "pages": pages, "waiting": waiting}


def _read_file(project: OpenProject, name: str) -> dict[str, Any]:
    entry = trash.named(project.settings, name)
    text = masked(decode(entry.read()) or "")
    lines = [Line(number, line) for number, line in enumerate(split_lines(text), 1)]
    return {"row": _row(entry), "lines": lines}


def _row(entry: TrashEntry) -> dict[str, Any]:
    """Return what the pages say of a file in the trash."""
    found = agreements.load(entry.path)
    agreement, note = found.agreement, found.note
    return {
        "name": encodable(entry.name),
        "at": entry.at,
        "origin": encodable(entry.origin),
        "kind": "agreement" if agreement else note.kind if note else "",
        "title": agreement.nl_term if agreement else note.title if note else "",
        "symbol": agreement.symbol if agreement else "",
    }


ROUTES = (
    Route("/map/trash", shown_once(show)),
    Route("/map/trash/file", shown_once(show_file)),
    Route("/map/restore", shown_once(show_restoring)),
    Route("/map/restore", restore, methods=["POST"]),
)
