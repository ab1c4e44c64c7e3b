"""Review the proposals of `code-intel map propose`, one at a time."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.learned.proposals.review_file import Review, ReviewItem, read_review
from code_intel.learned.recording import recorded
from code_intel.operations.map.preview import Applied, Operation
from code_intel.operations.map.proposals import confirm_proposal, edited, refuse_proposal
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.ui.access import form_of
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.map.entry_code import CodeOfEntry, code_of_entry
from code_intel.ui.pages.map.two_steps import (
    Shown,
    Task,
    carried_out_once,
    make,
    notice_of,
    plan,
    redirect,
)
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render, url

PATH = "/map/proposals"
MAX_CODE_LINES = 40


@dataclass(frozen=True)
class Turn:
    """The proposal whose turn it is.

    Attributes:
        item: The proposal, as a person has edited it.
        position: Its position among the open ones, from 1.
        total: How many are open.
        before: The number of the one before it; 0 if it is the first.
        after: The number of the next one; 0 if it is the last.
    """

    item: ReviewItem
    position: int
    total: int
    before: int
    after: int


async def show(request: Request) -> Response:
    """Show a proposal with its code, evidence and sources."""
    given = request.query_params
    number = number_of(request, "number")
    try:
        turn = await run_in_thread(_turn, project_of(request), number, given)
    except UsageError as error:
        turn = await run_in_thread(_turn, project_of(request), number, {})
        return await _page(request, turn, problem=error)
    shown, problem = None, None
    if turn and not project_of(request).readonly:
        try:
            shown = await plan(project_of(request), _task(turn, given))
        except CodeIntelError as error:  # for example, its symbol is gone
            problem = error
    return await _page(request, turn, shown, problem)


@carried_out_once
async def accept(request: Request) -> Response:
    """Add a proposal as an agreement and confirm it."""
    form, project = form_of(request), project_of(request)
    turn = await run_in_thread(_turn, project, _number(form), form)
    if turn is None or turn.item.number != _number(form):
        raise _gone()
    made = await make(request, _task(turn, form))
    return made if isinstance(made, Response) else await _page(request, turn, made)


@carried_out_once
async def refuse(request: Request) -> Response:
    """Refuse a proposal for good."""
    form, project = form_of(request), project_of(request)
    turn = await run_in_thread(_turn, project, _number(form), {})
    if turn is None or turn.item.number != _number(form):
        raise _gone()
    if form.get("item") != _digest(turn.item):  # a new search has numbered others
        return await _page(request, turn, is_other=True)
    with recorded() as recording:
        await refuse_proposal(project.writing(), turn.item.number)
    write = project.writes.add(
        N_("Refused. It will not be proposed again."),
        _pair(turn.item),
        Applied(Answer({}, ""), (), recording),
        url(PATH, number=turn.item.number),
    )
    return redirect(url(PATH, number=turn.after or ""), write)


def _turn(project: OpenProject, number: int, given: Mapping[str, str]) -> Turn | None:
    """Return a proposal, or the first one that is not before its number; None if none is open.

    Raises:
        UsageError: The term or the sentence that a person gave is invalid.
    """
    try:
        items = read_review(project.settings).items
    except NotFoundError:
        items = Review().items
    if not items:
        return None
    at = next((at for at, item in enumerate(items) if item.number >= number), len(items) - 1)
    item = items[at]
    term, sentence = given.get("term", "").strip(), given.get("sentence", "").strip()
    if term or sentence:
        item = edited(item, term, sentence)
    return Turn(
        item,
        at + 1,
        len(items),
        items[at - 1].number if at else 0,
        items[at + 1].number if at + 1 < len(items) else 0,
    )


def _confirm(context: GatewayContext, item: ReviewItem) -> Operation:
    return partial(confirm_proposal, context, item)


def _digest(item: ReviewItem) -> str:
    """Return a digest of what a proposal says; its number is reused by the next search."""
    said = item.agreement
    texts = (said.nl_term, said.symbol, *(file.path for file in said.files), *said.evidence)
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _task(turn: Turn, given: Mapping[str, str]) -> Task:
    changed = {name: given.get(name, "").strip() for name in ("term", "sentence")}
    return Task(
        title=N_("Yes, add and confirm it"),
        explained=N_("You say that this holds for the code as it is now."),
        done=N_("Added and confirmed. Commit the file to share it."),
        subject=_pair(turn.item),
        address=url(PATH, number=turn.item.number),
        path=PATH,
        hidden={"number": str(turn.item.number), "item": _digest(turn.item), **changed},
        operation=partial(_confirm, item=turn.item),
        after=lambda _project, _applied: url(PATH, number=turn.after or ""),
        source=[file.path for file in turn.item.agreement.files],
    )


async def _page(
    request: Request,
    turn: Turn | None,
    shown: Shown | None = None,
    problem: CodeIntelError | None = None,
    *,
    is_other: bool = False,
) -> Response:
    project = project_of(request)
    said = await run_in_thread(_said, project, turn.item) if turn else None
    entries = await run_in_thread(project.map_entries)
    if is_other and turn:
        shown = await plan(project, _task(turn, {}), conflict=True)
    edits = bool(request.query_params.get("edit")) or isinstance(problem, UsageError)
    data: dict[str, Any] = {
        "turn": turn,
        "item_digest": _digest(turn.item) if turn else "",
        "said": said,
        "shown": shown,
        "problem": problem,
        "edits": edits and not project.readonly,
        "waiting": sum(entries.waiting.values()),
        "notice": None if edits else notice_of(request),
    }
    status = HTTPStatus.CONFLICT if shown and shown.conflict else HTTPStatus.OK
    status = HTTPStatus.BAD_REQUEST if isinstance(problem, UsageError) else status
    return render(request, "map/proposals.html", data, status)


def _said(project: OpenProject, item: ReviewItem) -> CodeOfEntry:
    agreement = item.agreement
    files = [file.path for file in agreement.files]
    return code_of_entry(
        project.context, agreement.symbol, files, agreement.evidence, MAX_CODE_LINES
    )


def _pair(item: ReviewItem) -> str:
    return f"{item.agreement.nl_term} → {item.agreement.symbol}"


def _number(form: Mapping[str, str]) -> int:
    text = form.get("number", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004 - digits


def _gone() -> NotFoundError:
    return NotFoundError(
        "This proposal is not open any more.", hint="Another window or a new search has closed it."
    )


ROUTES = (
    Route(PATH, shown_once(show)),
    Route(PATH, accept, methods=["POST"]),
    Route(f"{PATH}/refuse", refuse, methods=["POST"]),
)
