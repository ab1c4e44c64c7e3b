"""Tool `gistdex_query_plan`."""
# ruff: noqa: N803, N815 - the names of seed 003, on the wire

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import anyio
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from code_intel.config import Settings
from code_intel.config.reading import unknown_keys
from code_intel.errors import UsageError
from code_intel.planning import (
    goals,
    keeping,
    learning,
    likeness,
    loop,
    patterns,
    place,
    presets,
    settings,
)
from code_intel.planning.presets import Preset
from code_intel.planning.records import (
    LEAST_SECONDS,
    LONGEST_SECONDS,
    Expected,
    InitialMode,
    Mode,
    Plan,
    Refinement,
    Strategy,
)
from code_intel.planning.settings import PlanSettings
from code_intel.session.wording import fold
from code_intel.tools import plan_answers
from code_intel.tools.declaration import Answer, SessionId, from_json
from code_intel.tools.desk import Desk, thread
from code_intel.tools.halves import look
from code_intel.tools.plan_keeping import Shelved, noted
from code_intel.tools.plan_sources import source_of
from code_intel.tools.shelf import check_query

NAME = "gistdex_query_plan"
MOST_ITERATIONS, MOST_RULES, MOST_INITIAL, MOST_KEYWORDS = 20, 10, 10, 20

Texts = Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=20)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="allow")  # so that a key nobody reads can be told

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        """Take what is null as not given, as at the top of a call."""
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None}


class ExpectedResults(_Given):
    """What good results have."""

    keywords: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]],
        Field(max_length=MOST_KEYWORDS, description="Words they speak of; default: the goal's."),
        BeforeValidator(from_json),
    ] = []
    minMatches: Annotated[
        int | None, Field(ge=1, le=50, description="Results at the least; default 3.")
    ] = None
    contentPatterns: Annotated[
        list[Annotated[str, Field(max_length=patterns.LONGEST)]],
        Field(max_length=patterns.MOST, description="RE2 expressions they match."),
        BeforeValidator(from_json),
    ] = []
    confidence: Annotated[
        float | None, Field(ge=0, le=1, description="Score that will do; default 0.7.")
    ] = None


class StrategyGiven(_Given):
    """How queries are made."""

    initialMode: Annotated[
        InitialMode | None,
        Field(description="broad: two keywords; specific: all; default: the goal itself."),
    ] = None
    refinementMethod: Annotated[
        Refinement | None,
        Field(
            description="keywords: what is missing; semantic: what the best hits share; hybrid: both."
        ),
    ] = None
    expansionRules: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]],
        Field(max_length=MOST_RULES, description="add X, include X, search in X, or words."),
        BeforeValidator(from_json),
    ] = []


class _Asked(NamedTuple):
    """What the caller said of a plan, in the order of `ASKED`."""

    goal: str
    initial: Sequence[str]
    mode: Mode | None
    expected: ExpectedResults | None
    strategy: StrategyGiven | None
    plan_id: str
    preset: str


ASKED = (
    "goal",
    "initialQueries",
    "evaluationMode",
    "expectedResults",
    "strategy",
    "planId",
    "preset",
)
"""The parameters that decide what a plan begins with."""


class _Begun(NamedTuple):
    """A plan before its first query of this call: where it is kept, the project's defaults, what it goes on from."""

    root: Path
    own: PlanSettings
    before: Plan | None
    plan: Plan


