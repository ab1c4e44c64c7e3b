"""Run a server on stdin and stdout until the client closes them.

stdout carries JSON-RPC alone: `wire.take_stdout` has moved it away before anything could print.
When stdin ends, or nobody reads stdout any more, the process ends within `ENDING` seconds: worker threads
that are inside native code, or wait for the client to read, are abandoned, which is safe because everything
they write is a transaction (docs/decisions/0006).
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

from code_intel.servers.ending import leave
from code_intel.servers.wire import take_stdin

ENDING = 1.9
"""Seconds until a server is gone whose client is; children that are still there are ended by `child_guard`."""
INIT = 1
"""The process that adopts all others; a server that it starts outlives nobody."""
LONGEST = 16 << 20
"""Characters of a message; what follows in its line is thrown away unread."""
_TOO_LONG = (
    "a line of more than 16 MiB\n"  # no JSON, hence refused like everything else that is none
)


class _Stdin(TextIOWrapper):
    """What the client says, in lines of at most `LONGEST`; when that ends the rest has `ENDING` seconds."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[explicit-override, override]  # typing.override needs 3.12; the base's own class breaks it
        del size  # nobody asks for less than a line
        line = super().readline(LONGEST)
        if not line:
            _end_soon()
        if len(line) < LONGEST:
            return line
        while len(line) == LONGEST and not line.endswith("\n"):
            line = super().readline(LONGEST)
        return _TOO_LONG


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
    # A KeyboardInterrupt would wait for the thread that reads stdin; no signal waits for a child.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupted)
    parent = os.getppid()
    if parent > INIT and sys.platform != "win32":  # there a child never learns of it
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    code = 0
    try:
        anyio.run(_run, server, wire)
    except BaseException as error:
        if not _is_gone(error):
            logging.getLogger(__name__).exception("the server stopped")
            code = 3
    sys.stderr.flush()
    leave(code)


async def _run(server: Server[Any], wire: BinaryIO) -> None:
    # Bytes that are no UTF-8 must not become other text, and a byte order mark is none.
    stdin = anyio.wrap_file(_Stdin(take_stdin(), encoding="utf-8-sig", errors="surrogateescape"))
    stdout = anyio.wrap_file(_Stdout(wire, encoding="utf-8", newline="\n"))
    async with (
        stdio_server(stdin, stdout) as (read, write),
        _refusing(read, write) as heard,
    ):
        await server.run(heard, write, server.create_initialization_options())


Heard = SessionMessage | Exception


@asynccontextmanager
async def _refusing(
    read: ReadStream[Heard], write: WriteStream[SessionMessage]
) -> AsyncIterator[ReadStream[Heard]]:
    """Pass messages on; answer what is none with the error of JSON-RPC, as the SDK does over HTTP alone."""
    send, receive = anyio.create_memory_object_stream[Heard](0)

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
    """Return the answer to a line that is no message; None for a blank one."""
    problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    first = problems[0]["input"] if problems else ""
    if not isinstance(first, str) or problems[0]["loc"]:
        whole = next((row["input"] for row in problems if row["type"] == "missing"), None)
        said = ErrorData(code=INVALID_REQUEST, message="Not a JSON-RPC 2.0 message.")
    elif first.isspace():
        return None
    else:
        whole = _read(first)
        said = ErrorData(code=PARSE_ERROR, message="Not JSON in UTF-8 of at most 16 MiB a line.")
    number = whole.get("id") if isinstance(whole, dict) else None
    known = isinstance(number, int | str) and not isinstance(number, bool)
    return JSONRPCError(jsonrpc="2.0", id=number if known else None, error=said)


def _read(line: str) -> object:
    """Return what Python takes a line for: it bears half a surrogate pair, the protocol does not."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_gone(error: BaseException) -> bool:
    """Whether all that happened is that the client reads no more."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_gone(one) for one in error.exceptions)
    return isinstance(error, BrokenPipeError)


def _interrupted(number: int, _frame: FrameType | None) -> NoReturn:
    leave(128 + number)


def _end_with(parent: int) -> None:
    """End when who started us is gone, though somebody else may hold our stdin open."""
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):  # it is gone already, or the kernel is old
            handle = os.pidfd_open(parent)
            select.select([handle], [], [])
    never = threading.Event()
    while os.getppid() == parent:
        never.wait(1)
    leave(0)


def _end_soon() -> None:
    last = threading.Timer(ENDING, leave, (0,))
    last.daemon = True
    last.start()
