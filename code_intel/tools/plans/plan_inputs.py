"""Build a query plan from the caller's arguments.

Omitted arguments come from a preset, then from the project's defaults. A continued plan keeps what
the caller does not change, and its earlier results are evaluated by the new expectations.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.planning import goals, keeping, patterns, place, presets, settings
from code_intel.planning.expectations import (
    ExpectedResults,
    Layers,
    Preset,
    StrategyGiven,
    told_by,
)
from code_intel.planning.records import Mode, QueryPlan
from code_intel.planning.settings import PlanSettings
from code_intel.session.wording import fold
from code_intel.tools.context.corpus_service import check_query


class PlanArguments(NamedTuple):
    """The arguments that determine a plan, in the order of `PLAN_PARAMETERS`."""

    goal: str
    initial: Sequence[str]
    mode: Mode | None
    expected: ExpectedResults | None
    strategy: StrategyGiven | None
    plan_id: str
    preset: str

    def layer(self) -> Preset:
        """Return what the caller says of expectations and strategy."""
        return Preset.model_construct(
            expectedResults=self.expected or ExpectedResults(),
            strategy=self.strategy or StrategyGiven(),
            evaluationMode=self.mode,
        )


PLAN_PARAMETERS = (
    "goal",
    "initialQueries",
    "evaluationMode",
    "expectedResults",
    "strategy",
    "planId",
    "preset",
)
"""The tool's parameters that determine how a plan begins."""


class InitialPlan(NamedTuple):
    """A plan before its first query of this call, with its folder, defaults and earlier state."""

    root: Path
    own: PlanSettings
    before: QueryPlan | None
    plan: QueryPlan


def preview(settings_: Settings, arguments: Mapping[str, Any]) -> QueryPlan:
    """Return the plan that a call with these checked arguments would begin with.

    Raises:
        UsageError: See the tool.
    """
    given = {
        field: arguments[name]
        for field, name in zip(PlanArguments._fields, PLAN_PARAMETERS, strict=True)
    }
    return initial_plan(settings_, PlanArguments(**given)).plan


def initial_plan(settings_: Settings, arguments: PlanArguments) -> InitialPlan:
    """Return the plan before its first query of this call."""
    check_query(arguments.goal, "goal")
    for at, query in enumerate(arguments.initial):
        check_query(query, f"initialQueries[{at}]")
    patterns.all_compiled(arguments.layer().expectedResults.contentPatterns)
    root = place.root_of(settings_)
    own = settings.load(root)
    preset = _preset(root, arguments.preset.strip(), own)
    if not arguments.plan_id.strip():
        return InitialPlan(root, own, None, _new(arguments, preset, own))
    before = keeping.load(root, arguments.plan_id)
    return InitialPlan(root, own, before, _continued(before, arguments, preset))


def unknown_key_warnings_of(arguments: PlanArguments) -> list[str]:
    """Return a warning for each unknown nested key."""
    return [*arguments.layer().unknown_keys()]


def _preset(root: Path, name: str, own: PlanSettings) -> Preset:
    """Return the preset of a name, or what the kept plan of an id teaches."""
    if keeping.PLAN_ID.fullmatch(name.lower()):
        return presets.of_plan(keeping.load(root, name))
    return presets.chosen(name, own.presets) if name else Preset()


def _new(arguments: PlanArguments, preset: Preset, own: PlanSettings) -> QueryPlan:
    """Return a plan without iterations, from the arguments, the preset and the defaults."""
    layers = Layers(arguments.layer(), preset, own.defaults.layer())
    keywords = _keywords(arguments, preset, goals.keywords(arguments.goal))
    if not keywords:
        raise UsageError(
            "goal contains no word to search for.",
            hint="Describe what to find out in words, or pass expectedResults.keywords.",
            details={"field": "goal"},
        )
    first = [*arguments.initial, *preset.initialQueries]
    return QueryPlan(
        id=str(uuid.uuid4()),
        goal=arguments.goal,
        expected=layers.expected(keywords),
        mode=layers.mode(),
        strategy=layers.strategy(),
        waiting=goals.first_queries(arguments.goal, layers.strategy(), first),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _continued(plan: QueryPlan, arguments: PlanArguments, preset: Preset) -> QueryPlan:
    """Return a saved plan with the caller's changes, and those of a preset.

    Raises:
        UsageError: The plan has another goal.
    """
    if fold(arguments.goal) != fold(plan.goal):
        raise UsageError(
            "planId belongs to a plan with another goal.",
            hint="Pass the same goal, or omit planId to start a new plan.",
            details={"field": "goal"},
        )
    old = (plan.expected, plan.mode, plan.strategy)
    layers = Layers(arguments.layer(), preset, told_by(*old))
    new = (
        layers.expected(_keywords(arguments, preset, plan.expected.keywords)),
        layers.mode(),
        layers.strategy(),
    )
    waiting = goals.distinct([*arguments.initial, *preset.initialQueries, *plan.waiting])
    return replace(
        plan,
        expected=new[0],
        mode=new[1],
        strategy=new[2],
        waiting=tuple(waiting),
        asked=plan.asked if new == old else "",
    )


def _keywords(arguments: PlanArguments, preset: Preset, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keywords of the caller, or the usual ones and those of the preset."""
    return tuple(arguments.layer().expectedResults.keywords) or preset.expects(usual)


def earlier_source(plan: QueryPlan) -> tuple[str, str]:
    """Return the provider and the database of a saved plan, parsed from its source's name."""
    name = plan.source.rpartition(", ")[0] or plan.source
    return (name, "") if name in {"map", "forest", ""} else ("", name)


def either(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)
