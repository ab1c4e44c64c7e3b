"""Answer the clients of a shared index: questions of developers' machines, and pushes.

`ENDPOINTS` is the table of all paths. Every request has a principal, which the application has
found by the token. A repository that it may not read answers as one that does not exist.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from code_intel.errors import (
    BusyError,
    CodeIntelError,
    ConflictError,
    NotFoundError,
    UpstreamError,
    UsageError,
)
from code_intel.servers.shared.routes.endpoints import Endpoint, ForbiddenError, endpoints
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.wire import VERSION, WireError, error_body, pack, unpack

STATUSES: tuple[tuple[type[CodeIntelError], HTTPStatus], ...] = (
    (WireError, HTTPStatus.BAD_REQUEST),
    (ForbiddenError, HTTPStatus.FORBIDDEN),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (UsageError, HTTPStatus.BAD_REQUEST),
    (BusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (UpstreamError, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The status of each error; the first row that fits."""
RETRY_AFTER_S = "5"


def shared_routes(index: SharedIndex, limiter: CapacityLimiter | None = None) -> list[Route]:
    """Return the routes of the protocol.

    Args:
        index: The shared index.
        limiter: Limits the number of requests that work at the same time.
    """
    return [
        Route(f"{VERSION}{path}", _handler(endpoint, limiter), methods=[endpoint.verb])
        for path, endpoint in endpoints(index).items()
    ]


def _handler(
    endpoint: Endpoint, limiter: CapacityLimiter | None
) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        """Check a request, answer it on a worker thread, and turn errors into statuses."""
        body = await request.body()
        work = partial(_answer, endpoint, request, body)
        try:
            data = await to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
        except CodeIntelError as error:
            return refusal(error)
        headers = {"content-encoding": "gzip"}
        return Response(data, headers=headers, media_type="application/json")

    return handle


def _answer(endpoint: Endpoint, request: Request, body: bytes) -> bytes:
    question = None if endpoint.question is None else unpack(body, endpoint.question)
    return pack(endpoint.answer(request.state.principal, question))


def refusal(error: CodeIntelError) -> JSONResponse:
    """Return the answer to a request that failed."""
    status = next(
        (status for kind, status in STATUSES if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    is_temporary = status == HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"retry-after": RETRY_AFTER_S} if is_temporary else None
    return JSONResponse(error_body(error), status, headers)
