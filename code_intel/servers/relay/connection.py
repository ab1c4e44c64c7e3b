"""Serve one relay: what it sends is the stdin of a server, and what it gets the stdout.

The SDK's transport reads and writes lines of text; these are those of a connection.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import anyio
from anyio.abc import SocketStream

from code_intel.servers.long_lines import END_CHARS, MAX_LINE_CHARS, describe_long_line
from code_intel.servers.relay.greeting import PING, PONG, SESSION, TAKEN

STDIO_CONNECTION = ""
"""Name of the connection of a process's own client."""
connection_name: ContextVar[str] = ContextVar("connection_name", default=STDIO_CONNECTION)
"""The name of the connection whose request is being answered."""
_MAX_LINE_BYTES = 4 * MAX_LINE_CHARS


class RelayInput:
    """The lines of a relay, in place of the file that the SDK's transport reads."""

    def __init__(
        self, link: SocketStream, begun: bytes, answer: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Begin with what has been received already; `answer` sends the relay a line."""
        self._link = link
        self._begun = bytearray(begun)
        self._answer = answer
        self._encoding = "utf-8-sig"
        self._is_stopped = False

    def stop(self) -> None:
        """Take no more lines; the relay sends them to the next server."""
        self._is_stopped = True

    def __aiter__(self) -> "RelayInput":
        """Return this object."""
        return self

    async def __anext__(self) -> str:
        """Return the next line, or one that describes it if it is too long.

        Raises:
            StopAsyncIteration: The relay has ended.
        """
        while True:
            line, is_long = await self._line()
            if self._is_stopped:
                await anyio.sleep_forever()
            await self._answer(PONG if line == PING else TAKEN)
            if line == PING:
                continue
            # surrogateescape keeps invalid UTF-8 recognisable; a byte order mark is skipped.
            text = line.decode(self._encoding, "surrogateescape")
            self._encoding = "utf-8"
            return describe_long_line(text, text) if is_long or len(text) > MAX_LINE_CHARS else text

    async def _line(self) -> tuple[bytes, bool]:
        """Return the next line, and whether it is so long that only its ends were kept."""
        searched, is_long = 0, False
        while (end := self._begun.find(b"\n", searched)) < 0:
            if len(self._begun) > _MAX_LINE_BYTES:
                is_long = True
                del self._begun[END_CHARS:-END_CHARS]
            searched = len(self._begun)
            try:
                self._begun += await self._link.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                if not self._begun:
                    raise StopAsyncIteration from None
                end = len(self._begun) - 1
                break
        line = bytes(self._begun[: end + 1])
        del self._begun[: end + 1]
        return line, is_long


class RelayOutput:
    """The lines for a relay, in place of the file that the SDK's transport writes."""

    def __init__(self, link: SocketStream, last: Callable[[], str | None]) -> None:
        """Begin a connection whose last session is `last()`."""
        self._link = link
        self._last, self._told = last, last()
        self._turn = anyio.Lock()
        self._waiting: list[bytes] = []

    async def write(self, text: str) -> None:
        """Add a message to those that `flush` sends."""
        self._waiting.append(text.encode("utf-8", "surrogateescape"))

    async def flush(self) -> None:
        """Send what waits, after the session if it is another one."""
        last = self._last()
        if last != self._told:
            self._told = last
            self._waiting.insert(0, SESSION + (last or "").encode() + b"\n")
        await self.send()

    async def answer(self, line: bytes) -> None:
        """Send a line that is no message."""
        self._waiting.append(line)
        await self.send()

    async def send(self) -> None:
        """Send what waits."""
        async with self._turn:
            data = b"".join(self._waiting)
            self._waiting.clear()
            if data:
                await self._link.send(data)
