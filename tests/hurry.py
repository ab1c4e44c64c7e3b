"""Time limits that are over when something has happened, however busy the machine: the loop's clock is set ahead."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from upstreams import until

Answer = TypeVar("Answer")


def pass_by(seconds: float) -> None:
    """Let so many seconds be over for whatever waits in this event loop, time limits around the test included."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]  # what every timer of the loop goes by


async def late(
    work: Coroutine[Any, Any, Answer], begun: Callable[[], object], seconds: float
) -> Answer:
    """Return what `work` answers whose time, so many seconds, is over once it counts and `begun` is true."""
    loop, ours = asyncio.get_running_loop(), asyncio.current_task()
    call_at, counts = loop.call_at, asyncio.Event()

    def noticed(when: float, *rest: Any, **context: Any) -> asyncio.TimerHandle:
        if asyncio.current_task() is not ours and abs(when - loop.time() - seconds) < 1:
            counts.set()
        return call_at(when, *rest, **context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "call_at", noticed)
        task = asyncio.ensure_future(work)
        try:
            await until(lambda: counts.is_set() and begun(), 120)
            pass_by(seconds)
            return await task
        finally:
            task.cancel()
