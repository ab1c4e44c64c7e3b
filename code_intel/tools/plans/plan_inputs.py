"""Build a query plan from the caller's arguments.

Omitted arguments come from a preset, then from the project's defaults. A continued plan keeps what
the caller does not change, and its earlier results are evaluated by the new expectations.
"""
# ruff: noqa: N803 - the names of seed 003, on the wire

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.errors import NotFoundError, UsageError
from code_intel.planning import goals, keeping, patterns, place, presets, settings
from code_intel.planning.expectations import ExpectedResults, Preset, StrategyGiven, merged
from code_intel.planning.records import MAX_KEYWORDS, Expected, Mode, QueryPlan, Strategy
from code_intel.planning.settings import PlanSettings
from code_intel.session.wording import fold
from code_intel.tools.context.corpus_service import check_query


class PlanArguments(NamedTuple):
    """The arguments that determine a plan; `preset` is the name of one, or the id of a plan."""

    goal: str
    given: Preset
    plan_id: str
    preset: str


class InitialPlan(NamedTuple):
    """A plan before its first query of this call, with its folder, defaults and earlier state."""

    root: Path
    own: PlanSettings
    before: QueryPlan | None
    plan: QueryPlan


def plan_arguments(
    goal: str,
    initialQueries: Sequence[str],
    evaluationMode: Mode | None,
    expectedResults: ExpectedResults | None,
    strategy: StrategyGiven | None,
    planId: str,
    preset: str,
    **_others: object,
) -> PlanArguments:
    """Return those arguments of the tool that determine a plan."""
    given = Preset.model_construct(
        expectedResults=expectedResults or ExpectedResults(),
        strategy=strategy or StrategyGiven(),
        evaluationMode=evaluationMode,
        initialQueries=list(initialQueries),
    )
    return PlanArguments(goal, given, planId.strip(), preset.strip())


def preview(settings_: Settings, arguments: Mapping[str, Any]) -> QueryPlan:
    """Return the plan that a call with these checked arguments would begin with.

    Raises:
        UsageError: See the tool.
    """
    return initial_plan(settings_, plan_arguments(**arguments)).plan


def initial_plan(settings_: Settings, arguments: PlanArguments) -> InitialPlan:
    """Return the plan before its first query of this call."""
    check_query(arguments.goal, "goal")
    for at, query in enumerate(arguments.given.initialQueries):
        check_query(query, f"initialQueries[{at}]")
    patterns.all_compiled(arguments.given.expectedResults.contentPatterns)
    root = place.root_of(settings_)
    own = settings.load(root)
    preset = _preset(root, arguments.preset, own)
    if not arguments.plan_id:
        return InitialPlan(root, own, None, _new(arguments, preset, own))
    before = keeping.load(root, arguments.plan_id)
    return InitialPlan(root, own, before, _continued(before, arguments, preset))


def _preset(root: Path, name: str, own: PlanSettings) -> Preset:
    """Return the preset of a name, or what the kept plan of an id teaches."""
    if not keeping.PLAN_ID.fullmatch(name.lower()):
        return presets.chosen(name, own.presets) if name else Preset()
    try:
        return presets.of_plan(keeping.load(root, name))
    except NotFoundError as error:
        raise NotFoundError(
            error.message,
            hint="Pass the id of a stored plan, or the name of a preset.",
            details={"field": "preset"},
        ) from None


def _new(arguments: PlanArguments, preset: Preset, own: PlanSettings) -> QueryPlan:
    """Return a plan without iterations, from the arguments, the preset and the defaults."""
    given, usual = arguments.given, own.defaults
    keywords = given.expectedResults.keywords or preset.expects(goals.keywords(arguments.goal))
    if not keywords:
        raise UsageError(
            "goal contains no word to search for.",
            hint="Describe what to find out in words, or pass expectedResults.keywords.",
            details={"field": "goal"},
        )
    strategy = merged(Strategy, usual, preset.strategy, given.strategy)
    first = [*given.initialQueries, *preset.initialQueries]
    return QueryPlan(
        id=str(uuid.uuid4()),
        goal=arguments.goal,
        expected=_expected(usual, preset, given, keywords),
        mode=given.evaluationMode or preset.evaluationMode or usual.evaluationMode,
        strategy=strategy,
        waiting=goals.first_queries(arguments.goal, strategy, first, keywords),
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
    given = arguments.given
    keywords = given.expectedResults.keywords or preset.expects(plan.expected.keywords)
    queries = [*given.initialQueries, *preset.initialQueries, *plan.waiting]
    new = replace(
        plan,
        expected=_expected(plan.expected, preset, given, keywords),
        mode=given.evaluationMode or preset.evaluationMode or plan.mode,
        strategy=merged(Strategy, plan.strategy, preset.strategy, given.strategy),
    )
    return replace(
        new, waiting=tuple(goals.distinct(queries)), asked=plan.asked if new == plan else ""
    )


def _expected(usual: Any, preset: Preset, given: Preset, keywords: Sequence[str]) -> Expected:
    layers = (usual, preset.expectedResults, given.expectedResults)
    return merged(Expected, *layers, keywords=keywords[:MAX_KEYWORDS])


def earlier_source(plan: QueryPlan) -> tuple[str, str]:
    """Return the provider and the database of a saved plan, parsed from its source's name."""
    name = plan.source.rpartition(", ")[0] or plan.source
    return (name, "") if name in {"map", "forest", ""} else ("", name)


def either(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)
