"""Run a server over HTTP until a signal stops it (docs/decisions/0019).

The SDK's own application answers at /mcp, in both protocol eras; `RequestGuard` checks each request
first. Standard output stays empty; the URL is printed on stderr.
"""

import logging
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
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
from code_intel.servers.ending import exit_process
from code_intel.servers.http.connections import limited_protocol
from code_intel.servers.http.guard import HEALTH, Policy, RequestGuard
from code_intel.servers.protocol import ToolServer

GRACEFUL_TIMEOUT_S = 1
"""How long running calls may take to finish after a signal."""
SHUTDOWN_TIMEOUT_S = 1.5
"""How long after a signal the process exits at the latest."""
HEALTH_TIMEOUT_S = 2.0
EXIT_CODES = {signal.SIGINT: 130}
"""Exit codes by signal. For others it is 0, because a requested stop is not a failure."""


class StoppableServer(uvicorn.Server):
    """A uvicorn server that returns after a signal, so that the caller can close everything."""

    code = 0

    @contextmanager
    # typing.override needs 3.12.
    def capture_signals(self) -> Iterator[None]:  # type: ignore[explicit-override]
        """Leave signals to `serve_http`."""
        yield

    # typing.override needs 3.12.
    def handle_exit(  # type: ignore[explicit-override]
        self, sig: int, frame: FrameType | None
    ) -> None:
        """Stop within `SHUTDOWN_TIMEOUT_S`; at once on a second signal."""
        self.code = EXIT_CODES.get(signal.Signals(sig), 0)
        if self.should_exit:
            exit_process(self.code)
        # Cancelled calls would log errors. Hanging calls are abandoned: all writes are durable.
        logging.disable()
        timer = threading.Timer(SHUTDOWN_TIMEOUT_S, exit_process, (self.code,))
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)


def serve_http(server: ToolServer, policy: Policy, program: str) -> NoReturn:
    """Serve until SIGTERM (exit code 0) or SIGINT (130); never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    for library in ("mcp", "uvicorn"):  # they log every mistake of a client
        logging.getLogger(library).setLevel(logging.ERROR)
    note = "; every request needs a token" if policy.tokens else ""
    serving = f"{program}: serving {policy.address.url}{note}"
    print(serving, file=sys.stderr, flush=True)  # noqa: T201 - its only output
    web = web_server(server, policy)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, web.handle_exit)
    code = 3
    try:
        anyio.run(run, server, web, policy)
        code = web.code
    except BaseException:
        logging.getLogger(__name__).exception("the server stopped")
    sys.stderr.flush()
    exit_process(code)


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
    config = uvicorn.Config(
        RequestGuard(app, policy),
        http=limited_protocol(limits),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=GRACEFUL_TIMEOUT_S,
        h11_max_incomplete_event_size=limits.head_bytes,
    )
    return StoppableServer(config)


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
