"""Lock a query plan for one call; other calls, in this process or another, wait."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from code_intel.errors import BusyError
from code_intel.planning import keeping, place
from code_intel.planning.turns import Turn
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.plans.plan_inputs import InitialPlan, PlanArguments, initial_plan

POLL_SECONDS = 0.05
"""Time between two checks whether another process has finished."""


@asynccontextmanager
async def locked_plan(
    context: GatewayContext, root: Path, plan_id: str, seconds: float
) -> AsyncIterator[None]:
    """Lock a plan for one call; other calls wait.

    Raises:
        UsageError: `planId` is not a plan id.
        BusyError: The lock was not free in time.
    """
    own = Turn(root, plan_id)
    lock = context.locks.setdefault(f"plan {plan_id.strip().lower()}", anyio.Lock())
    async with AsyncExitStack() as stack:
        stack.callback(own.give_up)
        with anyio.move_on_after(seconds) as waiting:
            await stack.enter_async_context(lock)
            # Another process sets no event.
            while not await run_in_thread(own.take):  # noqa: ASYNC110
                await anyio.sleep(POLL_SECONDS)
        if waiting.cancelled_caught:
            raise BusyError(
                f"Another call is working on plan {plan_id}.",
                hint="Call again with this planId when that call has ended, to continue from its "
                "results. Or omit planId to start a new plan.",
                details={"field": "planId"},
            )
        yield


@asynccontextmanager
async def locked_initial_plan(
    context: GatewayContext, arguments: PlanArguments, seconds: float
) -> AsyncIterator[InitialPlan]:
    """Lock a new plan, or an earlier one to continue.

    Raises:
        UsageError: An argument is wrong.
        NotFoundError: There is no plan with this id.
        BusyError: The lock was not free in time.
    """
    if not arguments.plan_id.strip():
        new = await run_in_thread(initial_plan, context.settings, arguments)
        async with locked_plan(context, new.root, new.plan.id, seconds):
            yield new
        return
    root = await run_in_thread(place.root_of, context.settings)
    # Fail before waiting if there is no such plan.
    await run_in_thread(keeping.load, root, arguments.plan_id)
    async with locked_plan(context, root, arguments.plan_id, seconds):
        yield await run_in_thread(initial_plan, context.settings, arguments)
