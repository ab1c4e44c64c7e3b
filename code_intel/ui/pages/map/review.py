"""List the entries that wait for a person, oldest first, with the code that they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.learned.status.review import CONDITIONS, Reason
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.map_entries import MapEntry
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.map.drafts import drafts_of
from code_intel.ui.pages.map.entry_code import CodeOfEntry, code_of_entry
from code_intel.ui.pages.map.two_steps import notice_of
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 20
MAX_CODE_LINES = 8
REASONS = MappingProxyType(
    {
        "conflicting": N_("merge conflict"),
        "changed": N_("the code has changed"),
        "superseded": N_("superseded"),
        "disputed": N_("someone objects"),
        "unconfirmed": N_("not confirmed yet"),
    }
)
"""What each reason to wait is called."""


class WaitingEntry(NamedTuple):
    """An entry that waits, with its evidence and the first lines of its code."""

    entry: MapEntry
    said: CodeOfEntry


@dataclass(frozen=True)
class Waiting:
    """A page of the entries that wait.

    Attributes:
        rows: The entries of this page.
        total: How many entries wait for the chosen reason.
        counts: How many entries wait, by reason.
        page: The number of the page, from 1.
        pages: The number of pages.
    """

    rows: Sequence[WaitingEntry]
    total: int
    counts: dict[Reason, int]
    page: int
    pages: int


async def show(request: Request) -> Response:
    """Show the entries that wait."""
    reason = request.query_params.get("reason", "")
    page = number_of(request, "page") or 1
    found = await run_in_thread(_read, project_of(request), reason, page)
    drafts = await run_in_thread(drafts_of, project_of(request), MAX_CODE_LINES)

    def address(**changed: object) -> str:
        return url("/map/review", **({"reason": reason} | changed))

    data = {
        "found": found,
        "drafts": drafts,
        "reason": reason,
        "reasons": REASONS,
        "address": address,
        "notice": notice_of(request),
    }
    return render(request, "map/review.html", data)


def _read(project: OpenProject, reason: str, page: int) -> Waiting:
    entries = project.map_entries()
    waiting = [entry for entry in entries.rows if entry.waits_for]
    chosen = [entry for entry in waiting if not reason or reason in entry.waits_for]
    chosen.sort(key=lambda entry: (entry.since, entry.path))
    pages = max(1, -(-len(chosen) // PAGE_SIZE))
    page = min(page, pages)
    rows = [
        WaitingEntry(entry, _said(project, entry))
        for entry in chosen[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    ]
    counts = {each: entries.waiting[each] for each in CONDITIONS if each in entries.waiting}
    return Waiting(rows, len(chosen), counts, page, pages)


def _said(project: OpenProject, entry: MapEntry) -> CodeOfEntry:
    agreement, note = entry.agreement, entry.note
    symbol = entry.symbol or next(iter(note.symbols if note else ()), "")
    said = agreement.evidence if agreement else (note.text,) if note and note.text else ()
    files = entry.files if agreement else ()
    return code_of_entry(project.context, symbol, files, said, MAX_CODE_LINES)


ROUTES = (Route("/map/review", shown_once(show)),)
