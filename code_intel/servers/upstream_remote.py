"""An upstream that is a URL: the SDK's HTTP client, with headers, a token, limits, and reasons."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp.client.streamable_http import streamable_http_client

from code_intel.config import UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.servers.upstream_wire import MAX_MESSAGE, Streams, Wire

DEPTH_HEADER = "x-code-intel-depth"
"""How many gateways a question has come through, for whoever answers."""
SESSION_HEADER = "mcp-session-id"
QUIET = 300.0
"""Seconds without a byte after which a stream is opened anew; questions have their own limit."""
REFUSED = frozenset({401, 403})
MAX_TOKEN = 8192


@asynccontextmanager
async def remote(config: UpstreamConfig, wire: Wire) -> AsyncIterator[Streams]:
    """Speak to the URL; the token is read again at each connection, since tokens are rotated.

    Raises:
        UpstreamError: The token cannot be read.
    """
    headers = {**config.headers, DEPTH_HEADER: str(config.depth)}
    if config.token_file is not None:
        wire.secret = _token(config.token_file)
        headers["authorization"] = f"Bearer {wire.secret}"

    async def look(response: httpx2.Response) -> None:
        status = response.status_code
        if status in REFUSED:
            wire.end(f"it answered {status}: it does not accept our token or headers")
        elif status == httpx2.codes.NOT_FOUND and SESSION_HEADER in response.request.headers:
            wire.end("it has forgotten our session")
        elif response.request.method == "POST":
            wire.note = f"HTTP {status}" if response.is_error else ""
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an asynchronous client
            response.stream = _Bounded(stream, wire)

    timeout = httpx2.Timeout(config.call_seconds, connect=config.start_seconds, read=QUIET)
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, event_hooks={"response": [look]}
        ) as http,
        # Ending the session politely would wait for a server that may hang.
        streamable_http_client(
            config.url, http_client=http, terminate_on_close=False, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends the connection when it grows too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, wire: Wire) -> None:
        self._stream = stream
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        size = 0
        async for data in self._stream:
            size += len(data)
            if size > MAX_MESSAGE:
                self._wire.drop(f"it sent a message of more than {MAX_MESSAGE >> 20} MiB")
                return
            yield data

    async def aclose(self) -> None:  # type: ignore[explicit-override]  # as above
        await self._stream.aclose()


def _token(file: Path) -> str:
    try:
        with file.open(encoding="ascii") as text:
            token = text.read(MAX_TOKEN).strip()
    except (OSError, ValueError) as error:
        raise UpstreamError(f"its token_file cannot be read: {error}") from error
    if not token or not token.isprintable() or " " in token:
        raise UpstreamError("its token_file holds no token")
    return token
