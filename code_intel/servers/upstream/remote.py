"""Connect to an upstream that is a URL, with the SDK's HTTP client, a token and limits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp.client.streamable_http import streamable_http_client

from code_intel.config import UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.servers.upstream.link import MAX_ANSWER_BYTES, Link, Streams

SESSION_HEADER = "mcp-session-id"
STREAM_TIMEOUT_S = 300.0
"""How long a stream may be silent before it is opened again; questions have their own limit."""
UNCOMPRESSED = "identity"
MAX_TOKEN_CHARS = 8192
MOVED_TOKEN = "its token_file is a link in the project, which a commit could change; name the file"  # noqa: S105


@asynccontextmanager
async def remote(config: UpstreamConfig, link: Link) -> AsyncIterator[Streams]:
    """Connect to a URL; read the token each time, because tokens are rotated.

    Raises:
        UpstreamError: The token cannot be read.
    """
    headers = {**config.headers, "accept-encoding": UNCOMPRESSED}
    if config.token_file is not None:
        if config.is_token_moved:
            raise UpstreamError(MOVED_TOKEN)
        link.secret = _token(config.token_file)
        headers["authorization"] = f"Bearer {link.secret}"

    async def check(response: httpx2.Response) -> None:
        _record_status(response, link)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an asynchronous client
        if link.dropped:
            response.headers.pop("content-encoding", None)
            response.stream = httpx2.ByteStream(b"")
            await stream.aclose()
        else:
            response.stream = _LimitedBody(stream, link)

    timeout = httpx2.Timeout(
        config.call_seconds, connect=config.start_seconds, read=STREAM_TIMEOUT_S
    )
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, event_hooks={"response": [check]}
        ) as client,
        # Ending the session would wait for a server that may hang.
        streamable_http_client(
            config.url,
            http_client=client,
            terminate_on_close=False,
            max_sse_event_size=MAX_ANSWER_BYTES,
        ) as streams,
    ):
        yield streams


def _record_status(response: httpx2.Response, link: Link) -> None:
    """Record in the link what a response means for the connection."""
    status = response.status_code
    if status in {httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN}:
        link.end(f"it answered {status}: it does not accept our token or headers")
    elif status == httpx2.codes.NOT_FOUND and SESSION_HEADER in response.request.headers:
        link.end("it has forgotten our session")
    elif response.headers.get("content-encoding", UNCOMPRESSED) != UNCOMPRESSED:
        # A few kilobytes may decompress to gigabytes before we can count them.
        link.drop("it compressed its answer although the request forbade it")
    elif response.request.method == "POST":
        link.http_error = ""
        if response.is_redirect:
            link.http_error = (
                f"HTTP {status}, a redirect; the token is not sent elsewhere, so correct the url"
            )
        elif response.is_error:
            link.http_error = f"HTTP {status}"


class _LimitedBody(httpx2.AsyncByteStream):
    """A response body that is cut at the size limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, link: Link) -> None:
        self._stream = stream
        self._link = link

    # typing.override needs 3.12.
    async def __aiter__(self) -> AsyncIterator[bytes]:  # type: ignore[explicit-override]
        async for data in self._stream:
            self._link.receive(len(data))
            if self._link.dropped:
                return
            yield data

    async def aclose(self) -> None:  # type: ignore[explicit-override]  # as above
        await self._stream.aclose()


def _token(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe would block
            raise UpstreamError(f"its token_file cannot be read: {file} is not a file")
        with file.open(encoding="ascii") as text:
            token = text.read(MAX_TOKEN_CHARS).strip()
    except OSError as error:
        why = f"its token_file cannot be read: {error.strerror or error}"
        raise UpstreamError(why) from error
    except ValueError:
        raise UpstreamError("its token_file contains no token: it is not ASCII") from None
    if not token or not token.isprintable() or " " in token:
        raise UpstreamError("its token_file contains no token")
    return token
