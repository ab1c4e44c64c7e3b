"""Run a web server until a signal stops it."""

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
from starlette.types import ASGIApp

from code_intel.servers.ending import exit_process
from code_intel.servers.http.connections import limited_protocol
from code_intel.servers.http.limits import Limits

GRACEFUL_TIMEOUT_S = 1
"""How long running calls may take to finish after a signal."""
SHUTDOWN_TIMEOUT_S = 1.5
"""How long after a signal the process exits at the latest, unless a server sets its own time."""
EXIT_CODES = {signal.SIGINT: 130}
"""Exit codes by signal. For others it is 0, because a requested stop is not a failure."""


class StoppableServer(uvicorn.Server):
    """A uvicorn server that returns after a signal, so that the caller can close everything.

    Attributes:
        code: The exit code of the process.
        shutdown_timeout_s: How long after a signal the process exits at the latest.
    """

    code = 0
    shutdown_timeout_s = SHUTDOWN_TIMEOUT_S

    @contextmanager
    # typing.override needs 3.12.
    def capture_signals(self) -> Iterator[None]:  # type: ignore[explicit-override]
        """Leave signals to `serve_until_signal`."""
        yield

    # typing.override needs 3.12.
    def handle_exit(  # type: ignore[explicit-override]
        self, sig: int, frame: FrameType | None
    ) -> None:
        """Stop within `shutdown_timeout_s`; at once on a second signal."""
        self.code = EXIT_CODES.get(signal.Signals(sig), 0)
        if self.should_exit:
            exit_process(self.code)
        # Cancelled calls would log errors. Hanging calls are abandoned: all writes are durable.
        logging.disable()
        timer = threading.Timer(self.shutdown_timeout_s, exit_process, (self.code,))
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)


def web_config(
    app: ASGIApp, limits: Limits, graceful_s: int = GRACEFUL_TIMEOUT_S
) -> uvicorn.Config:
    """Return the configuration of a web server with these limits.

    `graceful_s` is how long running calls may take to finish after a signal.
    """
    return uvicorn.Config(
        app,
        http=limited_protocol(limits),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=graceful_s,
        h11_max_incomplete_event_size=limits.head_bytes,
    )


def serve_until_signal(
    web: StoppableServer,
    serve: Callable[[], Awaitable[None]],
    close: Callable[[], None] = lambda: None,
) -> NoReturn:
    """Run `serve` until SIGTERM (exit code 0) or SIGINT (130), then `close`; never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # it logs every mistake of a client
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, web.handle_exit)
    code = 3
    try:
        anyio.run(serve)
        close()
        code = web.code
    except BaseException:
        logging.getLogger(__name__).exception("the server stopped")
    sys.stderr.flush()
    exit_process(code)
