"""Build a query plan from the caller's arguments.

Omitted arguments come from a preset, then from the project's defaults. A continued plan keeps what
the caller does not change, and its earlier results are evaluated by the new expectations.
"""
# ruff: noqa: N815 - the names of seed 003, on the wire

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from code_intel.config import Settings
from code_intel.config.reading import unknown_key_warnings
from code_intel.errors import UsageError
from code_intel.planning import goals, keeping, patterns, place, presets, settings
from code_intel.planning.presets import Preset
from code_intel.planning.records import (
    DEFAULT_CONFIDENCE,
    MAX_KEYWORDS,
    MAX_MATCHES,
    MAX_RULES,
    MAX_WORD_CHARS,
    MIN_MATCHES,
    Expected,
    InitialMode,
    Mode,
    QueryPlan,
    Refinement,
    Strategy,
)
from code_intel.planning.settings import PlanSettings
from code_intel.session.wording import fold
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.declaration import from_json

Words = list[Annotated[str, Field(min_length=1, max_length=MAX_WORD_CHARS)]]


class _InputModel(BaseModel):
    model_config = ConfigDict(extra="allow")  # unknown keys are reported as warnings

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        """Drop null values, as for top-level arguments."""
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None}


class ExpectedResults(_InputModel):
    """Properties of good results."""

    keywords: Annotated[
        Words,
        Field(
            max_length=MAX_KEYWORDS,
            description="Words that results should contain; default: the goal's.",
        ),
        BeforeValidator(from_json),
    ] = []
    minMatches: Annotated[
        int | None,
        Field(
            ge=1, le=MAX_MATCHES, description=f"Number of results to expect; default {MIN_MATCHES}."
        ),
    ] = None
    contentPatterns: Annotated[
        list[Annotated[str, Field(max_length=patterns.MAX_PATTERN_CHARS)]],
        Field(
            max_length=patterns.MAX_PATTERNS,
            description="RE2 expressions that results should match.",
        ),
        BeforeValidator(from_json),
    ] = []
    confidence: Annotated[
        float | None,
        Field(
            ge=0, le=1, description=f"Score that is good enough; default {DEFAULT_CONFIDENCE:g}."
        ),
    ] = None


class StrategyGiven(_InputModel):
    """How queries are built."""

    initialMode: Annotated[
        InitialMode | None,
        Field(
            description="First query: broad (two keywords) or specific (all); default: the goal."
        ),
    ] = None
    refinementMethod: Annotated[
        Refinement | None,
        Field(
            description="Add missing keywords, words of the best hits (semantic), or both (hybrid)."
        ),
    ] = None
    expansionRules: Annotated[
        Words,
        Field(
            max_length=MAX_RULES, description="`add X`, `include X`, `search in X`, or other words."
        ),
        BeforeValidator(from_json),
    ] = []


class PlanArguments(NamedTuple):
    """The arguments that determine a plan, in the order of `PLAN_PARAMETERS`."""

    goal: str
    initial: Sequence[str]
    mode: Mode | None
    expected: ExpectedResults | None
    strategy: StrategyGiven | None
    plan_id: str
    preset: str


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


def initial_plan(settings_: Settings, plan_arguments: PlanArguments) -> InitialPlan:
    """Return the plan before its first query of this call."""
    check_query(plan_arguments.goal, "goal")
    for at, query in enumerate(plan_arguments.initial):
        check_query(query, f"initialQueries[{at}]")
    patterns.all_compiled((plan_arguments.expected or ExpectedResults()).contentPatterns)
    root = place.root_of(settings_)
    own = settings.load(root)
    name = plan_arguments.preset.strip()
    chosen = presets.chosen(name, own.presets) if name else Preset("", "")
    if plan_arguments.plan_id.strip():
        before = keeping.load(root, plan_arguments.plan_id)
        return InitialPlan(root, own, before, _continued(before, plan_arguments, chosen))
    return InitialPlan(root, own, None, _new(plan_arguments, chosen, own))


def has_expectations(plan_arguments: PlanArguments) -> bool:
    """Whether the caller passed expectations."""
    return bool(
        plan_arguments.preset.strip()
        or (plan_arguments.expected and plan_arguments.expected.keywords)
    )


