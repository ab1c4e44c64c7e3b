"""Run a server on stdin and stdout until the client closes them.

Only JSON-RPC goes to stdout, because `wire.take_stdout` has redirected everything else. When stdin
ends, or the client stops reading stdout, the process exits within `SHUTDOWN_TIMEOUT_S`. Worker
threads in native code, or blocked on a write to the client, are abandoned. That is safe, because
everything they write is written in transactions (docs/decisions/0006).
"""

import json
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import Any, BinaryIO, NoReturn

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from code_intel.servers.ending import exit_process
from code_intel.servers.wire import take_stdin

SHUTDOWN_TIMEOUT_S = 1.9
"""How long a server runs after its client has gone; `child_guard` ends remaining children."""
INIT_PID = 1
"""The process that adopts orphans; a server started by it has no parent to watch."""
MAX_MESSAGE_CHARS = 16 << 20
"""Longest message; the rest of its line is discarded."""
_TOO_LONG_LINE = "a line of more than 16 MiB\n"
"""Replaces such a line. It is not JSON, so it is refused like other malformed lines."""


class _Stdin(TextIOWrapper):
    """Input of the client in lines of at most `MAX_MESSAGE_CHARS`; its end starts the shutdown."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[explicit-override, override]  # typing.override needs 3.12; the base's own class breaks it
        del size  # no caller reads less than a line
        line = super().readline(MAX_MESSAGE_CHARS)
        if not line:
            _exit_soon()
        if len(line) < MAX_MESSAGE_CHARS:
            return line
        while len(line) == MAX_MESSAGE_CHARS and not line.endswith("\n"):
            line = super().readline(MAX_MESSAGE_CHARS)
        return _TOO_LONG_LINE


class _Stdout(TextIOWrapper):
    """Output to the client. A failed write starts the shutdown, since a thread waits for stdin."""

    def flush(self) -> None:  # type: ignore[explicit-override]  # as above
        try:
            super().flush()
        except OSError:
            _exit_soon()
            raise


def serve(server: Server[Any], wire: BinaryIO) -> NoReturn:
    """Serve one client, answering on `wire`; never returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # A KeyboardInterrupt would wait for the thread that reads stdin.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _exit_on_signal)
    parent = os.getppid()
    if parent > INIT_PID and sys.platform != "win32":  # where a child cannot notice it
        threading.Thread(target=_exit_after_parent, args=(parent,), daemon=True).start()
    code = 0
    try:
        anyio.run(_run, server, wire)
    except BaseException as error:
        if not _is_broken_pipe(error):
            logging.getLogger(__name__).exception("the server stopped")
            code = 3
    sys.stderr.flush()
    exit_process(code)


async def _run(server: Server[Any], wire: BinaryIO) -> None:
    # Invalid UTF-8 must not become other text, and a byte order mark is skipped.
    stdin = anyio.wrap_file(_Stdin(take_stdin(), encoding="utf-8-sig", errors="surrogateescape"))
    stdout = anyio.wrap_file(_Stdout(wire, encoding="utf-8", newline="\n"))
    async with (
        stdio_server(stdin, stdout) as (read, write),
        _refuse_malformed(read, write) as messages,
    ):
        await server.run(messages, write, server.create_initialization_options())


Incoming = SessionMessage | Exception


@asynccontextmanager
async def _refuse_malformed(
    read: ReadStream[Incoming], write: WriteStream[SessionMessage]
) -> AsyncIterator[ReadStream[Incoming]]:
    """Forward messages; answer malformed ones with a JSON-RPC error, as the SDK does over HTTP."""
    send, receive = anyio.create_memory_object_stream[Incoming](0)

    async def pump() -> None:
        async with send:
            async for item in read:
                if not isinstance(item, Exception):
                    await send.send(item)
                elif (refusal := _refusal(item)) is not None:
                    await write.send(SessionMessage(refusal))

    async with receive, anyio.create_task_group() as group:
        group.start_soon(pump)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()


def _refusal(error: Exception) -> JSONRPCError | None:
    """Return the answer to a malformed line; None for a blank one."""
    problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    line = problems[0]["input"] if problems else ""
    if not isinstance(line, str) or problems[0]["loc"]:
        message = next((row["input"] for row in problems if row["type"] == "missing"), None)
        data = ErrorData(code=INVALID_REQUEST, message="Not a JSON-RPC 2.0 message.")
    elif line.isspace():
        return None
    else:
        message = _parse_leniently(line)
        data = ErrorData(code=PARSE_ERROR, message="Not JSON in UTF-8 of at most 16 MiB a line.")
    request_id = message.get("id") if isinstance(message, dict) else None
    is_valid = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    return JSONRPCError(jsonrpc="2.0", id=request_id if is_valid else None, error=data)


def _parse_leniently(line: str) -> object:
    """Parse a line, which may contain lone surrogates; return None if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


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
    never_set = threading.Event()
    while os.getppid() == parent:
        never_set.wait(1)
    exit_process(0)


def _exit_soon() -> None:
    timer = threading.Timer(SHUTDOWN_TIMEOUT_S, exit_process, (0,))
    timer.daemon = True
    timer.start()