async def gistdex_query_plan(
    desk: Desk,
    goal: Annotated[
        str, Field(min_length=1, max_length=4000, description="What to find out, in any language.")
    ],
    initialQueries: Annotated[
        Texts, Field(max_length=MOST_INITIAL, description="Queries to try first, in this order.")
    ] = [],
    maxIterations: Annotated[
        int | None,
        Field(ge=1, le=MOST_ITERATIONS, description="Queries at the most; default 5; 1 to steer."),
    ] = None,
    evaluationMode: Annotated[
        Mode | None,
        Field(description="How keywords match: strict, fuzzy (default) or semantic."),
    ] = None,
    saveIntermediateResults: Annotated[
        bool | None,
        Field(description="Keep the results of every query, or (false) the final ones alone."),
    ] = None,
    timeoutSeconds: Annotated[
        int | None,
        Field(
            ge=LEAST_SECONDS,
            le=LONGEST_SECONDS,
            description="Seconds for all of it; default 120. What was found until then is returned.",
        ),
    ] = None,
    expectedResults: Annotated[
        ExpectedResults | None,
        Field(description="keywords, minMatches, contentPatterns, confidence; all optional."),
    ] = None,
    strategy: Annotated[
        StrategyGiven | None,
        Field(description="initialMode, refinementMethod, expansionRules; all optional."),
    ] = None,
    provider: Annotated[
        str, Field(max_length=100, description="forest (default) or map: which index is asked.")
    ] = "",
    db: Annotated[
        str, Field(max_length=1000, description="Another index database inside the project.")
    ] = "",
    planId: Annotated[
        str, Field(max_length=100, description="Go on with this plan; goal as it was.")
    ] = "",
    preset: Annotated[
        str, Field(max_length=100, description="Expectations and strategy by name.")
    ] = "",
    session_id: SessionId = None,
) -> Answer:
    """Plan a search: say what is expected, search, compare, refine, until it is good enough; and keep it.

    Use it for what one search does not answer. Each iteration is a query with its score, what was missing and
    what to try next; finalResults has the best places with their text. maxIterations 1 lets you steer: call
    again with planId and initialQueries. It finds what search_forest finds where that is allowed now, else by
    words; its hits are hypotheses, and it moves no phase. Plans are kept in .gistdex.
    """
    asked = _Asked(goal, initialQueries, evaluationMode, expectedResults, strategy, planId, preset)
    session, handle = await look(desk, session_id, NAME)
    lock = desk.locks.setdefault(f"plan {planId or uuid.uuid4()}", anyio.Lock())
    async with lock:
        root, own, before, plan = await thread(_begun, desk.settings, asked)
        usual = own.defaults
        keeps = bool(_or(saveIntermediateResults, usual["saveIntermediateResults"]))
        shelved = Shelved(desk, root, own, intermediate=keeps)
        index, other = (provider, db) if provider or db or not before else _asked_before(before)
        async with source_of(desk, session, index, other) as source:
            same = before is None or source.revision == before.revision
            plan = replace(plan, source=source.name, revision=source.revision if same else "")
            known = await shelved.same(plan) if before is None else None
            new = before is None and known is None
            offers = await thread(learning.similar, root, plan, desk.embedder) if new else []
            plan = learning.taught(plan, offers, expecting=not _says_what(asked))
            if known is None:
                plan = await loop.run(
                    plan,
                    shelved.cached(source),
                    more=_or(maxIterations, usual["maxIterations"]),
                    seconds=_or(timeoutSeconds, usual["timeoutSeconds"]),
                    likeness=likeness.measure(desk.embedder) if plan.mode == "semantic" else None,
                    report=desk.report,
                    keep=shelved.keep,
                )
            else:
                plan = replace(known, id=plan.id, created=plan.created)
            plan, saved = await shelved.finish(plan, source)
            fresh = plan.iterations[len(before.iterations) if before else 0 :]
            answer, shown = plan_answers.answer(plan, source, saved)
            notes = await noted(desk, handle, session, source, fresh, shown)
    answer = plan_answers.offering(answer, offers)
    return answer.noting(*_unread(asked), *own.warnings, *shelved.warnings, *notes)


def preview(settings_: Settings, arguments: Mapping[str, Any]) -> Plan:
    """Return the plan that a call with these (checked) arguments would begin with, doing nothing.

    Raises:
        UsageError: As the tool itself.
    """
    given = {field: arguments[name] for field, name in zip(_Asked._fields, ASKED, strict=True)}
    return _begun(settings_, _Asked(**given)).plan


