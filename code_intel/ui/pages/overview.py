"""Show how current the indexes are, what waits for a person, and what the map was worth."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from code_intel.errors import NotFoundError
from code_intel.learned.history.drafts import read_drafts
from code_intel.learned.history.worth import Worth
from code_intel.learned.proposals.review_file import read_review
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.operations.map.stats import map_worth
from code_intel.operations.sessions import ListedSession, listed_sessions
from code_intel.records import Freshness
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.language import N_
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

LAST_SESSIONS = 5
MAX_WARNINGS = 8
"""Number of warnings that the overview shows."""
EVENT_INTERVAL_S = 1.0
"""Seconds between two looks at the indexes, while a browser shows the overview."""
KEEP_ALIVE_S = 15.0


TASKS: Sequence[tuple[str, str, str]] = (
    ("conflicting", N_("Resolve merge conflicts"), "/map/review?reason=conflicting"),
    ("changed", N_("Check entries whose code has changed"), "/map/review?reason=changed"),
    ("broken", N_("Correct entries whose symbol is gone"), "/map?state=broken"),
    ("disputed", N_("Decide on entries that someone objects to"), "/map/review?reason=disputed"),
    ("superseded", N_("Check entries that another one replaces"), "/map/review?reason=superseded"),
    ("unconfirmed", N_("Confirm new entries"), "/map/review?reason=unconfirmed"),
    ("drafts", N_("Look at sessions without an outcome"), "/sessions?outcome=draft"),
    ("proposals", N_("Review proposals from the git history"), "/map/proposals"),
)
"""What may wait for a person, the most urgent first: its name, what to do, and where."""


class Waiting(NamedTuple):
    """Something that waits for a person: what to do, where, and how many there are."""

    text: str
    address: str
    number: int


@dataclass(frozen=True)
class Overview:
    """What the overview shows besides the indexes.

    Attributes:
        waiting: What waits for a person, the most urgent first.
        entries: How many entries the map has.
        sessions: The sessions that were used last.
        worth: What the map was worth so far.
    """

    waiting: Sequence[Waiting]
    entries: int
    sessions: Sequence[ListedSession]
    worth: Worth


async def overview(request: Request) -> Response:
    """Show the overview."""
    project = project_of(request)
    indexes, found = await run_in_thread(_look, project)
    data = {"indexes": indexes, "update": project.updater.state, "found": found}
    return render(request, "overview.html", data)


async def doctor(request: Request) -> Response:
    """Show the findings of `code-intel doctor` with their remedies."""
    found = project_of(request).installation.state()
    return render(request, "doctor.html", {"found": found, "most": MAX_WARNINGS})


def _look(project: OpenProject) -> tuple[dict[str, Freshness], Overview]:
    return project.freshness(), look(project)


def look(project: OpenProject) -> Overview:
    """Return what the overview shows; this blocks."""
    entries = project.map_entries()
    costs = [each.cost for each in project.session_figures() if each.cost]
    known = [row.source for row in entries.rows if isinstance(row.source, AgreementStatus)]
    counts: dict[str, int] = {
        **{str(reason): number for reason, number in entries.waiting.items()},
        "broken": sum(row.status == "broken" for row in entries.rows),
        "drafts": len(read_drafts(project.settings)),
        "proposals": open_proposals(project),
    }
    return Overview(
        waiting=[Waiting(text, to, counts[name]) for name, text, to in TASKS if counts.get(name)],
        entries=len(entries.rows),
        sessions=listed_sessions(project.settings, LAST_SESSIONS),
        worth=map_worth(project.settings, known, costs),
    )


def open_proposals(project: OpenProject) -> int:
    """Return how many proposals wait for a person."""
    with suppress(NotFoundError):
        return len(read_review(project.settings).items)
    return 0


async def events(request: Request) -> Response:
    """Send the state of the indexes whenever it changes, as server-sent events."""
    return StreamingResponse(
        _changes(request), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


async def update(request: Request) -> Response:
    """Start an update of the indexes."""
    project_of(request).updater.start()
    return RedirectResponse("/", HTTPStatus.SEE_OTHER)


async def _changes(request: Request) -> AsyncIterator[str]:
    """Yield the part of the page about the indexes as an event, whenever it differs."""
    project, last, silent = project_of(request), "", 0.0
    while not await request.is_disconnected():
        found = await run_in_thread(project.freshness)
        data = {"indexes": found, "update": project.updater.state}
        html = bytes(render(request, "parts/freshness.html", data).body).decode()
        if html != last:
            last, silent = html, 0.0
            lines = "".join(f"data: {line}\n" for line in html.split("\n"))
            yield f"event: freshness\n{lines}\n"
        elif silent >= KEEP_ALIVE_S:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(EVENT_INTERVAL_S)
        silent += EVENT_INTERVAL_S


ROUTES = (
    Route("/", overview),
    Route("/doctor", doctor),
    Route("/events", events),
    Route("/update", update, methods=["POST"]),
)
