"""An upstream that is a URL: the SDK's HTTP client, with headers, a token, limits, and reasons."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp.client.streamable_http import streamable_http_client

from code_intel.config import UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.servers.upstream_wire import MAX_MESSAGE, PIECE, Streams, Wire

SESSION_HEADER = "mcp-session-id"
QUIET = 300.0
"""Seconds without a byte after which a stream is opened anew; questions have their own limit."""
PLAIN = "identity"
REFUSED = frozenset({401, 403})
CHEAP = 4
"""A stream's bytes cost so much less than noise, since answers come by it as well ..."""
LINES = 10
"""... but so many of its lines as much as a message, since each takes time, an empty one too."""
MAX_TOKEN = 8192


@asynccontextmanager
async def remote(config: UpstreamConfig, wire: Wire) -> AsyncIterator[Streams]:
    """Speak to the URL; the token is read again at each connection, since tokens are rotated.

    Raises:
        UpstreamError: The token cannot be read.
    """
    headers = {**config.headers, "accept-encoding": PLAIN}
    if config.token_file is not None:
        wire.secret = _token(config.token_file)
        headers["authorization"] = f"Bearer {wire.secret}"

    async def look(response: httpx2.Response) -> None:
        status = response.status_code
        if status in REFUSED:
            wire.end(f"it answered {status}: it does not accept our token or headers")
        elif status == httpx2.codes.NOT_FOUND and SESSION_HEADER in response.request.headers:
            wire.end("it has forgotten our session")
        elif response.headers.get("content-encoding", PLAIN) != PLAIN:
            # A few kilobytes may unpack to gigabytes before anybody can measure them.
            wire.drop("it compressed its answer, though we asked it not to")
        elif response.request.method == "POST":
            wire.note = _note(response)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an asynchronous client
        if wire.dropped:
            response.headers.pop("content-encoding", None)
            response.stream = httpx2.ByteStream(b"")
            await stream.aclose()
        else:
            response.stream = _Bounded(stream, wire, ends=not _is_stream(response))

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


def _is_stream(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-type", "").startswith("text/event-stream"))


def _note(response: httpx2.Response) -> str:
    """Return what a status means that is no answer, or nothing."""
    if response.is_redirect:
        return f"HTTP {response.status_code}: it is elsewhere, where our token must not follow; correct url"
    return f"HTTP {response.status_code}" if response.is_error else ""


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends the connection when it grows too large or, without an end, too fast."""

    def __init__(self, stream: httpx2.AsyncByteStream, wire: Wire, *, ends: bool) -> None:
        self._stream = stream
        self._wire = wire
        self._ends = ends

    async def __aiter__(self) -> AsyncIterator[bytes]:  # type: ignore[explicit-override]  # typing.override needs 3.12
        size = 0
        async for data in self._stream:
            size += len(data)
            if not self._ends:
                lines = data.count(b"\n") + data.count(b"\r")
                cost = max(len(data) / (CHEAP * PIECE), lines / LINES)
                self._wire.spend(cost, "its stream of events")
            elif size > MAX_MESSAGE:
                self._wire.drop(f"it sent a message of more than {MAX_MESSAGE >> 20} MiB")
            if self._wire.dropped:
                return
            yield data

    async def aclose(self) -> None:  # type: ignore[explicit-override]  # as above
        await self._stream.aclose()


def _token(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe would keep us waiting
            raise UpstreamError(f"its token_file cannot be read: {file} is no file")
        with file.open(encoding="ascii") as text:
            token = text.read(MAX_TOKEN).strip()
    except OSError as error:
        why = f"its token_file cannot be read: {error.strerror or error}"
        raise UpstreamError(why) from error
    except ValueError:
        raise UpstreamError("its token_file holds no token: what is no ASCII") from None
    if not token or not token.isprintable() or " " in token:
        raise UpstreamError("its token_file holds no token")
    return token
