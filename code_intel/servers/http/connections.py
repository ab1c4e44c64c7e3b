"""Limit HTTP connections: uvicorn accepts every client and waits forever for a request.

A connection above the limit is refused, and one whose request does not arrive in time is closed.
The answer has no time limit.
"""

import asyncio
import sys
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from code_intel.servers.http.limits import Limits


class LimitedProtocol(H11Protocol):
    """A connection; `limited_protocol` sets its limits."""

    limits: ClassVar[Limits] = Limits()
    _timer: asyncio.TimerHandle | None = None
    _timed_state: Any = None

    # The parameter is that of uvicorn.
    def connection_made(  # type: ignore[explicit-override, override]
        self, transport: asyncio.Transport
    ) -> None:
        """Accept a connection, or refuse it."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        self._update_timer()

    # typing.override needs 3.12.
    def data_received(self, data: bytes) -> None:  # type: ignore[explicit-override]
        """Read more of a request."""
        super().data_received(data)
        self._update_timer()

    # typing.override needs 3.12.
    def connection_lost(self, exc: Exception | None) -> None:  # type: ignore[explicit-override]
        """Forget the connection."""
        self._cancel_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # type: ignore[explicit-override]  # as above
        """Answer malformed HTTP; a missing or second Host is refused like a wrong one."""
        del msg
        bad_host = "Host:" in str(sys.exception())
        self._refuse(HTTPStatus.FORBIDDEN if bad_host else HTTPStatus.BAD_REQUEST)

    def _update_timer(self) -> None:
        """Start or stop the timer when the state of the request has changed."""
        state = self.conn.their_state
        if state is self._timed_state:
            return
        self._cancel_timer()
        self._timed_state = state
        seconds = {
            h11.IDLE: self.limits.head_seconds,
            # `RequestGuard` answers first, after `body_seconds`.
            h11.SEND_BODY: self.limits.body_seconds + self.limits.drain_seconds,
        }.get(state)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._give_up)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with only a status, unless an answer has begun, and close the connection."""
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


def limited_protocol(within: Limits) -> type[LimitedProtocol]:
    """Return a protocol class with these limits."""

    class Limited(LimitedProtocol):
        limits = within

    return Limited
