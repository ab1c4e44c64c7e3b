"""Answer malformed lines of a client with JSON-RPC errors, as the SDK does over HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from code_intel.servers.long_lines import TOO_LONG

Incoming = SessionMessage | Exception


@asynccontextmanager
async def refuse_malformed(
    read: ReadStream[Incoming], write: WriteStream[SessionMessage]
) -> AsyncIterator[ReadStream[Incoming]]:
    """Forward messages, and answer malformed ones with a JSON-RPC error."""
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
    elif line.startswith(TOO_LONG):
        message = {"id": _parse_leniently(line.removeprefix(TOO_LONG))}
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
