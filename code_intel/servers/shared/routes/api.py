"""Declare a route of the API, and turn its errors into answers in one place.

A handler gets a request that the guard has let through: its sender is known and within its limits,
and its body has been read. It returns JSON or raises a `CodeIntelError`.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from code_intel.errors import (
    BusyError,
    CodeIntelError,
    ConflictError,
    NotFoundError,
    StorageError,
    UpstreamError,
    UsageError,
)
from code_intel.foundation.redaction import masked_data
from code_intel.servers.shared.services import Caller, ScopeError, caller_of
from code_intel.shared.wire import TooLargeError

UNAVAILABLE = 503
STATUSES: tuple[tuple[type[CodeIntelError], int], ...] = (
    (TooLargeError, 413),
    (UsageError, 400),
    (ScopeError, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (BusyError, UNAVAILABLE),
    (StorageError, UNAVAILABLE),
    (UpstreamError, UNAVAILABLE),
    (CodeIntelError, 500),
)
"""The status of each error; the first class that fits counts."""
RETRY_AFTER = {"Retry-After": "2"}
logger = logging.getLogger(__name__)
Handler = Callable[[Caller, Request], Awaitable[Response]]


class ApiRoute(NamedTuple):
    """A route of the API.

    Attributes:
        method: GET, POST or DELETE.
        path: The path, such as `/v1/push/{name:path}`.
        handler: Answers a request.
        pushes: Whether its body may be as large as `push_body_mib`.
    """

    method: str
    path: str
    handler: Handler
    pushes: bool = False


class Answered:
    """An ASGI application of one handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; errors become JSON."""
        request = Request(scope, receive)
        try:
            response = await self._handler(caller_of(request), request)
        except CodeIntelError as error:
            response = error_response(error)
        except Exception as error:
            logger.exception("%s failed", scope["path"])
            response = JSONResponse(
                {
                    "error": "unexpected",
                    "message": f"The request failed: {type(error).__name__}.",
                    "hint": "This is a defect; the log of the server has the details.",
                },
                500,
            )
        await response(scope, receive, send)


def error_response(error: CodeIntelError) -> JSONResponse:
    """Return the answer for an error: `{error, message, hint}` and its details."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    headers = RETRY_AFTER if status == UNAVAILABLE else None
    return JSONResponse(masked_data(error.as_dict()), status, headers)


def application_of(route: ApiRoute) -> ASGIApp:
    """Return the ASGI application of a route."""
    return Answered(route.handler)