def unknown_key_warnings_of(plan_arguments: PlanArguments) -> list[str]:
    """Return a warning for each unknown nested key."""
    parts = {"expectedResults": plan_arguments.expected, "strategy": plan_arguments.strategy}
    return [
        note
        for name, part in parts.items()
        if part is not None
        for note in unknown_key_warnings(name, part.model_extra or (), [*type(part).model_fields])
    ]


def _new(plan_arguments: PlanArguments, preset: Preset, own: PlanSettings) -> QueryPlan:
    """Return a plan without iterations, from the arguments, the preset and the defaults."""
    expected, strategy = _given(plan_arguments)
    usual = preset.strategy or Strategy(refinement=either(None, own.defaults["refinementMethod"]))
    how = Strategy(
        strategy.initialMode or usual.initial,
        strategy.refinementMethod or usual.refinement,
        tuple(strategy.expansionRules) or usual.rules,
    )
    given = tuple(expected.keywords) or preset.expects(goals.keywords(plan_arguments.goal))
    if not given:
        raise UsageError(
            "goal contains no word to search for.",
            hint="Describe what to find out in words, or pass expectedResults.keywords.",
            details={"field": "goal"},
        )
    return QueryPlan(
        id=str(uuid.uuid4()),
        goal=plan_arguments.goal,
        expected=Expected(
            given[:MAX_KEYWORDS],
            tuple(expected.contentPatterns) or preset.patterns,
            either(expected.minMatches, preset.min_matches, own.defaults["minMatches"]),
            either(expected.confidence, preset.confidence, own.defaults["confidence"]),
        ),
        mode=either(plan_arguments.mode, preset.mode, own.defaults["evaluationMode"]),
        strategy=how,
        waiting=goals.first_queries(
            plan_arguments.goal, how, plan_arguments.initial, given[:MAX_KEYWORDS]
        ),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _continued(plan: QueryPlan, plan_arguments: PlanArguments, preset: Preset) -> QueryPlan:
    """Return a saved plan with the caller's changes, and those of a preset.

    Raises:
        UsageError: The plan has another goal.
    """
    if fold(plan_arguments.goal) != fold(plan.goal):
        raise UsageError(
            "planId belongs to a plan with another goal.",
            hint="Pass the same goal, or omit planId to start a new plan.",
            details={"field": "goal"},
        )
    (given, strategy), old = _given(plan_arguments), plan.expected
    keywords_before = (
        preset.expects(old.keywords)[:MAX_KEYWORDS] if preset.keywords else old.keywords
    )
    expected = Expected(
        tuple(given.keywords) or keywords_before,
        tuple(given.contentPatterns) or preset.patterns or old.patterns,
        either(given.minMatches, preset.min_matches, old.min_matches),
        either(given.confidence, preset.confidence, old.confidence),
    )
    usual = preset.strategy or plan.strategy
    how = replace(
        plan.strategy,
        initial=strategy.initialMode or usual.initial or plan.strategy.initial,
        refinement=strategy.refinementMethod or usual.refinement,
        rules=tuple(strategy.expansionRules) or usual.rules or plan.strategy.rules,
    )
    queries = tuple(goals.distinct([*plan_arguments.initial, *plan.waiting]))
    mode = either(plan_arguments.mode, preset.mode, plan.mode)
    same = (expected, mode, how) == (old, plan.mode, plan.strategy)
    return replace(
        plan,
        expected=expected,
        mode=mode,
        strategy=how,
        waiting=queries,
        asked=plan.asked if same else "",
    )


def _given(plan_arguments: PlanArguments) -> tuple[ExpectedResults, StrategyGiven]:
    return plan_arguments.expected or ExpectedResults(), plan_arguments.strategy or StrategyGiven()


def earlier_source(plan: QueryPlan) -> tuple[str, str]:
    """Return the provider and the database of a saved plan, parsed from its source's name."""
    name = plan.source.rpartition(", ")[0] or plan.source
    return (name, "") if name in {"map", "forest", ""} else ("", name)


def either(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)
