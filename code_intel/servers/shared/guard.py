"""The steps of a request before its handler, outermost first, as ASGI middleware.

`RequestLogging` logs, counts and traces it. `HeaderChecks` checks its headers. The SDK's bearer
authentication finds its sender, and `SenderLimits` applies the sender's limits and reads the body.
"""

import math

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from code_intel.errors import BusyError
from code_intel.servers.http.guard import (
    TOO_LARGE,
    TOO_SLOW,
    Policy,
    Refusal,
    RequestHead,
    check_framing,
    check_head_size,
    check_host,
    check_length,
    check_origin,
    read_body,
    refuse,
    replay,
)
from code_intel.servers.shared.access.verifier import PrincipalToken
from code_intel.servers.shared.audit import RequestLog
from code_intel.servers.shared.rates import TooMuchError
from code_intel.servers.shared.routes.api import error_response
from code_intel.servers.shared.services import Services
from code_intel.servers.shared.tracing import request_span

CHECKS = (check_head_size, check_host, check_origin, check_framing, check_length)
ONE_TOKEN = Refusal(
    400,
    "ambiguous_token",
    "The request has more than one Authorization header.",
    "Send one Authorization header.",
)
UNLOGGED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that machines call every few seconds; they are counted, but not logged."""
REQUEST_ID = b"x-request-id"


class RequestLogging:
    """Logs, counts and traces each request, whatever becomes of it."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request, and note how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = RequestLog()
        scope.setdefault("state", {}).update(record=record, services=self._services)
        metrics = self._services.metrics
        metrics.begin()
        try:
            with request_span(scope, record):
                await self._app(scope, receive, _counting(send, record))
        finally:
            metrics.end(record)
            if scope["path"] not in UNLOGGED:
                self._services.audit.write(record)


class HeaderChecks:
    """Refuses requests whose headers are too large, ambiguous, or meant for another server."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the headers of one request, then forward or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = RequestHead(scope["path"], scope["headers"], scope["query_string"])
        refusals = (check(self._policy, head) for check in CHECKS)
        refusal = next((found for found in refusals if found), None)
        if refusal is None and len(head.all(b"authorization")) > 1:
            refusal = ONE_TOKEN
        if refusal is None:
            await self._app(scope, receive, send)
            return
        scope["state"]["record"].refused = refusal.error
        await refuse(refusal, scope, receive, send)


class SenderLimits:
    """Forwards requests of known senders within their limits, with the whole body.

    Args:
        app: The handler of a route.
        route: The path of the route.
        body_bytes: Maximum size of a body.
        read_bytes: The same for a sender that may push nothing.
        body_seconds: How long a body may take to arrive.
    """

    def __init__(
        self, app: ASGIApp, route: str, body_bytes: int, read_bytes: int, body_seconds: float
    ) -> None:
        self._app = app
        self._route = route
        self._body_bytes = body_bytes
        self._read_bytes = read_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Apply the limits of the sender to one request, then forward or refuse it."""
        services: Services = scope["state"]["services"]
        record: RequestLog = scope["state"]["record"]
        user: AuthenticatedUser = scope["user"]
        token = user.access_token
        assert isinstance(token, PrincipalToken)  # noqa: S101 - of our verifier
        principal = token.principal
        scope["state"]["principal"] = principal
        record.principal, record.route = principal.id, self._route
        try:
            services.check_queue()
            limit = self._body_bytes if principal.is_pusher() else self._read_bytes
            size = _size(scope, limit)
            with services.rates.request(principal), services.bodies.reserved(principal, size):
                body = await self._body(receive, limit)
                record.received = len(body or b"")
                services.rates.receive(principal, record.received)
                if body is not None:
                    await self._app(scope, replay(body, receive), send)
        except BusyError as error:
            record.refused = error.error
            await error_response(error)(scope, receive, send)
        except TooMuchError as error:
            record.refused = error.what
            await _too_much(error)(scope, receive, send)
        except _RefusedError as error:
            record.refused = error.refusal.error
            await refuse(error.refusal, scope, receive, send)

    async def _body(self, receive: Receive, limit: int) -> bytes | None:
        """Read the body.

        Raises:
            _RefusedError: It is too large or too slow.
        """
        try:
            with anyio.fail_after(self._body_seconds):
                return await read_body(receive, limit)
        except TimeoutError:
            raise _RefusedError(TOO_SLOW) from None
        except OverflowError:
            raise _RefusedError(TOO_LARGE) from None


def _size(scope: Scope, limit: int) -> int:
    """Return the size that the body may have.

    Raises:
        _RefusedError: It is too large.
    """
    head = RequestHead("", scope["headers"])
    sizes = [int(value) for value in head.all(b"content-length") if value.isdecimal()]
    size = max(sizes, default=limit if head.all(b"transfer-encoding") else 0)
    if size > limit:
        raise _RefusedError(TOO_LARGE)
    return size


class _RefusedError(Exception):
    """A body was refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error)
        self.refusal = refusal


def _too_much(error: TooMuchError) -> JSONResponse:
    seconds = math.ceil(error.seconds)
    content = {
        "error": "too_many_requests",
        "message": f"The limit {error.what} of this token is reached.",
        "hint": f"Try again in {seconds} s.",
        "limit": error.what,
        "retry_after_s": seconds,
    }
    return JSONResponse(content, 429, {"Retry-After": str(seconds)})


def _counting(send: Send, record: RequestLog) -> Send:
    """Return `send` that also notes the status and the size of the answer, and sends its id."""

    async def counting(message: Message) -> None:
        if message["type"] == "http.response.start":
            record.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (REQUEST_ID, record.id.encode())]
        elif message["type"] == "http.response.body":
            record.sent += len(message.get("body", b""))
        await send(message)

    return counting
