"""HTTP connections with bounds: uvicorn waits for a request for ever, and accepts everybody.

A connection beyond the limit is refused, and one whose request does not arrive is closed. What is
being answered may take its time.
"""

import asyncio
import sys
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from code_intel.servers.http_limits import Limits


class BoundedProtocol(H11Protocol):
    """One connection; `bounded` says within what bounds."""

    limits: ClassVar[Limits] = Limits()
    _timer: asyncio.TimerHandle | None = None
    _awaiting: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[explicit-override, override]  # as uvicorn
        """Take a connection, or refuse it."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        self._watch()

    def data_received(self, data: bytes) -> None:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Read on."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:  # type: ignore[explicit-override]  # as above
        """Forget the connection."""
        self._stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # type: ignore[explicit-override]  # as above
        """Answer what is no HTTP; without exactly one Host it is refused like a foreign one."""
        del msg
        foreign = "Host:" in str(sys.exception())
        self._refuse(HTTPStatus.FORBIDDEN if foreign else HTTPStatus.BAD_REQUEST)

    def _watch(self) -> None:
        """Start or stop the clock when the client has got further."""
        state = self.conn.their_state
        if state is self._awaiting:
            return
        self._stop()
        self._awaiting = state
        seconds = {
            h11.IDLE: self.limits.head_seconds,
            h11.SEND_BODY: self.limits.body_seconds
            + self.limits.drain_seconds,  # `Guard` was first
        }.get(state)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with a status alone and close; where an answer has begun, only close."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            head = h11.Response(
                status_code=status,
                headers=[("Content-Length", "0"), ("Connection", "close")],
                reason=status.phrase.encode(),
            )
            self.transport.write(
                (self.conn.send(head) or b"") + (self.conn.send(h11.EndOfMessage()) or b"")
            )
        self.transport.close()


def bounded(within: Limits) -> type[BoundedProtocol]:
    """Return the protocol with these bounds."""

    class Bounded(BoundedProtocol):
        limits = within

    return Bounded
