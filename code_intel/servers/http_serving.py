"""Run a server over HTTP until it is told to stop (docs/decisions/0019).

MCP is spoken at /mcp, in both protocol eras, by the SDK's own application; `Guard` stands before it.
Standard output stays empty; the URL is said on stderr.
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
from code_intel.servers.ending import leave
from code_intel.servers.http_connections import bounded
from code_intel.servers.http_guard import HEALTH, Guard, Policy
from code_intel.servers.protocol import ToolServer

FINISHING = 1
"""Seconds that calls under way may take to end when the server is stopped."""
ENDING = 1.5
"""Seconds until a server that was stopped is gone, whatever it does."""
HEALTH_SECONDS = 2.0
EXITS = {signal.SIGINT: 130}
"""Exit codes by signal; having been asked to stop is no failure."""


class Stoppable(uvicorn.Server):
    """uvicorn, which ends on a signal but does not die of it: what is behind must be closed as well."""

    code = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Leave signals to `serve_http`."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # type: ignore[explicit-override]  # as above
        """Stop, within `ENDING` seconds; at once when told twice."""
        self.code = EXITS.get(signal.Signals(sig), 0)
        if self.should_exit:
            leave(self.code)
        # What a call cancelled now still says is no news, and what hangs is given up: all is on disk.
        logging.disable()
        last = threading.Timer(ENDING, leave, (self.code,))
        last.daemon = True
        last.start()
        super().handle_exit(sig, frame)


def serve_http(server: ToolServer, policy: Policy, program: str) -> NoReturn:
    """Serve whoever may ask, until SIGTERM (exit code 0) or SIGINT (130); never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    for strangers in ("mcp", "uvicorn"):  # who write a line whenever a client does wrong
        logging.getLogger(strangers).setLevel(logging.ERROR)
    needs = "; every request needs a token" if policy.tokens else ""
    print(f"{program}: serving {policy.address.url}{needs}", file=sys.stderr, flush=True)  # noqa: T201 - the one thing it says
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
    leave(code)


async def run(server: ToolServer, web: uvicorn.Server, policy: Policy) -> None:
    """Serve until `web.should_exit`; the server's own background runs once, whoever comes and goes."""
    with policy.address.socket:
        async with server.session_manager.run():
            await web.serve(sockets=[policy.address.socket])


def web_server(server: ToolServer, policy: Policy) -> Stoppable:
    """Return the web server of an MCP server; it listens already, and answers once it runs."""
    limits = policy.limits
    app = server.streamable_http_app(
        max_request_body_size=limits.body_bytes,
        session_idle_timeout=limits.session_seconds,
        max_sessions=limits.sessions,
        custom_starlette_routes=[Route(HEALTH, _health(server))],
        # `Guard` is stricter: the port of an Origin counts, and every path is guarded.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    config = uvicorn.Config(
        Guard(app, policy),
        http=bounded(limits),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=FINISHING,
        h11_max_incomplete_event_size=limits.head_bytes,
    )
    return Stoppable(config)


def _health(server: ToolServer) -> Callable[[Request], Awaitable[JSONResponse]]:
    async def health(_request: Request) -> JSONResponse:
        """Say whether calls are answered: 200 and the state of what is open, or 503."""
        about = {"name": server.name, "version": __version__}
        offer = server.offered()
        try:
            with anyio.fail_after(HEALTH_SECONDS):  # as a call would, it needs a worker thread
                condition = offer.condition if offer else dict
                found = await to_thread.run_sync(condition, abandon_on_cancel=True)
        except (CodeIntelError, OSError, TimeoutError):
            return JSONResponse({"status": "failing", **about}, 503)
        index = {
            corpus: {"state": state.state, "files": state.files, "pending": state.pending}
            for corpus, state in found.items()
        }
        return JSONResponse({"status": "ok", **about, "index": index})

    return health