def _begun(settings_: Settings, asked: _Asked) -> _Begun:
    """Return the plan before its first query of this call, and what it is kept and limited by."""
    check_query(asked.goal, "goal")
    for at, query in enumerate(asked.initial):
        check_query(query, f"initialQueries[{at}]")
    patterns.all_compiled((asked.expected or ExpectedResults()).contentPatterns)
    root = place.root_of(settings_)
    own = settings.load(root)
    if asked.plan_id.strip():
        before = keeping.load(root, asked.plan_id)
        return _Begun(root, own, before, _continued(before, asked))
    name = asked.preset.strip()
    chosen = presets.chosen(name, own.presets) if name else Preset("", "")
    return _Begun(root, own, None, _new(asked, chosen, own))


def _says_what(asked: _Asked) -> bool:
    """Whether the caller said what to expect."""
    return bool(asked.preset.strip() or (asked.expected and asked.expected.keywords))


def _unread(asked: _Asked) -> list[str]:
    """Return a warning for each nested key that nobody reads."""
    parts = {"expectedResults": asked.expected, "strategy": asked.strategy}
    return [
        note
        for name, part in parts.items()
        if part is not None
        for note in unknown_keys(name, part.model_extra or (), [*type(part).model_fields])
    ]


def _new(asked: _Asked, preset: Preset, own: PlanSettings) -> Plan:
    """Return a plan without iterations: what the caller said, then the preset, then the project's defaults."""
    expected, strategy = _given(asked)
    usual = preset.strategy or Strategy(refinement=_or(None, own.defaults["refinementMethod"]))
    how = Strategy(
        strategy.initialMode or usual.initial,
        strategy.refinementMethod or usual.refinement,
        tuple(strategy.expansionRules) or usual.rules,
    )
    given = tuple(expected.keywords) or preset.expects(goals.keywords(asked.goal))
    if not given:
        raise UsageError(
            "goal has no word to look for.",
            hint="Say in words what to find out, or give expectedResults.keywords.",
            details={"field": "goal"},
        )
    return Plan(
        id=str(uuid.uuid4()),
        goal=asked.goal,
        expected=Expected(
            given[:MOST_KEYWORDS],
            tuple(expected.contentPatterns) or preset.patterns,
            _or(expected.minMatches, preset.min_matches, own.defaults["minMatches"]),
            _or(expected.confidence, preset.confidence, own.defaults["confidence"]),
        ),
        mode=_or(asked.mode, preset.mode, own.defaults["evaluationMode"]),
        strategy=how,
        waiting=goals.first_queries(asked.goal, how, asked.initial),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _continued(plan: Plan, asked: _Asked) -> Plan:
    """Return a kept plan with what the caller says anew; what was found so far is judged by that, too.

    Raises:
        UsageError: It has another goal.
    """
    if fold(asked.goal) != fold(plan.goal):
        raise UsageError(
            "planId is a plan for another goal.",
            hint="Pass its goal as it was, or leave planId out to begin a new plan.",
            details={"field": "goal"},
        )
    (given, strategy), old = _given(asked), plan.expected
    expected = Expected(
        tuple(given.keywords) or old.keywords,
        tuple(given.contentPatterns) or old.patterns,
        _or(given.minMatches, old.min_matches),
        _or(given.confidence, old.confidence),
    )
    how = replace(
        plan.strategy,
        initial=strategy.initialMode or plan.strategy.initial,
        refinement=strategy.refinementMethod or plan.strategy.refinement,
        rules=tuple(strategy.expansionRules) or plan.strategy.rules,
    )
    queries = tuple(goals.distinct([*asked.initial, *plan.waiting]))
    changed = loop.judged_anew(plan, expected, asked.mode or plan.mode)
    return replace(changed, strategy=how, waiting=queries)


def _given(asked: _Asked) -> tuple[ExpectedResults, StrategyGiven]:
    return asked.expected or ExpectedResults(), asked.strategy or StrategyGiven()


def _asked_before(plan: Plan) -> tuple[str, str]:
    """Return provider and database of a kept plan, as `Source.name` says them."""
    name = plan.source.rpartition(", ")[0] or plan.source
    return (name, "") if name in {"map", "forest", ""} else ("", name)


def _or(*values: Any) -> Any:
    """Return the first that was given."""
    return next((value for value in values if value is not None), None)
