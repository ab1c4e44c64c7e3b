"""Reading that ends soon once nobody waits for it: between two statements, and within a long one.

A worker thread cannot be stopped from outside. So one that only reads is told whether its call was cancelled,
and asks where time goes: before each statement, every so many steps of one (docs/decisions/0040). What writes
is never told: it finishes what it began.
"""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from anyio import to_thread

from code_intel.errors import BusyError

P = ParamSpec("P")
T = TypeVar("T")

STEPS = 20_000
"""Instructions of SQLite's between two looks: about a millisecond."""

_over: ContextVar[threading.Event | None] = ContextVar("over", default=None)


async def reading(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work that only reads on a worker thread; cancelled, it is abandoned and ends soon."""
    over = threading.Event()

    def run() -> T:
        _over.set(over)  # a worker has a context of its own for each call
        return work(*args, **kwargs)

    try:
        return await to_thread.run_sync(run, abandon_on_cancel=True)
    finally:
        over.set()


def is_over() -> bool:
    """Whether this thread works for a call that was cancelled."""
    over = _over.get()
    return over is not None and over.is_set()


def check() -> None:
    """End work that nobody waits for.

    Raises:
        BusyError: Its call was cancelled; nobody reads this.
    """
    if is_over():
        raise BusyError("Nobody waits for this any more.")
