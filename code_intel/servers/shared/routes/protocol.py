"""Route the protocol of the shared index: checked JSON in, checked JSON out.

`endpoints` has what the protocol can do; this module reads and writes the bodies.
"""

import threading
import time
from functools import partial
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.routes.endpoints import ENDPOINTS, MAP_ENDPOINTS, Endpoint
from code_intel.servers.shared.services import Caller
from code_intel.shared.deadlines import TIMEOUT_HEADER, time_limit
from code_intel.shared.routes import VERSION
from code_intel.shared.wire import LARGE, SMALL, pack, unpack

MAX_SECONDS = 600.0
"""How long a request may take whose sender does not say how long it waits."""
MAX_DIGITS = 10
_large = threading.BoundedSemaphore(2)
"""Large bodies that are checked at the same time: each may take some hundred megabytes."""


async def _handle(endpoint: Endpoint, caller: Caller, request: Request) -> Response:
    """Answer a request on a worker thread, because the engine blocks."""
    body = await request.body()
    work = partial(_answer, endpoint, caller, body, _end(request))
    data = await to_thread.run_sync(work, limiter=caller.services.threads, abandon_on_cancel=True)
    headers = {"content-encoding": "gzip"}
    return Response(data, headers=headers, media_type="application/json")


def _answer(endpoint: Endpoint, caller: Caller, body: bytes, ends: float) -> bytes:
    question = _question(endpoint, body) if endpoint.verb == "POST" else None
    with time_limit(ends - time.monotonic()):
        return pack(endpoint.answer(caller, question))


def _question(endpoint: Endpoint, body: bytes) -> Any:
    if not endpoint.has_large_body:
        return unpack(body, endpoint.route.question, SMALL)
    with _large:
        return unpack(body, endpoint.route.question, LARGE)


def _end(request: Request) -> float:
    """Return until when the client waits for the answer."""
    text = request.headers.get(TIMEOUT_HEADER, "")
    is_number = text.isascii() and text.isdecimal() and len(text) < MAX_DIGITS
    return time.monotonic() + (int(text) / 1000 if is_number else MAX_SECONDS)


PROTOCOL_ROUTES = tuple(
    ApiRoute(
        each.verb, f"{VERSION}{each.route.path}", partial(_handle, each), pushes=each.has_large_body
    )
    for each in (*ENDPOINTS, *MAP_ENDPOINTS)
)
"""The routes of the protocol."""
