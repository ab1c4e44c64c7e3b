"""Show how current the indexes are, what waits for a person, and what the map was worth."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from code_intel.records import Freshness
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

EVENT_INTERVAL_S = 1.0
"""Seconds between two looks at the indexes, while a browser shows the overview."""
KEEP_ALIVE_S = 15.0


async def overview(request: Request) -> Response:
    """Show the overview."""
    found = await run_in_thread(freshness, project_of(request))
    return render(request, "overview.html", {"indexes": found, "update": _update(request)})


async def events(request: Request) -> Response:
    """Send the state of the indexes whenever it changes, as server-sent events."""
    return StreamingResponse(
        _changes(request), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


async def update(request: Request) -> Response:
    """Start an update of the indexes."""
    project_of(request).updater.start()
    return RedirectResponse("/", HTTPStatus.SEE_OTHER)


def freshness(project: OpenProject) -> dict[str, Freshness]:
    """Return the state of both indexes."""
    return {service.index.config.corpus: service.freshness(()) for service in project.services}


async def _changes(request: Request) -> AsyncIterator[str]:
    """Yield the part of the page about the indexes as an event, whenever it differs."""
    last, silent = "", 0.0
    while not await request.is_disconnected():
        found = await run_in_thread(freshness, project_of(request))
        data = {"indexes": found, "update": _update(request)}
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


def _update(request: Request) -> object:
    return project_of(request).updater.state


ROUTES = (
    Route("/", overview),
    Route("/events", events),
    Route("/update", update, methods=["POST"]),
)
