"""Build the ASGI application of an instance: MCP at /mcp, the API below /v1, health and metrics.

Each request passes `guard.RequestLogging` and `guard.HeaderChecks`. Routes that need a token are
wrapped in the SDK's `RequireAuthMiddleware` and `guard.SenderLimits`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio import to_thread
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from code_intel.errors import EmbeddingError
from code_intel.servers.http.guard import Policy
from code_intel.servers.protocol import ToolServer
from code_intel.servers.shared.guard import HeaderChecks, RequestLogging, SenderLimits
from code_intel.servers.shared.routes.api import ApiRoute, application_of
from code_intel.servers.shared.routes.health import (
    OpenMetrics,
    OpenRoute,
    Readiness,
    metrics_for_admins,
)
from code_intel.servers.shared.routes.table import ROUTES
from code_intel.servers.shared.services import Services
from code_intel.servers.shared.settings import SharedSettings

MCP_PATH = "/mcp"


class Application:
    """The application, and the work that runs beside its requests.

    Args:
        services: What requests work with.
        server: The MCP server with its tools.
        policy: The conditions that a request must meet.
        routes: The routes of the API.
    """

    def __init__(
        self,
        services: Services,
        server: ToolServer,
        policy: Policy,
        routes: Sequence[ApiRoute] = ROUTES,
    ) -> None:
        self.services = services
        self.readiness = Readiness(services)
        self._sessions = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            max_request_body_size=services.settings.body_mib << 20,
            # `HeaderChecks` replaces it.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._policy = policy
        self._metadata_url = metadata_url(services.settings)
        self.app = self._build(routes)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the MCP server, follow the token file, and load the model."""
        async with self._sessions.run(), anyio.create_task_group() as group:
            group.start_soon(self.services.verifier.watch)
            group.start_soon(self._load_model)
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    async def _load_model(self) -> None:
        """Load the model, so that the first question need not; without one, answers say so."""
        with suppress(EmbeddingError):
            await to_thread.run_sync(self.services.embedder.load, abandon_on_cancel=True)

    def _build(self, routes: Sequence[ApiRoute]) -> ASGIApp:
        settings = self.services.settings
        mcp = self._protected(self._sessions.handle_request, MCP_PATH)
        every: list[BaseRoute] = [
            # Without sessions, there is no stream to open (GET) and nothing to end (DELETE).
            Route(MCP_PATH, mcp, methods=["POST"]),
            Route("/healthz", OpenRoute("/healthz")),
            Route("/readyz", OpenRoute("/readyz", self.readiness)),
        ]
        if settings.metrics_open:
            every.append(Route("/metrics", OpenMetrics()))
        else:
            routes = (*routes, ApiRoute("GET", "/metrics", metrics_for_admins))
        for route in routes:
            app = self._protected(application_of(route), route.path, pushes=route.pushes)
            every.append(Route(route.path, app, methods=[route.method]))
        if settings.oidc is not None:
            every += create_protected_resource_routes(
                AnyHttpUrl(resource_url(settings)), [AnyHttpUrl(settings.oidc.issuer)]
            )
        backend = BearerAuthBackend(self.services.verifier)
        return Starlette(
            routes=every,
            middleware=[
                Middleware(RequestLogging, services=self.services),
                Middleware(HeaderChecks, policy=self._policy),
                Middleware(AuthenticationMiddleware, backend=backend),
                Middleware(AuthContextMiddleware),
            ],
        )

    def _protected(self, app: ASGIApp, path: str, *, pushes: bool = False) -> ASGIApp:
        """Return an application that answers senders with a valid token only."""
        settings = self.services.settings
        read = settings.body_mib << 20
        push = settings.push_body_mib << 20 if pushes else read
        admitted = SenderLimits(app, path, push, read, self._policy.limits.body_seconds)
        return RequireAuthMiddleware(admitted, [], self._metadata_url)


def resource_url(settings: SharedSettings) -> str:
    """Return the URL of the MCP endpoint, as clients know it."""
    return settings.public_url.rstrip("/") + MCP_PATH


def metadata_url(settings: SharedSettings) -> AnyHttpUrl | None:
    """Return where clients learn which issuer gives them tokens; None without an issuer."""
    if settings.oidc is None:
        return None
    return build_resource_metadata_url(AnyHttpUrl(resource_url(settings)))
