"""Answer `/healthz`, `/readyz` and `/metrics`."""

import asyncio
import logging
import threading
import time
from concurrent.futures import Future

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from code_intel import __version__
from code_intel.errors import CodeIntelError
from code_intel.servers.shared.metrics import CONTENT_TYPE
from code_intel.servers.shared.services import Caller, ScopeError, Services

READY_TIMEOUT_S = 2.0
FRESH_S = 1.0
"""How long the engine is not asked again whether it answers."""
logger = logging.getLogger(__name__)


class Readiness:
    """Whether the instance takes requests.

    Attributes:
        is_draining: Whether it is stopping; balancers then send no more requests.
    """

    is_draining = False

    def __init__(self, services: Services) -> None:
        self._services = services
        self._check: Future[str] | None = None
        self._began = 0.0

    async def reason(self) -> str:
        """Return why requests would fail now, or an empty text."""
        if self.is_draining:
            return "draining"
        check = asyncio.wrap_future(self._checked())
        done, _ = await asyncio.wait({check}, timeout=READY_TIMEOUT_S)
        return check.result() if done else "engine"

    def _checked(self) -> "Future[str]":
        """Return the check that runs, or a new one if the last one is not fresh.

        A thread waits for the engine until it answers. So there is never more than one.
        """
        is_fresh = time.monotonic() < self._began + FRESH_S
        if self._check is None or (self._check.done() and not is_fresh):
            self._check, self._began = Future(), time.monotonic()
            threading.Thread(
                target=self._ask, args=(self._check,), name="readiness", daemon=True
            ).start()
        return self._check

    def _ask(self, check: "Future[str]") -> None:
        try:
            self._services.index.check()
        except (CodeIntelError, OSError) as error:
            logger.warning("the engine does not answer: %s", error)
            check.set_result("engine")
        except BaseException:
            logger.exception("the check of the engine failed")
            check.set_result("engine")
        else:
            check.set_result("")


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
