"""Edit the file of an entry, and resolve a merge conflict in it.

The text is shown as a difference first, and is written only if it can be read as an agreement or a
note. A conflict shows both sides; each can be kept, or the text that combines them edited.
"""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.agreement import AgreementProblem, notes_of
from code_intel.chunking.agreement import render as render_agreement
from code_intel.errors import ConflictError, NotFoundError, UsageError
from code_intel.foundation.text import visible
from code_intel.learned.files.agreements import key_of, relative
from code_intel.learned.files.conflict import Sides
from code_intel.learned.files.edit import SideName
from code_intel.learned.files.merge_agreements import merge, when
from code_intel.learned.files.shown_text import with_lf
from code_intel.learned.notes.note_status import NoteStatus
from code_intel.operations.map.edit import conflict_of, edit_agreement, file_of, keep_side_of
from code_intel.operations.map.preview import Operation
from code_intel.records import Language
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.ui.access import form_of
from code_intel.ui.diff import compare, side_by_side
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.map_entries import MapEntry
from code_intel.ui.pages.map.changes import address_after
from code_intel.ui.pages.map.two_steps import Task, carried_out_once, make, plan, refusal
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.references import reference
from code_intel.ui.rendering import render, url

PATH = "/map/edit"
SIDES: Mapping[str, SideName] = MappingProxyType({"ours": "ours", "theirs": "theirs"})
"""The sides of a conflict by their names in forms."""
CHECK = "check"
"""The step that shows the difference; the other one writes the text."""


def is_editable(entry: MapEntry) -> bool:
    """Return whether the page may change the file: code-intel never changes decision records."""
    return not (isinstance(entry.source, NoteStatus) and entry.source.entry.is_record)


async def show(request: Request) -> Response:
    """Show the text of a file in an editor, and the sides of a conflict."""
    if refused := refusal(request):
        return refused
    project = project_of(request)
    entry = (await run_in_thread(project.map_entries)).named(request.query_params.get("file", ""))
    return await _editor(request, entry)


@carried_out_once
async def edit(request: Request) -> Response:
    """Show what a new text or a side of a conflict changes, or write it."""
    form, project = form_of(request), project_of(request)
    entry = (await run_in_thread(project.map_entries)).named(form.get("file", ""))
    text, digest = visible(with_lf(form.get("text", "")), keep="\n\t"), form.get("digest", "")
    task = _task(project, entry, digest, text, form.get("side", ""))
    try:
        if form.get("step") == CHECK:
            shown = await plan(project, task)
            data = {"entry": entry, "shown": shown, "text": text}
            return render(request, "map/edited.html", data)
        made = await make(request, task)
    except ConflictError:
        return await _editor(request, entry, text, is_stale=True)
    except UsageError as error:
        return await _editor(request, entry, text, problem=error)
    if isinstance(made, Response):
        return made
    data = {"entry": entry, "shown": made, "text": text}
    return render(request, "map/edited.html", data, HTTPStatus.CONFLICT)


def merged_text(sides: Sides, language: Language) -> str:
    """Return a text that combines both sides; empty if they say different things.

    It has the evidence, the files and the aliases of both, and the other fields of the newer one.
    """
    ours, theirs = sides.ours.entry.agreement, sides.theirs.entry.agreement
    if ours is None or theirs is None or key_of(ours) != key_of(theirs):
        return ""
    newer_first = sorted((ours, theirs), key=lambda each: when(each.learned_at), reverse=True)
    return render_agreement(
        merge(newer_first), notes=notes_of(sides.ours.text, language), language=language
    )


def _task(project: OpenProject, entry: MapEntry, digest: str, text: str, side: str) -> Task:
    """Return the change to a text, or to one of the `SIDES`."""
    address = url("/map/entry", file=reference(entry.file))
    name = relative(project.settings.agreements, entry.path)

    def operation(context: GatewayContext) -> Operation:
        if side in SIDES:
            return partial(keep_side_of, context, name, SIDES[side], digest)
        return partial(edit_agreement, context, name, text, digest)

    new = {"side": side} if side in SIDES else {"text": text}
    saved = N_("Saved. An agreement that was confirmed must be confirmed again.")
    merged = N_("Saved. Run `git add` on the file, so that git takes the conflict as resolved.")
    return Task(
        title=N_("Save"),
        explained=N_("An agreement that was confirmed must be confirmed again."),
        done=merged if entry.status == "conflict" else saved,
        subject=entry.name,
        address=address,
        path=PATH,
        hidden={"file": reference(entry.file), "digest": digest, **new},
        operation=operation,
        after=partial(address_after, address=address),
        read=[entry.path],
    )


async def _editor(
    request: Request,
    entry: MapEntry,
    text: str = "",
    *,
    problem: UsageError | None = None,
    is_stale: bool = False,
) -> Response:
    data = await run_in_thread(_read, project_of(request), entry)
    data |= {"entry": entry, "problem": problem, "is_stale": is_stale, "compared": ()}
    if text:
        data |= {"compared": compare(data["text"], text), "text": text}
    status = HTTPStatus.CONFLICT if is_stale else HTTPStatus.OK
    status = HTTPStatus.BAD_REQUEST if problem else status
    return render(request, "map/edit.html", data, status)


def _read(project: OpenProject, entry: MapEntry) -> dict[str, Any]:
    context = project.context
    name = relative(project.settings.agreements, entry.path)
    found = file_of(context, name)
    data: dict[str, Any] = {"digest": found.digest, "text": found.shown, "sides": ()}
    try:
        sides = conflict_of(context, name).sides
    except NotFoundError:
        return data
    try:
        merged = merged_text(sides, project.settings.language)
    except AgreementProblem:
        merged = ""
    left, right = side_by_side(sides.ours.text, sides.theirs.text)
    data["sides"] = (
        (N_("This branch"), "ours", sides.ours, left),
        (N_("The other branch"), "theirs", sides.theirs, right),
    )
    data["is_merged"] = bool(merged)
    return data | {"text": visible(with_lf(merged), keep="\n\t") or data["text"]}


ROUTES = (Route(PATH, shown_once(show)), Route(PATH, edit, methods=["POST"]))
