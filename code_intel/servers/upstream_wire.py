"""One connection to an upstream as its transport sees it: whether it has ended, why, and what was noise.

A server may answer, and may tell a little more; one that talks without end would fill our memory and
our time. So everything that is no answer costs something of an allowance that grows again with time, and
who has spent it is dropped, with the reason.
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

MAX_MESSAGE = 4 << 20
"""Bytes of one message: the largest answer we could use is far smaller."""
BURST = 1000.0
"""What a connection may send beside its answers at once, in messages (or pieces of 4 KiB) ..."""
RATE = 100.0
"""... and a second, on average."""
PIECE = 4096


@dataclass
class Wire:
    """A connection.

    Attributes:
        ended: Set when it is over, whoever ended it.
        reason: Why, in words of ours; empty while it lives, or when nobody knows.
        said: The other side's words about that, or empty.
        dropped: Whether it was us, because of what it sent.
        note: What the last thing was that went wrong below the protocol, such as `HTTP 503`.
        secret: What this connection knows beside the settings and nobody may see; or empty.
        ignored: What could not be used, counted by kind.
    """

    ended: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""
    said: str = ""
    dropped: bool = False
    note: str = ""
    secret: str = field(default="", repr=False)
    ignored: Counter[str] = field(default_factory=Counter)
    _allowance: float = BURST
    _at: float = 0.0

    def end(self, reason: str, said: str = "") -> None:
        """Note that the connection is over; the first reason counts."""
        if not self.ended.is_set():
            self.reason, self.said = reason, said
            self.ended.set()

    def drop(self, reason: str) -> None:
        """End the connection because of what came."""
        if not self.ended.is_set():
            self.dropped = True
            self.end(reason)

    def noise(self, kind: str, size: int = 0) -> None:
        """Count something that is no answer; end the connection when there is too much of it."""
        self.ignored[kind] += 1
        self.spend(1 + size / PIECE, kind)

    def spend(self, cost: float, kind: str) -> None:
        """Take `cost` from the allowance."""
        now = anyio.current_time()
        grown = (now - self._at) * RATE if self._at else 0.0
        self._allowance = min(BURST, self._allowance + grown) - cost
        self._at = now
        if self._allowance < 0:
            self.drop(f"it floods us with {kind}")


@asynccontextmanager
async def watched(transport: Transport, wire: Wire) -> AsyncIterator[Streams]:
    """Pass a transport's messages on, counting; its end is noticed though nobody asks anything."""
    async with transport as (read, write):
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def pump() -> None:
            async with send:
                async for item in read:
                    kind = _kind(item)
                    if kind:
                        wire.noise(kind)
                    if wire.ended.is_set():
                        return
                    if not isinstance(item, Exception):
                        await send.send(item)
            wire.end("")  # whoever knows more has said so

        async with receive, anyio.create_task_group() as group:
            group.start_soon(pump)
            try:
                yield receive, write
            finally:
                group.cancel_scope.cancel()


def _kind(item: SessionMessage | Exception) -> str:
    """Return what kind of noise a message is; empty for an answer."""
    if isinstance(item, Exception):
        return "messages that are no JSON-RPC"
    if isinstance(item.message, JSONRPCResponse | JSONRPCError):
        return ""
    return "messages nobody asked for"
