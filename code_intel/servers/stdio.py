"""Run a server on stdin and stdout until the client closes them.

stdout carries JSON-RPC alone: `wire.take_stdout` has moved it away before anything could print.
When stdin ends, or nobody reads stdout any more, the process ends within `ENDING` seconds: worker threads
that are inside native code, or wait for the client to read, are abandoned, which is safe because everything
they write is a transaction (docs/decisions/0006).
"""

import logging
import os
import signal
import sys
import threading
from io import TextIOWrapper
from types import FrameType
from typing import Any, BinaryIO, NoReturn

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from code_intel.servers.wire import take_stdin

ENDING = 1.9
"""Seconds until a server is gone whose client is; children that are still there are ended by `child_guard`."""


class _Stdin(TextIOWrapper):
    """What the client says; when that ends the rest has `ENDING` seconds."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[explicit-override, override]  # typing.override needs 3.12; the base's own class breaks it
        line = super().readline(size)
        if not line:
            _end_soon()
        return line


class _Stdout(TextIOWrapper):
    """What the client reads. A thread waits for stdin, and would outlive the client's interest."""

    def flush(self) -> None:  # type: ignore[explicit-override]  # as above
        try:
            super().flush()
        except OSError:
            _end_soon()
            raise


def serve(server: Server[Any], wire: BinaryIO) -> NoReturn:
    """Serve one client, answering on `wire`; never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # A KeyboardInterrupt would wait for the thread that reads stdin.
    signal.signal(signal.SIGINT, _interrupted)
    code = 0
    try:
        anyio.run(_run, server, wire)
    except BaseException as error:
        if not _is_gone(error):
            logging.getLogger(__name__).exception("the server stopped")
            code = 3
    sys.stderr.flush()
    os._exit(code)


async def _run(server: Server[Any], wire: BinaryIO) -> None:
    stdin = anyio.wrap_file(_Stdin(take_stdin(), encoding="utf-8", errors="replace"))
    stdout = anyio.wrap_file(_Stdout(wire, encoding="utf-8", newline="\n"))
    async with stdio_server(stdin, stdout) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _is_gone(error: BaseException) -> bool:
    """Whether all that happened is that the client reads no more."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_gone(one) for one in error.exceptions)
    return isinstance(error, BrokenPipeError)


def _interrupted(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(130)


def _end_soon() -> None:
    last = threading.Timer(ENDING, os._exit, (0,))
    last.daemon = True
    last.start()
