"""A plan while one call works on it: other calls, of this process or another, wait for their turn."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from code_intel.errors import BusyError
from code_intel.planning import keeping, place
from code_intel.planning.turns import Turn
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.plans.plan_inputs import Asked, Begun, begun

LOOK = 0.05
"""Seconds between two looks whether another process is done."""


@asynccontextmanager
async def turn(
    context: GatewayContext, root: Path, plan_id: str, seconds: float
) -> AsyncIterator[None]:
    """Hold a plan for one call; others wait, each its turn.

    Raises:
        UsageError: `planId` is no id of a plan.
        BusyError: It was not free in time.
    """
    own = Turn(root, plan_id)
    lock = context.locks.setdefault(f"plan {plan_id.strip().lower()}", anyio.Lock())
    async with AsyncExitStack() as held:
        held.callback(own.give_up)
        with anyio.move_on_after(seconds) as waiting:
            await held.enter_async_context(lock)
            while not await thread(own.take):  # noqa: ASYNC110 - another process sets no event
                await anyio.sleep(LOOK)
        if waiting.cancelled_caught:
            raise BusyError(
                f"Plan {plan_id} is being worked on by another call.",
                hint="Call again with its planId once that has ended: it goes on from what was found. "
                "Or leave planId out to begin a new plan.",
                details={"field": "planId"},
            )
        yield


@asynccontextmanager
async def beginning(context: GatewayContext, asked: Asked, seconds: float) -> AsyncIterator[Begun]:
    """Begin a plan, or go on with one as it is when nobody else works on it any more, and hold it.

    Raises:
        UsageError: What the caller says is wrong.
        NotFoundError: There is no plan to go on with.
        BusyError: It was not free in time.
    """
    if not asked.plan_id.strip():
        new = await thread(begun, context.settings, asked)
        async with turn(context, new.root, new.plan.id, seconds):
            yield new
        return
    root = await thread(place.root_of, context.settings)
    await thread(keeping.load, root, asked.plan_id)  # what is not there is waited for by nobody
    async with turn(context, root, asked.plan_id, seconds):
        yield await thread(begun, context.settings, asked)
