"""Confirm, reject, rename or delete an entry of the map, in two steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.learned.notes.note_status import NoteStatus
from code_intel.learned.recall.candidates import document_of
from code_intel.operations.map.confirm import confirm_agreement, confirm_note_named
from code_intel.operations.map.delete import delete_agreement, delete_note_named
from code_intel.operations.map.preview import Applied, Operation
from code_intel.operations.map.reject import reject_agreement
from code_intel.operations.map.rename import rename_agreement
from code_intel.operations.past_code import past_definition
from code_intel.records import Definition
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.ui.access import form_of
from code_intel.ui.diff import DiffLine, compare
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.map_entries import MapEntry
from code_intel.ui.pages.map.entry_code import SymbolCode, code_of_entry
from code_intel.ui.pages.map.two_steps import (
    Shown,
    Task,
    carried_out_once,
    is_index_older,
    make,
    plan,
    refusal,
    take_back,
)
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.references import reference
from code_intel.ui.rendering import render, url

PATH = "/map/change"
ONE_QUESTION = "one"
"""The scope of a rejection that is for one question; any other one is for all."""
Fields = Mapping[str, str]
"""What a person has filled in."""


@dataclass(frozen=True)
class Change:
    """A kind of change of an entry.

    Attributes:
        name: Its name in addresses and forms.
        key: The key that opens its page.
        title: The title of its page, and of its button.
        done: What was done.
        explained: What it means.
        operation: Returns the operation for an entry and the fields of the form.
        fields: The fields of its form.
        stays: Whether the entry exists after the change.
    """

    name: str
    key: str
    title: str
    done: str
    explained: str
    operation: Callable[[GatewayContext, MapEntry, Fields], Operation]
    fields: tuple[str, ...] = ()
    stays: bool = True


def _confirm(context: GatewayContext, entry: MapEntry, fields: Fields) -> Operation:
    if entry.note:
        return partial(confirm_note_named, context, entry.path.name)
    return partial(confirm_agreement, context, *_pair_of(entry), file=fields["place"])


def _reject(context: GatewayContext, entry: MapEntry, fields: Fields) -> Operation:
    is_for_one = fields["scope"] == ONE_QUESTION
    if is_for_one and not fields["query"]:
        raise UsageError(
            N_("No question is given."),
            hint=N_("Write the question, or choose “for every question”."),
            details={"field": "query"},
        )
    query = fields["query"] if is_for_one else None
    return partial(reject_agreement, context, *_pair_of(entry), query=query)


def _rename(context: GatewayContext, entry: MapEntry, fields: Fields) -> Operation:
    to, term = fields["to"], fields["term"]
    return partial(rename_agreement, context, *_pair_of(entry), to=to, new_term=term)


def _delete(context: GatewayContext, entry: MapEntry, _fields: Fields) -> Operation:
    if entry.note:
        return partial(delete_note_named, context, entry.path.name)
    return partial(delete_agreement, context, *_pair_of(entry))


_CHANGES = (
    Change(
        "confirm",
        "c",
        N_("Confirm"),
        N_("Confirmed. Commit the file to share it."),
        N_("You say that this holds for the code as it is now."),
        _confirm,
        ("place",),
    ),
    Change(
        "reject",
        "r",
        N_("Reject"),
        N_("Rejected. Agents must verify it before they rely on it."),
        N_("Its file stays as it is. Agents must verify it before they rely on it."),
        _reject,
        ("scope", "query"),
    ),
    Change(
        "rename",
        "n",
        N_("Rename"),
        N_("Renamed."),
        N_("The old term stays as another term. Uses and objections are kept."),
        _rename,
        ("to", "term"),
    ),
    Change(
        "delete",
        "d",
        N_("Delete"),
        N_("Moved to the trash."),
        N_("The file is moved to the trash, from which it can be restored."),
        _delete,
        stays=False,
    ),
)
_ABOUT_CODE = frozenset({"confirm", "rename"})
"""The changes that depend on the current code."""
_JUDGED = frozenset({"confirm", "reject"})
"""The changes that say whether the evidence holds, which their page shows."""
CHANGES: Mapping[str, Change] = MappingProxyType({each.name: each for each in _CHANGES})


def changes_of(entry: MapEntry) -> dict[str, Change]:
    """Return the changes that make sense for an entry, the most useful first."""
    return {name: CHANGES[name] for name in _names_of(entry)}


def _names_of(entry: MapEntry) -> list[str]:
    source = entry.source
    if isinstance(source, NoteStatus):
        # code-intel never changes the files of decision records.
        names = ["delete"] if not source.entry.is_record else []
        return names if source.confirmed else ["confirm", *names]
    if source.entry.agreement is None:
        return []
    is_gone = entry.status == "broken" or source.heir is not None
    is_good = source.confirmed and entry.status == "valid"
    first = ["rename"] if is_gone else [] if is_good else ["confirm"]
    rest = ["reject"] if entry.status != "rejected" else []
    return [*first, *rest, *([] if is_gone else ["rename"]), "delete"]


async def show(request: Request) -> Response:
    """Show what a change would do, and what must be filled in."""
    if refused := refusal(request):
        return refused
    given, project = request.query_params, project_of(request)
    change, entry, fields = await _asked(request, given, indexes=False)
    if change.name == "rename" and not any(fields.values()) and not _heir(entry):
        return await _page(request, change, entry, fields)
    try:
        shown = await plan(project, _task(change, entry, fields))
    except (UsageError, NotFoundError) as error:
        older = await run_in_thread(is_index_older, project, entry.files)
        return await _page(request, change, entry, fields, problem=error, is_older=older)
    return await _page(request, change, entry, fields, shown)


@carried_out_once
async def change_entry(request: Request) -> Response:
    """Make a change."""
    change, entry, fields = await _asked(request, form_of(request))
    try:
        made = await make(request, _task(change, entry, fields))
    except (UsageError, NotFoundError) as error:
        return await _page(request, change, entry, fields, problem=error)
    if isinstance(made, Response):
        return made
    return await _page(request, change, entry, fields, made)


def address_after(project: OpenProject, applied: Applied, address: str = "/map") -> str:
    """Return the page of the first entry that a change has written; or else another one."""
    for file in applied.files:
        if not file.is_trash and file.after is not None:
            name = document_of(project.context.map, project.settings.root / file.path)
            return url("/map/entry", file=reference(encodable(name)))
    return address


async def _asked(
    request: Request, given: Mapping[str, str], *, indexes: bool = True
) -> tuple[Change, MapEntry, Fields]:
    change = CHANGES.get(given.get("change", ""))
    if change is None:
        raise NotFoundError("There is no such change.", hint="Use the buttons of an entry.")
    look_up = partial(project_of(request).map_entry, given.get("file", ""), indexes=indexes)
    entry: MapEntry = await run_in_thread(look_up)
    return change, entry, {name: given.get(name, "").strip() for name in change.fields}


def _task(change: Change, entry: MapEntry, fields: Fields) -> Task:
    file = reference(entry.file)
    address = url("/map/entry", file=file)
    return Task(
        title=change.title,
        explained=change.explained,
        done=change.done,
        subject=f"{entry.name} → {entry.symbol}" if entry.symbol else entry.name,
        address=address,
        path=PATH,
        hidden={"change": change.name, "file": file, **_hidden(change, fields)},
        operation=lambda context: change.operation(context, entry, fields),
        after=partial(address_after, address=address if change.stays else "/map"),
        read=entry.paths,
        source=entry.files if change.name in _ABOUT_CODE and entry.agreement else (),
    )


async def _page(
    request: Request,
    change: Change,
    entry: MapEntry,
    fields: Fields,
    shown: Shown | None = None,
    problem: CodeIntelError | None = None,
    *,
    is_older: bool = False,
) -> Response:
    said = None
    if entry.agreement and change.name in _JUDGED:
        evidence, context = entry.agreement.evidence, project_of(request).context
        said = await run_in_thread(code_of_entry, context, entry.symbol, entry.files, evidence)
    code_changes = None
    if said and said.code and entry.status == "changed":
        code_changes = await run_in_thread(_code_changes, project_of(request), entry, said.code)
    data = {
        "code_changes": code_changes,
        "is_index_older": is_older,
        "said": said,
        "change": change,
        "entry": entry,
        "fields": fields,
        "heir": _heir(entry),
        "shown": shown,
        "problem": problem,
        "places": problem.details.get("definitions", ()) if problem else (),
    }
    status = HTTPStatus.CONFLICT if shown and shown.conflict else HTTPStatus.OK
    status = HTTPStatus.BAD_REQUEST if problem else status
    return render(request, "map/change.html", data, status)


def _code_changes(project: OpenProject, entry: MapEntry, code: SymbolCode) -> list[DiffLine]:
    """Return how the code differs from what was agreed on; [] if that is not in the history."""
    digest = entry.agreement.digest if entry.agreement else ""
    if code.hidden or not digest:
        return []
    past = past_definition(project.settings.root, code.file, digest)
    return compare(past.text, "\n".join(line.text for line in code.lines)) if past else []


def _hidden(change: Change, fields: Fields) -> Fields:
    """Return the fields that the form repeats; a rejection, which changes no file, shows them."""
    return {} if change.name == "reject" else fields


def _heir(entry: MapEntry) -> Definition | None:
    return None if isinstance(entry.source, NoteStatus) else entry.source.heir


def _pair_of(entry: MapEntry) -> tuple[str, str]:
    """Return the term and the symbol of an agreement.

    Raises:
        UsageError: The entry is a note, or its file cannot be read.
    """
    if entry.agreement is None:
        raise UsageError(
            "This change is for agreements whose file can be read.",
            hint="Edit the file instead.",
            details={"field": "file"},
        )
    return entry.agreement.nl_term, entry.agreement.symbol


ROUTES = (
    Route(PATH, shown_once(show)),
    Route(PATH, change_entry, methods=["POST"]),
    Route("/map/undo", take_back, methods=["POST"]),
)
