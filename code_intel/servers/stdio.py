"""Run a server on stdin and stdout until the client closes them.

Only JSON-RPC goes to stdout, because `wire.take_stdout` has redirected everything else. When stdin
ends, or the client stops reading stdout, the process exits within `SHUTDOWN_TIMEOUT_S`. Worker
threads in native code, or blocked on a write to the client, are abandoned. That is safe, because
everything they write is written in transactions (docs/decisions/0006).
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from io import TextIOWrapper
from types import FrameType
from typing import BinaryIO, NoReturn

import anyio
from mcp.server.stdio import stdio_server

from code_intel.servers.ending import exit_process
from code_intel.servers.long_lines import END_CHARS, MAX_LINE_CHARS, describe_long_line
from code_intel.servers.malformed import refuse_malformed
from code_intel.servers.protocol import ToolServer
from code_intel.servers.relay.host import Hosting, hosting_relays
from code_intel.servers.wire import take_stdin

SHUTDOWN_TIMEOUT_S = 1.9
"""Seconds that a server may run after its client has gone: MCP's SDK terminates it after 2.

`child_guard` then ends children that are still running.
"""
INIT_PID = 1
"""The process that adopts orphans; a server started by it has no parent to watch."""


class _Stdin(TextIOWrapper):
    """The client's input, in lines of at most `MAX_LINE_CHARS`.

    At the end of the input, the shutdown starts.
    """

    # typing.override needs Python 3.12. In typeshed, TextIOWrapper also inherits the `readline` of
    # a binary stream, which returns bytes, so every override violates one of its base classes.
    def readline(self, size: int = -1, /) -> str:  # type: ignore[explicit-override, override]
        del size  # no caller reads less than a line
        line = super().readline(MAX_LINE_CHARS)
        if not line:
            _exit_soon()
        if len(line) < MAX_LINE_CHARS:
            return line
        start = end = line[:END_CHARS]
        while len(line) == MAX_LINE_CHARS and not line.endswith("\n"):
            end = line[-END_CHARS:]
            line = super().readline(MAX_LINE_CHARS)
        return describe_long_line(start, end + line[-END_CHARS:])


class _Stdout(TextIOWrapper):
    """Output to the client.

    A failed write starts the shutdown, because the thread that waits for stdin would otherwise keep
    the process alive.
    """

    def flush(self) -> None:  # type: ignore[explicit-override]  # needs Python 3.12
        try:
            super().flush()
        except OSError:
            _exit_soon()
            raise


def serve(server: ToolServer, output: BinaryIO, hosting: Hosting | None = None) -> NoReturn:
    """Serve one client, and write the answers to `output` (the original stdout); never returns.

    With `hosting`, the clients of relays are served, too.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # A KeyboardInterrupt would wait for the thread that reads stdin.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # nohup sets SIGHUP to be ignored, and it should stay ignored.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _exit_on_signal)
    parent = os.getppid()
    # On Windows, getppid() does not change when the parent ends.
    if parent > INIT_PID and sys.platform != "win32":
        threading.Thread(target=_exit_after_parent, args=(parent,), daemon=True).start()
    code = 0
    try:
        anyio.run(_run, server, output, hosting)
    except BaseException as error:
        if not _is_broken_pipe(error):
            logging.getLogger(__name__).exception("the server stopped")
            code = 3
    sys.stderr.flush()
    exit_process(code)


async def _run(server: ToolServer, output: BinaryIO, hosting: Hosting | None) -> None:
    # surrogateescape keeps invalid UTF-8 recognisable, where `replace` would turn it into valid
    # text; utf-8-sig skips a byte order mark.
    stdin = anyio.wrap_file(_Stdin(take_stdin(), encoding="utf-8-sig", errors="surrogateescape"))
    stdout = anyio.wrap_file(_Stdout(output, encoding="utf-8", newline="\n"))
    async with (
        stdio_server(stdin, stdout) as (read, write),
        refuse_malformed(read, write) as messages,
        hosting_relays(hosting, server),
    ):
        await server.run(messages, write, server.create_initialization_options())


def _is_broken_pipe(error: BaseException) -> bool:
    """Return whether the only error is that the client has stopped reading."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_broken_pipe(one) for one in error.exceptions)
    return isinstance(error, BrokenPipeError)


def _exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    exit_process(128 + number)


def _exit_after_parent(parent: int) -> None:
    """Exit when the parent process has ended, even if another process holds our stdin open."""
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):  # the parent has ended already, or the kernel is old
            handle = os.pidfd_open(parent)
            select.select([handle], [], [])
    while os.getppid() == parent:
        time.sleep(1)  # noqa: TID251 - nothing signals the end of the parent here
    exit_process(0)


def _exit_soon() -> None:
    timer = threading.Timer(SHUTDOWN_TIMEOUT_S, exit_process, (0,))
    timer.daemon = True
    timer.start()
