"""Describe what a plan accepts: in a call, by a preset or by `.gistdex/config.json`.

Each field, its bounds and its description are stated here once, with the names of seed 003. None
and empty lists mean that something is not said.

A preset fills missing inputs of a plan. Its keywords are added to those of the goal, because it
only says which kind of place is wanted. The shipped ones are in `presets.toml`. A project's own are
in `.gistdex/config.json` under `presets`, and replace shipped ones. A kept plan is a preset, too,
named by its id (docs/decisions/0089).
"""
# ruff: noqa: N815 - the names of seed 003, on the wire

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from code_intel.config.reading import printable_key, unknown_key_warnings
from code_intel.errors import UsageError
from code_intel.planning import outcome, records
from code_intel.planning.patterns import MAX_PATTERN_CHARS, MAX_PATTERNS
from code_intel.planning.records import QueryPlan, RecordT, StoredRecord, as_json

MAX_ABOUT_CHARS = 300
MAX_PRESET_NAME_CHARS = 64
_INDENT = re.compile(r"(?:^|\n) +")


def _listed(value: object) -> object:
    """Parse a list that a client sent as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


Words = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=records.MAX_WORD_CHARS)]],
    BeforeValidator(_listed),
]
Queries = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=records.MAX_QUERY_CHARS)]],
    Field(max_length=records.MAX_INITIAL_QUERIES, description="Queries to try first, in order."),
]


class PlanPart(BaseModel):
    """A part of the expectations: null counts as omitted, unknown keys become warnings."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None}

    def unknown_keys(self, where: str = "") -> Iterator[str]:
        """Yield a warning for each unknown key, also of inner parts."""
        yield from unknown_key_warnings(where, self.model_extra or (), [*type(self).model_fields])
        for name in type(self).model_fields:
            value = getattr(self, name)
            inner = value if isinstance(value, Mapping) else {"": value}
            for key, part in inner.items():
                if isinstance(part, PlanPart):
                    yield from part.unknown_keys(
                        ".".join(filter(None, (where, name, key and printable_key(key))))
                    )


class ExpectedResults(PlanPart):
    """Properties of good results."""

    keywords: Words = Field(
        default=[],
        max_length=records.MAX_KEYWORDS,
        description="Words that results should contain, added to the query; default: the goal's.",
    )
    minMatches: records.MinMatches | None = Field(
        default=None, description=f"Number of results to expect; default {records.MIN_MATCHES}."
    )
    contentPatterns: Annotated[
        list[Annotated[str, Field(max_length=MAX_PATTERN_CHARS)]], BeforeValidator(_listed)
    ] = Field(
        default=[],
        max_length=MAX_PATTERNS,
        description="RE2 expressions that results should match.",
    )
    confidence: records.Share | None = Field(
        default=None,
        description=f"Confidence that is good enough; default {records.DEFAULT_CONFIDENCE:g}.",
    )


class StrategyGiven(PlanPart):
    """How queries are built."""

    initialMode: records.InitialMode | None = Field(
        default=None,
        description="First query: broad (two keywords) or specific (all keywords).",
    )
    refinementMethod: records.Refinement | None = Field(
        default=None,
        description="Further queries: keywords, semantic (names of the best hits) or hybrid.",
    )
    expansionRules: Words = Field(
        default=[],
        max_length=records.MAX_RULES,
        description="`add X`, `include X`, `search in X`, or other words.",
    )


class Preset(PlanPart):
    """Expectations, a strategy and first queries, which may have a name."""

    about: str = Field(default="", max_length=MAX_ABOUT_CHARS)
    aboutJa: str = Field(default="", max_length=MAX_ABOUT_CHARS)
    expectedResults: ExpectedResults = ExpectedResults.model_construct()
    strategy: StrategyGiven = StrategyGiven.model_construct()
    evaluationMode: records.Mode | None = None
    initialQueries: Queries = []


def merged(kind: type[RecordT], *layers: PlanPart | StoredRecord, **more: Any) -> RecordT:
    """Return a record of what is said, the later layers before the earlier ones."""
    said: dict[str, Any] = {}
    for layer in layers:
        values = layer if isinstance(layer, PlanPart) else as_json(layer).items()
        said |= {name: value for name, value in values if value not in (None, [])}
    return records.built(kind, said | more)


@cache
def shipped() -> Mapping[str, Preset]:
    """Return the shipped presets by name, in the order in which they are listed."""
    text = resources.files(__package__).joinpath("presets.toml").read_text("utf-8")
    found = {}
    for name, row in tomllib.loads(text).items():
        alternatives = "|".join(_INDENT.sub("", each) for each in row.pop("alternatives"))
        row.setdefault("expectedResults", {})["contentPatterns"] = [f"(?m){alternatives}"]
        found[name] = Preset.model_validate(row)
    return found


def known(own: Mapping[str, Preset]) -> dict[str, Preset]:
    """Return all presets by name; shipped ones first, replaced by the project's own."""
    return {**shipped(), **own}


def chosen(name: str, own: Mapping[str, Preset]) -> Preset:
    """Return the preset of a name.

    Raises:
        UsageError: There is no such preset; it names all presets.
    """
    presets = known(own)
    if name not in presets:
        raise UsageError(
            f"There is no preset {name[:MAX_PRESET_NAME_CHARS]!r}.",
            hint=f"Use one of {', '.join(map(printable_key, presets))}, or the id of a plan.",
            details={"field": "preset"},
        )
    return presets[name]


def of_plan(plan: QueryPlan) -> Preset:
    """Return what a kept plan teaches: its best query, and the keywords that its results contain.

    Of a plan that found nothing this is its goal and its strategy.
    """
    best = outcome.best(plan)
    found = best.evaluation.matched if best else ()
    expected = replace(
        plan.expected, keywords=tuple(word for word in plan.expected.keywords if word in found)
    )
    return Preset.model_construct(
        about=plan.goal[:MAX_ABOUT_CHARS],
        expectedResults=ExpectedResults.model_construct(**as_json(expected)),
        strategy=StrategyGiven.model_construct(**as_json(plan.strategy)),
        evaluationMode=plan.mode,
        initialQueries=[best.query] if best and found else [],
    )
