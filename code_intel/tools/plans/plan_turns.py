"""Let one call at a time work on a query plan, in this process and in others.

Two calls that continue the same plan would overwrite each other's results. The lock is a file
beside the plan; it ends with its process (docs/decisions/0041).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from filelock import FileLock, Timeout  # noqa: TID251 - a lock that is held for long

from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable
from code_intel.planning import keeping, place
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.plans.plan_inputs import InitialPlan, PlanArguments, initial_plan

POLL_SECONDS = 0.05
"""Time between two checks whether another call has finished."""


@asynccontextmanager
async def locked_plan(root: Path, plan_id: str, seconds: float) -> AsyncIterator[None]:
    """Lock a plan for one call; other calls wait.

    Raises:
        UsageError: `planId` is not a plan id.
        BusyError: The lock was not free in time.
    """
    path = keeping.file_of(root, plan_id).with_suffix(".lock")
    lock = FileLock(path, thread_local=False)
    try:
        with anyio.move_on_after(seconds) as waiting:
            # Another process sets no event.
            while not await run_in_thread(_take, lock, root):  # noqa: ASYNC110
                await anyio.sleep(POLL_SECONDS)
        if waiting.cancelled_caught:
            raise BusyError(
                f"Another call is working on plan {plan_id}.",
                hint="Call again with this planId when that call has ended, to continue from its "
                "results. Or omit planId to start a new plan.",
                details={"field": "planId"},
            )
        yield
    finally:
        if lock.is_locked:
            with suppress(StorageError):  # Windows removes no file that is open
                durable.remove(path, flushed=False)
            lock.release()


def _take(lock: FileLock, root: Path) -> bool:
    """Return whether the lock was free. A disk without locks stores no plan, so it needs none."""
    try:
        place.prepared(root, place.PLANS)
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except (StorageError, OSError):
        pass
    return True


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
    initial = await run_in_thread(initial_plan, context.settings, arguments)  # fail before waiting
    async with locked_plan(initial.root, initial.plan.id, seconds):
        if initial.before is not None:  # another call may have continued it
            initial = await run_in_thread(initial_plan, context.settings, arguments)
        yield initial
