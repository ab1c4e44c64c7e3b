"""End read-only work on a worker thread soon after its call was cancelled.

A thread cannot be stopped from outside, so work that only reads checks for cancellation before each
SQL statement and every few thousand steps within one (docs/decisions/0040). Work that writes is not
interrupted.
"""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from code_intel.errors import BusyError

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

STEPS = 20_000
"""SQLite instructions between two checks, about a millisecond."""

_cancelled: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)


async def run_read(work: Callable[P, ResultT], *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Run blocking work that only reads on a worker thread; after a cancellation, abandon it."""
    from anyio import to_thread  # a command in a terminal needs no event loop

    cancelled = threading.Event()

    def run() -> ResultT:
        _cancelled.set(cancelled)  # each call of a worker has its own context
        return work(*args, **kwargs)

    try:
        return await to_thread.run_sync(run, abandon_on_cancel=True)
    finally:
        cancelled.set()


def is_cancelled() -> bool:
    """Return whether the call that this thread works for was cancelled."""
    cancelled = _cancelled.get()
    return cancelled is not None and cancelled.is_set()


def raise_if_cancelled() -> None:
    """Stop the work of a cancelled call.

    Raises:
        BusyError: The call was cancelled.
    """
    if is_cancelled():
        raise BusyError("The call was cancelled.")
