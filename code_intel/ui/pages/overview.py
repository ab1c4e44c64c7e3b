"""Show how current the indexes are, what waits for a person, and what the map was worth."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from code_intel.errors import NotFoundError
from code_intel.learned.history.worth import Worth
from code_intel.learned.proposals.review_file import read_review
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.review import Reason
from code_intel.operations.doctor import findings_of
from code_intel.operations.map.stats import map_worth
from code_intel.operations.sessions import ListedSession, listed_sessions
from code_intel.records import Freshness
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

LAST_SESSIONS = 5
MAX_WARNINGS = 8
"""Number of warnings that the overview shows."""
EVENT_INTERVAL_S = 1.0
"""Seconds between two looks at the indexes, while a browser shows the overview."""
KEEP_ALIVE_S = 15.0


@dataclass(frozen=True)
class Overview:
    """What the overview shows besides the indexes.

    Attributes:
        waiting: How many entries of the map wait for a person, by reason.
        proposals: How many proposals are open.
        entries: How many entries the map has.
        sessions: The sessions that were used last.
        worth: What the map was worth so far.
    """

    waiting: Mapping[Reason, int]
    proposals: int
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
    project = project_of(request)
    map_service, forest_service = project.services
    embedders = {"map": map_service.embedder, "forest": forest_service.embedder}
    answer = await run_in_thread(findings_of, project.settings, embedders)
    return render(request, "doctor.html", {**answer.data, "most": MAX_WARNINGS})


def _look(project: OpenProject) -> tuple[dict[str, Freshness], Overview]:
    return project.freshness(), look(project)


def look(project: OpenProject) -> Overview:
    """Return what the overview shows; this blocks."""
    entries = project.map_entries()
    costs = [each.cost for each in project.session_figures() if each.cost]
    known = [row.source for row in entries.rows if isinstance(row.source, AgreementStatus)]
    return Overview(
        waiting=entries.waiting,
        proposals=open_proposals(project),
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
