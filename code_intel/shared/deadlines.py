"""Limit the time that the calls to the engine for one request take together."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

from code_intel.errors import UpstreamError

TIMEOUT_HEADER = "x-timeout-ms"
"""How long the sender of a request waits for the answer, in milliseconds."""

_ends: ContextVar[float] = ContextVar("ends", default=inf)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let `seconds_left` count down in the block."""
    token = _ends.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends.reset(token)


def seconds_left(limit: float) -> float:
    """Return how long the next call may take, at most `limit`.

    Raises:
        UpstreamError: The sender of the request waits no longer.
    """
    left = _ends.get() - time.monotonic()
    if left <= 0:
        raise UpstreamError(
            "The engine did not answer in the time that the client waits.",
            hint="Try again later, or ask fewer repositories.",
        )
    return min(limit, left)
