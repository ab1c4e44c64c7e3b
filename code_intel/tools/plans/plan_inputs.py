"""Build a query plan from the caller's arguments, and let one call at a time work on it.

Omitted arguments come from a preset, then from the project's defaults. A continued plan keeps what
the caller does not change, and its earlier results are evaluated by the new expectations. Two
calls that continue the same plan would overwrite each other's results, so each takes a lock file
beside the plan, which ends with its process (docs/decisions/0041).
"""
# ruff: noqa: N815 - the names of seed 003, on the wire

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from filelock import FileLock, Timeout  # noqa: TID251 - a lock that is held for long

from code_intel.config import Settings
from code_intel.errors import BusyError, StorageError, UsageError
from code_intel.foundation import durable
from code_intel.planning import expectations, goals, keeping, patterns, place, settings
from code_intel.planning.expectations import Preset, merged
from code_intel.planning.records import MAP_SOURCE, MAX_KEYWORDS, Expected, QueryPlan, Strategy
from code_intel.planning.settings import PlanSettings
from code_intel.session.wording import fold
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.gateway import GatewayContext, run_in_thread

POLL_SECONDS = 0.05
"""Time between two checks whether another call has finished."""


class PlanArguments(Preset):
    """The arguments that determine a plan; `preset` is the name of one, or the id of a plan."""

    goal: str
    planId: str = ""
    preset: str = ""

    @classmethod
    def of(cls, **arguments: Any) -> "PlanArguments":
        """Return those of the tool's checked arguments that determine a plan."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return cls.model_construct(
            **{name: given[name] for name in cls.model_fields & given.keys()}
        )


class InitialPlan(NamedTuple):
    """A plan before its first query of this call, with its folder, defaults and earlier state."""

    root: Path
    own: PlanSettings
    before: QueryPlan | None
    plan: QueryPlan


def initial_plan(settings_: Settings, given: PlanArguments) -> InitialPlan:
    """Return the plan before its first query of this call.

    Raises:
        UsageError: An argument is wrong, or the plan to continue has another goal.
        NotFoundError: There is no plan with this id.
    """
    check_query(given.goal, "goal")
    for at, query in enumerate(given.initialQueries):
        check_query(query, f"initialQueries[{at}]")
    patterns.check(given.expectedResults.contentPatterns)
    root = place.root_of(settings_)
    own = settings.load(root)
    before = keeping.load(root, given.planId.strip()) if given.planId.strip() else None
    if before and fold(given.goal) != fold(before.goal):
        raise UsageError(
            "planId belongs to a plan with another goal.",
            hint="Pass the same goal, or omit planId to start a new plan.",
            details={"field": "goal"},
        )
    preset = _preset(root, given.preset.strip(), own)
    base = before or QueryPlan(
        id=str(uuid.uuid4()),
        goal=given.goal,
        expected=merged(Expected, own.defaults, keywords=goals.keywords(given.goal)),
        mode=own.defaults.evaluationMode,
        strategy=merged(Strategy, own.defaults),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    plan = _changed(base, preset, given)
    if not plan.expected.keywords:
        raise UsageError(
            "goal contains no word to search for.",
            hint="Describe what to find out in words, or pass expectedResults.keywords.",
            details={"field": "goal"},
        )
    first = [*given.initialQueries, *preset.initialQueries]
    if before is None:
        waiting = goals.first_queries(plan.goal, plan.strategy, first, plan.expected.keywords)
    else:
        waiting = tuple(goals.distinct([*first, *before.waiting]))
    asked = base.asked if plan == base else ""
    return InitialPlan(root, own, before, replace(plan, waiting=waiting, asked=asked))


def _preset(root: Path, name: str, own: PlanSettings) -> Preset:
    """Return the preset of a name, or what the kept plan of an id teaches."""
    if keeping.PLAN_ID.fullmatch(name.lower()):
        return expectations.of_plan(keeping.load(root, name, "preset"))
    return expectations.chosen(name, own.presets) if name else Preset()


def _changed(plan: QueryPlan, preset: Preset, given: Preset) -> QueryPlan:
    """Return a plan with what a preset, then the caller changes."""
    layers = (plan.expected, preset.expectedResults, given.expectedResults)
    own = plan.expected.keywords
    known = goals.asked_for(" ".join(own))
    more = [word for word in preset.expectedResults.keywords if not goals.folded(word) <= known]
    words = given.expectedResults.keywords or [*own, *more]
    return replace(
        plan,
        expected=merged(Expected, *layers, keywords=words[:MAX_KEYWORDS]),
        mode=given.evaluationMode or preset.evaluationMode or plan.mode,
        strategy=merged(Strategy, plan.strategy, preset.strategy, given.strategy),
    )


def earlier_source(plan: QueryPlan) -> tuple[str, str]:
    """Return the provider and the database of a saved plan, parsed from its source's name."""
    name = plan.source.rpartition(", ")[0] or plan.source
    return (name, "") if name in {MAP_SOURCE, "forest", ""} else ("", name)


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
    """Lock a new plan, or an earlier one to continue; see `initial_plan` and `locked_plan`."""
    initial = await run_in_thread(initial_plan, context.settings, arguments)  # fail before waiting
    async with locked_plan(initial.root, initial.plan.id, seconds):
        if initial.before is not None:  # another call may have continued it
            initial = await run_in_thread(initial_plan, context.settings, arguments)
        yield initial
