"""Run a server on stdin and stdout until the client closes them.

stdout carries JSON-RPC alone: the SDK moves file descriptor 1 to stderr before anything can print.
When stdin ends the process ends, at once: worker threads that are inside native code are abandoned,
which is safe because everything they write is a transaction (docs/decisions/0006).
"""

import logging
import os
import sys
from typing import Any, NoReturn

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server


def serve(server: Server[Any]) -> NoReturn:
    """Serve one client; never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    code = 0
    try:
        anyio.run(_run, server)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 0
    except BaseException:
        logging.getLogger(__name__).exception("the server stopped")
        code = 3
    sys.stderr.flush()
    os._exit(code)


async def _run(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
