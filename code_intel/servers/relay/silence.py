"""Tell how long a server has been silent while its client waits.

A server that has been stopped keeps its connections open, so only silence shows it.
"""

import time

from code_intel.foundation.gateway_socket import is_stopped

PING_S, SILENT_S = 2.0, 10.0
"""Seconds of silence until the server is asked for a sign of life, and until it counts as stopped.
"""
END_S = 1.9
"""Seconds that a server may take to end the connection after its client has gone."""


class Silence:
    """The time since the server was heard, while something waits for it."""

    def __init__(self, process: int | None, *, asks: bool) -> None:
        """Begin; `asks` says whether the server, in `process`, must give signs of life."""
        self._process = process
        self._asks = asks
        self._is_waiting = False
        self._since = self._asked = self._now = time.monotonic()

    def end(self) -> None:
        """Note that the server was heard."""
        self._since = self._asked = time.monotonic()

    def look(self, *, is_waiting: bool) -> None:
        """Look at the clock; only if `is_waiting` does something wait for the server."""
        self._now = time.monotonic()
        if not (is_waiting and self._is_waiting):
            self._since = self._asked = self._now
        self._is_waiting = is_waiting

    def is_over(self, seconds: float) -> bool:
        """Return whether the silence is longer."""
        return self._now - self._since > seconds

    @property
    def is_too_long(self) -> bool:
        """Whether the server counts as stopped."""
        if not self._asks:
            return False
        return self.is_over(SILENT_S) or (self.is_over(PING_S) and is_stopped(self._process))

    @property
    def must_ask(self) -> bool:
        """Whether to ask for a sign of life now; if so, it counts as asked."""
        if not self._asks or self._now - self._asked <= PING_S:
            return False
        self._asked = self._now
        return True
