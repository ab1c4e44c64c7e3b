"""Record why a connection ended, and limit how much a server sends.

Everything that a server sends counts, including stderr. Above the limit, the connection is dropped,
so that no server can use unlimited memory or time. A valid answer resets the count.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import anyio
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]
Transport = AbstractAsyncContextManager[Streams]

MAX_ANSWER_BYTES = 8 << 20
"""Maximum number of bytes between two valid answers; the largest answer is far smaller."""
MESSAGE_COST_BYTES = 1024
"""Cost of a message in addition to its bytes, because reading even a short one takes time."""


@dataclass
class Link:
    """A connection.

    Attributes:
        ended: Set when it has ended.
        reason: Why it ended, in our words; empty while it is open or if the reason is unknown.
        said: The server's own text about the reason, or empty.
        dropped: Whether we ended it because of what the server sent.
        unusable: Whether the server cannot answer our questions at all.
        http_error: The last response if it was an HTTP error, such as `HTTP 503`, or empty.
        secret: A token that must not be shown, or empty.
        ignored: Counts of unusable messages, by kind.
        received_bytes: Bytes since the last valid answer.
    """

    ended: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""
    said: str = ""
    dropped: bool = False
    unusable: bool = False
    http_error: str = ""
    secret: str = field(default="", repr=False)
    ignored: Counter[str] = field(default_factory=Counter)
    received_bytes: int = 0

    def end(self, reason: str, said: str = "") -> None:
        """Record that the connection has ended; only the first reason counts."""
        if not self.ended.is_set():
            self.reason, self.said = reason, said
            self.ended.set()

    def drop(self, reason: str) -> None:
        """End the connection because of what the server sent."""
        self.dropped = self.dropped or not self.ended.is_set()
        self.end(reason)

    def receive(self, size: int) -> None:
        """Count received bytes, and drop the connection above the limit."""
        self.received_bytes += size
        if self.received_bytes > MAX_ANSWER_BYTES:
            self.drop(f"it sent more than {MAX_ANSWER_BYTES >> 20} MiB without a usable answer")


@asynccontextmanager
async def watch(transport: Transport, link: Link) -> AsyncIterator[Streams]:
    """Count and forward the messages of a transport, and record its end."""
    async with transport as (read, write):
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def forward() -> None:
            async with send:
                async for item in read:
                    link.receive(MESSAGE_COST_BYTES)
                    if link.ended.is_set():
                        return
                    if isinstance(item, Exception):
                        link.ignored["messages that are not JSON-RPC"] += 1
                        continue
                    if not isinstance(item.message, JSONRPCResponse | JSONRPCError):
                        link.ignored["unrequested messages"] += 1
                    await send.send(item)
            link.end("")

        async with receive, anyio.create_task_group() as group:
            group.start_soon(forward)
            try:
                yield receive, write
            finally:
                group.cancel_scope.cancel()
