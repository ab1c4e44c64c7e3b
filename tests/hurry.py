"""Time limits that expire after an event, at any load of the machine.

The loop's clock is set ahead.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from upstreams import until

Answer = TypeVar("Answer")


def pass_by(seconds: float) -> None:
    """Advance the clock by `seconds` for everything that waits in this event loop, including time
    limits around the test.
    """
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]  # what every timer of the loop goes by


async def late(
    work: Coroutine[Any, Any, Answer], begun: Callable[[], object], seconds: float
) -> Answer:
    """Return the result of `work`, whose time limit of `seconds` expires.

    It expires once it counts and `begun` is true.
    """
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
            for _ in range(5):  # let `work` read what was written before
                await asyncio.sleep(0.01)
            pass_by(seconds)
            return await task
        finally:
            task.cancel()
