"""Answer `/healthz`, `/readyz` and `/metrics`."""

import logging

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from code_intel import __version__
from code_intel.errors import CodeIntelError
from code_intel.servers.shared.metrics import CONTENT_TYPE
from code_intel.servers.shared.services import Caller, ScopeError, Services

READY_TIMEOUT_S = 2.0
logger = logging.getLogger(__name__)


class Readiness:
    """Whether the instance takes requests.

    Attributes:
        is_draining: Whether it was told to end; balancers then send no more requests.
    """

    is_draining = False

    def __init__(self, services: Services) -> None:
        self._services = services

    async def reason(self) -> str:
        """Return why requests would fail now, or an empty text."""
        if self.is_draining:
            return "draining"
        try:
            with anyio.fail_after(READY_TIMEOUT_S):
                await to_thread.run_sync(self._services.index.check, abandon_on_cancel=True)
        except (CodeIntelError, OSError, TimeoutError) as error:
            logger.warning("the engine does not answer: %s", error)
            return "engine"
        return ""


class OpenRoute:
    """An ASGI application that needs no token.

    Args:
        readiness: Whether the instance takes requests; None if the process only has to be alive.
        route: The path.
    """

    def __init__(self, route: str, readiness: Readiness | None = None) -> None:
        self._readiness = readiness
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 200, or 503 with the reason."""
        scope["state"]["record"].route = self._route
        reason = await self._readiness.reason() if self._readiness else ""
        content = {"status": "failing" if reason else "ok", "version": __version__}
        if reason:
            content["reason"] = reason
        await JSONResponse(content, 503 if reason else 200)(scope, receive, send)


class OpenMetrics:
    """An ASGI application that answers with the metrics and needs no token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the metrics."""
        scope["state"]["record"].route = "/metrics"
        services: Services = scope["state"]["services"]
        await _metrics(services)(scope, receive, send)


async def metrics_for_admins(caller: Caller, _request: Request) -> Response:
    """Answer with the metrics.

    Raises:
        ScopeError: The token has no grant of the scope admin.
    """
    if not caller.principal.is_admin():
        raise ScopeError("The metrics need a token with the scope admin.")
    return _metrics(caller.services)


def _metrics(services: Services) -> Response:
    return Response(services.metrics.text(), media_type=CONTENT_TYPE)
