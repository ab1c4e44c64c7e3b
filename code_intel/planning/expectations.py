"""Describe what a plan may be told: in a call, by a preset or by `.gistdex/config.json`.

Each field, its bounds and its description are stated here once, with the names of seed 003. None
and empty lists mean that something is not said.
"""
# ruff: noqa: N815 - the names of seed 003, on the wire

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from code_intel.config.reading import printable_key, unknown_key_warnings
from code_intel.planning.patterns import MAX_PATTERN_CHARS, MAX_PATTERNS
from code_intel.planning.records import (
    DEFAULT_CONFIDENCE,
    MAX_INITIAL_QUERIES,
    MAX_KEYWORDS,
    MAX_QUERY_CHARS,
    MAX_RULES,
    MAX_WORD_CHARS,
    MIN_MATCHES,
    InitialMode,
    MinMatches,
    Mode,
    Refinement,
    Share,
    StoredRecord,
)
from code_intel.planning.stored import RecordT, as_json, built

MAX_ABOUT_CHARS = 300


def _listed(value: object) -> object:
    """Parse a list that a client sent as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


Words = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_WORD_CHARS)]], BeforeValidator(_listed)
]
Queries = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]],
    Field(max_length=MAX_INITIAL_QUERIES, description="Queries to try first, in order."),
]


class PlanPart(BaseModel):
    """A part of what a plan is told: null counts as omitted, unknown keys become warnings."""

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
        max_length=MAX_KEYWORDS,
        description="Words that results should contain, added to the query; default: the goal's.",
    )
    minMatches: MinMatches | None = Field(
        default=None, description=f"Number of results to expect; default {MIN_MATCHES}."
    )
    contentPatterns: Annotated[
        list[Annotated[str, Field(max_length=MAX_PATTERN_CHARS)]], BeforeValidator(_listed)
    ] = Field(
        default=[],
        max_length=MAX_PATTERNS,
        description="RE2 expressions that results should match.",
    )
    confidence: Share | None = Field(
        default=None, description=f"Confidence that is good enough; default {DEFAULT_CONFIDENCE:g}."
    )


class StrategyGiven(PlanPart):
    """How queries are built."""

    initialMode: InitialMode | None = Field(
        default=None,
        description="First query: broad (two keywords) or specific (all keywords).",
    )
    refinementMethod: Refinement | None = Field(
        default=None,
        description="Further queries: keywords, semantic (names of the best hits) or hybrid.",
    )
    expansionRules: Words = Field(
        default=[],
        max_length=MAX_RULES,
        description="`add X`, `include X`, `search in X`, or other words.",
    )


class Preset(PlanPart):
    """Expectations, a strategy and first queries, which may have a name."""

    about: str = Field(default="", max_length=MAX_ABOUT_CHARS)
    aboutJa: str = Field(default="", max_length=MAX_ABOUT_CHARS)
    expectedResults: ExpectedResults = ExpectedResults.model_construct()
    strategy: StrategyGiven = StrategyGiven.model_construct()
    evaluationMode: Mode | None = None
    initialQueries: Queries = []

    def expects(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Return the goal's own keywords and the preset's, each once whatever its case."""
        words, known = list(own), {word.casefold() for word in own}
        for word in self.expectedResults.keywords:
            if word.casefold() not in known:
                known.add(word.casefold())
                words.append(word)
        return tuple(words)


def merged(kind: type[RecordT], *layers: PlanPart | StoredRecord, **more: Any) -> RecordT:
    """Return a record of what is said, the later layers before the earlier ones."""
    said: dict[str, Any] = {}
    for layer in layers:
        values = layer if isinstance(layer, PlanPart) else as_json(layer).items()
        said |= {name: value for name, value in values if value not in (None, [])}
    return built(kind, said | more)
