"""Route the protocol of the shared index: checked JSON in, checked JSON out.

`endpoints` has what the protocol can do; this module reads and writes the bodies.
"""

from functools import partial

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.routes.endpoints import ENDPOINTS, MAP_ENDPOINTS, Endpoint
from code_intel.servers.shared.services import Caller
from code_intel.shared.routes import VERSION
from code_intel.shared.wire import pack, unpack


async def _handle(endpoint: Endpoint, caller: Caller, request: Request) -> Response:
    """Answer a request on a worker thread, because the engine blocks."""
    body = await request.body()
    work = partial(_answer, endpoint, caller, body)
    data = await to_thread.run_sync(work, limiter=caller.services.threads, abandon_on_cancel=True)
    headers = {"content-encoding": "gzip"}
    return Response(data, headers=headers, media_type="application/json")


def _answer(endpoint: Endpoint, caller: Caller, body: bytes) -> bytes:
    question = unpack(body, endpoint.route.question) if endpoint.verb == "POST" else None
    return pack(endpoint.answer(caller, question))


PROTOCOL_ROUTES = tuple(
    ApiRoute(
        each.verb, f"{VERSION}{each.route.path}", partial(_handle, each), pushes=each.has_large_body
    )
    for each in (*ENDPOINTS, *MAP_ENDPOINTS)
)
"""The routes of the protocol."""
