"""Run a server on stdin and stdout until the client closes them.

stdout carries JSON-RPC alone: `wire.take_stdout` has moved it away before anything could print.
When stdin ends the process ends, at once: worker threads that are inside native code are abandoned,
which is safe because everything they write is a transaction (docs/decisions/0006).
"""

import logging
import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType
from typing import Any, BinaryIO, NoReturn

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server


def serve(server: Server[Any], wire: BinaryIO) -> NoReturn:
    """Serve one client, answering on `wire`; never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # A KeyboardInterrupt would wait for the thread that reads stdin.
    signal.signal(signal.SIGINT, _interrupted)
    code = 0
    try:
        anyio.run(_run, server, wire)
    except BrokenPipeError:
        code = 0
    except BaseException:
        logging.getLogger(__name__).exception("the server stopped")
        code = 3
    sys.stderr.flush()
    os._exit(code)


async def _run(server: Server[Any], wire: BinaryIO) -> None:
    stdout = anyio.wrap_file(TextIOWrapper(wire, encoding="utf-8", newline="\n"))
    async with stdio_server(stdout=stdout) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _interrupted(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(130)
