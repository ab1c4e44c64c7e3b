"""Run a server over HTTP until a signal stops it (docs/decisions/0019).

The SDK's own application answers at /mcp, in both protocol eras; `RequestGuard` checks each request
first. Standard output stays empty; the URL is printed on stderr.
"""

import logging
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NoReturn

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from code_intel import __version__
from code_intel.errors import CodeIntelError
from code_intel.servers.http.guard import HEALTH, Policy, RequestGuard
from code_intel.servers.http.web import StoppableServer, serve_until_signal, web_config
from code_intel.servers.protocol import ToolServer

HEALTH_TIMEOUT_S = 2.0


def serve_http(server: ToolServer, policy: Policy, program: str) -> NoReturn:
    """Serve until SIGTERM (exit code 0) or SIGINT (130); never returns."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it logs every mistake of a client
    note = "; every request needs a token" if policy.tokens else ""
    serving = f"{program}: serving {policy.address.url}{note}"
    print(serving, file=sys.stderr, flush=True)  # noqa: T201 - its only output
    web = web_server(server, policy)
    serve_until_signal(web, partial(run, server, web, policy))


async def run(server: ToolServer, web: uvicorn.Server, policy: Policy) -> None:
    """Serve until `web.should_exit`; the background work of `server` runs once for all clients."""
    with policy.address.socket:
        async with server.session_manager.run():
            await web.serve(sockets=[policy.address.socket])


def web_server(server: ToolServer, policy: Policy) -> StoppableServer:
    """Return the web server of an MCP server."""
    limits = policy.limits
    app = server.streamable_http_app(
        max_request_body_size=limits.body_bytes,
        session_idle_timeout=limits.session_seconds,
        max_sessions=limits.sessions,
        custom_starlette_routes=[Route(HEALTH, _health(server))],
        # `RequestGuard` replaces it (docs/decisions/0019).
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return StoppableServer(web_config(RequestGuard(app, policy), limits))


def _health(server: ToolServer) -> Callable[[Request], Awaitable[JSONResponse]]:
    async def health(_request: Request) -> JSONResponse:
        """Answer 200 with the state of the open indexes, or 503 if calls would fail."""
        identity = {"name": server.name, "version": __version__}
        spec = server.spec()
        try:
            with anyio.fail_after(HEALTH_TIMEOUT_S):  # uses a worker thread, as calls do
                freshness = spec.freshness if spec else dict
                found = await to_thread.run_sync(freshness, abandon_on_cancel=True)
        except (CodeIntelError, OSError, TimeoutError):
            return JSONResponse({"status": "failing", **identity}, 503)
        index = {
            corpus: {"state": state.state, "files": state.files, "pending": state.pending}
            for corpus, state in found.items()
        }
        return JSONResponse({"status": "ok", **identity, "index": index})

    return health
