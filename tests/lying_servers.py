"""Run a small web application that answers as a hostile or broken server might."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.servers.http.address import listen

Lie = Callable[[Request], Awaitable[Response]]
PATIENCE_S = 30


class _Server(uvicorn.Server):
    """A server for a thread, which must not handle signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[explicit-override]
        yield


@contextmanager
def lying_server(lie: Lie) -> Iterator[str]:
    """Answer every request with `lie`; yield the address."""
    app = Starlette(routes=[Route("/{path:path}", lie, methods=["GET", "POST"])])
    address = listen("127.0.0.1", 0, needs_token=True)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=0
    )
    server = _Server(config)
    thread = threading.Thread(target=anyio.run, args=(server.serve, [address.socket]), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{address.port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE_S)
        address.socket.close()
