"""Change the map in two steps: show what would change, then make the change if it is still that.

A change is an operation of the terminal with all its arguments. The first step runs it without
writing anything. The second step runs it only if it would still change the same files in the same
way, and if the files of the entry are as they were; otherwise the page shows the new difference.
The first step writes nothing, not even the index; the second one indexes the source first.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from code_intel.errors import ConflictError
from code_intel.learned.files.shown_text import with_lf
from code_intel.operations.map.current import index_words
from code_intel.operations.map.preview import (
    Applied,
    FileChange,
    Operation,
    Preview,
    apply,
    preview,
    undo,
)
from code_intel.tools.context.freshness import changed_files
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.ui.access import form_of
from code_intel.ui.diff import DiffLine, compare
from code_intel.ui.map_cache import Handler
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render
from code_intel.ui.writes import Write

_TIMES = re.compile(r"^learned_at:.*\n", re.MULTILINE)
"""What differs between two previews of the same change."""


@dataclass(frozen=True)
class Task:
    """A change of one thing.

    Attributes:
        title: The title of its page, and of its button.
        explained: What the change means.
        done: What was done, for the notice after it.
        subject: The name of the thing.
        address: The page of the thing, to which a person returns.
        path: The address of the POST.
        hidden: The fields of the POST that identify the change.
        operation: Returns the operation in a context.
        after: Returns the page to show after the change.
        read: The files that a person has read to decide, even if they do not change.
        source: The source files that the change depends on.
    """

    title: str
    explained: str
    done: str
    subject: str
    address: str
    path: str
    hidden: Mapping[str, str]
    operation: Callable[[GatewayContext], Operation]
    after: Callable[[OpenProject, Applied], str]
    read: Sequence[Path] = ()
    source: Sequence[str] = ()


class FileDiff(NamedTuple):
    """The difference of a file; `old_name` differs if the file is renamed."""

    name: str
    old_name: str
    lines: Sequence[DiffLine]


@dataclass(frozen=True)
class Shown:
    """What the page of a change shows.

    Attributes:
        task: The change.
        files: The differences.
        seal: What the POST sends back.
        answer: What the terminal would say.
        data: The data of this answer.
        conflict: Whether something has changed since the difference was shown.
        is_index_older: Whether the change depends on source that is newer than the index.
    """

    task: Task
    files: Sequence[FileDiff]
    seal: str
    answer: str
    data: Mapping[str, Any] = field(default_factory=dict)
    conflict: bool = False
    is_index_older: bool = False


async def plan(project: OpenProject, task: Task, *, conflict: bool = False) -> Shown:
    """Return what a change would do; nothing is written.

    Raises:
        CodeIntelError: The change is not possible.
    """
    context = project.context
    found = await preview(context, task.operation(context), task.read)
    older = await run_in_thread(is_index_older, project, task.source)
    return replace(_shown(task, found, conflict=conflict), is_index_older=older)


def is_index_older(project: OpenProject, files: Sequence[str]) -> bool:
    """Return whether any of the source files has changed since it was indexed; this blocks."""
    return any(True for _ in changed_files(project.context, files))


async def make(request: Request, task: Task) -> Response | Shown:
    """Make a change and go on to its page; if it is not what was shown, return what it is now.

    Raises:
        CodeIntelError: The change is not possible.
    """
    project, context = project_of(request), project_of(request).writing()
    await run_in_thread(index_words, context, lambda _done, _total: None)
    operation = task.operation(context)
    found = await preview(context, operation, task.read)
    if _seal(task, found) != form_of(request).get("seal", ""):
        return _shown(task, found, conflict=True)
    try:
        applied = await apply(context, operation, found.token, task.read)
    except ConflictError:
        return await plan(project, task, conflict=True)
    write = project.writes.add(task.done, task.subject, applied, task.address)
    return redirect(task.after(project, applied), write)


def carried_out_once(handler: Handler) -> Handler:
    """Return a handler of forms that answers a repeated form with the result of the first one."""

    @wraps(handler)
    async def handle(request: Request) -> Response:
        writes, path = project_of(request).writes, request.url.path
        form = form_of(request).get("form", "")
        async with writes.turn:
            if address := writes.result_of(path, form):
                return RedirectResponse(address, HTTPStatus.SEE_OTHER)
            response = await handler(request)
            if form and response.status_code == HTTPStatus.SEE_OTHER:
                writes.keep_result(path, form, response.headers["location"])
            return response

    return handle


@carried_out_once
async def take_back(request: Request) -> Response:
    """Undo a change of this server, and go to the page of what it changed."""
    project = project_of(request)
    write = project.writes.get(form_of(request).get("write", ""))
    if write is None or write.is_undone:
        raise ConflictError(
            "This change cannot be undone any more.",
            hint="The server remembers its last changes while it runs. Make another change.",
        )
    await undo(project.writing(), write.applied)
    project.writes.mark_undone(write.id)
    return redirect(write.address, write)


def redirect(address: str, write: Write) -> Response:
    """Go to a page that shows a notice about a change."""
    joint = "&" if "?" in address else "?"
    return RedirectResponse(f"{address}{joint}write={write.id}", HTTPStatus.SEE_OTHER)


def notice_of(request: Request) -> Write | None:
    """Return the change about which a page has a notice."""
    return project_of(request).writes.get(request.query_params.get("write", ""))


def refusal(request: Request) -> Response | None:
    """Return an error page if the page only reads."""
    if not project_of(request).readonly:
        return None
    what = "This page only reads."
    remedy = "Start `code-intel ui` without `--read-only` to change the map."
    return render(request, "error.html", {"what": what, "remedy": remedy}, HTTPStatus.FORBIDDEN)


def _shown(task: Task, found: Preview, *, conflict: bool) -> Shown:
    answer, data = found.answer.text, found.answer.data
    return Shown(task, diffs_of(found.files), _seal(task, found), answer, data, conflict)


def diffs_of(files: Sequence[FileChange]) -> list[FileDiff]:
    """Return the differences of files, without copies in the trash. Pure.

    A file that is removed while another one is created is a renamed file.
    """
    shown = [each for each in files if not each.is_trash]
    old = [each for each in shown if each.after is None]
    new = [each for each in shown if each.before is None]
    if len(old) == len(new) == 1:
        lines = compare(old[0].before or "", new[0].after or "")
        rest = [each for each in shown if each not in {*old, *new}]
        return [FileDiff(new[0].path, old[0].path, lines), *diffs_of(rest)]
    return [
        FileDiff(each.path, each.path, compare(each.before or "", each.after or ""))
        for each in shown
    ]


def _seal(task: Task, found: Preview) -> str:
    """Return a digest of a change, of what its preview shows, and of the files that were read."""
    fields = (with_lf(text) for field in task.hidden.items() for text in field)
    texts = [
        task.path,
        task.title,
        task.subject,
        *fields,
        found.token,
    ]
    texts += [
        _TIMES.sub("", text or "")
        for each in found.files
        if not each.is_trash
        for text in (each.path, each.before, each.after)
    ]
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
