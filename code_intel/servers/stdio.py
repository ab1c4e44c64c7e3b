"""Run a server on stdin and stdout until the client closes them.

Only JSON-RPC goes to stdout, because `wire.take_stdout` has redirected everything else. When stdin
ends, or the client stops reading stdout, the process exits within `SHUTDOWN_TIMEOUT_S`. Worker
threads in native code, or blocked on a write to the client, are abandoned. That is safe, because
everything they write is written in transactions (docs/decisions/0006).
"""

import json
import logging
import os
import re
import select
import signal
import sys
import threading
import time
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
"""Seconds that a server may run after its client has gone: MCP's SDK terminates it after 2.

`child_guard` then ends children that are still running.
"""
INIT_PID = 1
"""The process that adopts orphans; a server started by it has no parent to watch."""
MAX_STDIN_LINE_CHARS = 16 << 20
"""Maximum length of a message. A longer line is discarded and answered with an error."""
_TOO_LONG = "a line of more than 16 MiB, of the request "
"""Replaces such a line, followed by the request's id as JSON, if its ends show one."""
_END_CHARS = 4096
_TEXT_FIELD = r'"(?:jsonrpc|method)"\s{0,9}:\s{0,9}"[^"\\]{0,200}"\s{0,9}'
_ID_FIELD = r'"id"\s{0,9}:\s{0,9}(-?\d{1,18}|"[^"\\]{0,200}")\s{0,9}'
_ID_AT_START = re.compile(
    rf"\s{{0,9}}\{{\s{{0,9}}(?:{_TEXT_FIELD},\s{{0,9}}){{0,2}}{_ID_FIELD}[,}}]"
)
_ID_AT_END = re.compile(rf",\s{{0,9}}{_ID_FIELD}(?:,\s{{0,9}}{_TEXT_FIELD}){{0,2}}\}}\s{{0,9}}\Z")


class _Stdin(TextIOWrapper):
    """The client's input, in lines of at most `MAX_STDIN_LINE_CHARS`.

    At the end of the input, the shutdown starts.
    """

    # typing.override needs Python 3.12. In typeshed, TextIOWrapper also inherits the `readline` of
    # a binary stream, which returns bytes, so every override violates one of its base classes.
    def readline(self, size: int = -1, /) -> str:  # type: ignore[explicit-override, override]
        del size  # no caller reads less than a line
        line = super().readline(MAX_STDIN_LINE_CHARS)
        if not line:
            _exit_soon()
        if len(line) < MAX_STDIN_LINE_CHARS:
            return line
        start = end = line[:_END_CHARS]
        while len(line) == MAX_STDIN_LINE_CHARS and not line.endswith("\n"):
            end = line[-_END_CHARS:]
            line = super().readline(MAX_STDIN_LINE_CHARS)
        found = _ID_AT_START.match(start) or _ID_AT_END.search(end + line[-_END_CHARS:])
        return f"{_TOO_LONG}{found[1] if found else 'null'}\n"


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


def serve(server: Server[Any], output: BinaryIO) -> NoReturn:
    """Serve one client, and write the answers to `output` (the original stdout); never returns."""
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
        anyio.run(_run, server, output)
    except BaseException as error:
        if not _is_broken_pipe(error):
            logging.getLogger(__name__).exception("the server stopped")
            code = 3
    sys.stderr.flush()
    exit_process(code)


async def _run(server: Server[Any], output: BinaryIO) -> None:
    # surrogateescape keeps invalid UTF-8 recognisable, where `replace` would turn it into valid
    # text; utf-8-sig skips a byte order mark.
    stdin = anyio.wrap_file(_Stdin(take_stdin(), encoding="utf-8-sig", errors="surrogateescape"))
    stdout = anyio.wrap_file(_Stdout(output, encoding="utf-8", newline="\n"))
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
    # pydantic's location is empty if the line is not JSON. Otherwise it is JSON but not a message;
    # the error for a missing field then contains the whole object, and so the id of the request.
    if not isinstance(line, str) or problems[0]["loc"]:
        message = next((row["input"] for row in problems if row["type"] == "missing"), None)
        data = ErrorData(code=INVALID_REQUEST, message="Not a JSON-RPC 2.0 message.")
    elif line.isspace():
        return None
    elif line.startswith(_TOO_LONG):
        message = {"id": _parse_leniently(line.removeprefix(_TOO_LONG))}
        text = "The message is longer than 16 MiB. Send less in one call."
        data = ErrorData(code=INVALID_REQUEST, message=text)
    else:
        message = _parse_leniently(line)
        data = ErrorData(
            code=PARSE_ERROR, message="Each line must be JSON in UTF-8, at most 16 MiB long."
        )
    request_id = message.get("id") if isinstance(message, dict) else None
    return JSONRPCError(jsonrpc="2.0", id=request_id if _is_id(request_id) else None, error=data)


def _is_id(value: object) -> bool:
    """Return whether an answer can carry an id: one with a lone surrogate cannot be written."""
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _parse_leniently(line: str) -> object:
    """Parse a refused line again, to find the id of the request; return None if it is not JSON.

    Unlike pydantic, `json` accepts lone surrogates, which stand for invalid UTF-8.
    """
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
    while os.getppid() == parent:
        time.sleep(1)  # noqa: TID251 - nothing signals the end of the parent here
    exit_process(0)


def _exit_soon() -> None:
    timer = threading.Timer(SHUTDOWN_TIMEOUT_S, exit_process, (0,))
    timer.daemon = True
    timer.start()
