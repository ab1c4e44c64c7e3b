"""The records of query plans, and their conversion to JSON and back.

A `QueryPlan` has the expectations of a goal and its iterations. Each `Iteration` is a query, its
results and their evaluation. A continued plan is a new object with more iterations (seed 003 §1 and
§2).

The annotations are the schema of the stored files: names in camel case or
those of seed 003, and bounds, because a repository may contain files of strangers
(docs/decisions/0041). They are checked where a file is read, not where an object is made. A field
that is missing in an older file has its default, and unknown keys are ignored.

Shares and scores are 0 to 1, times milliseconds, moments ISO 8601 with an offset.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from code_intel.config.reading import printable_key
from code_intel.errors import StorageError
from code_intel.planning.patterns import MAX_PATTERN_CHARS, MAX_PATTERNS

Mode = Literal["strict", "fuzzy", "semantic"]
"""How a keyword must occur in a result to count; see `planning.matching`."""
InitialMode = Literal["broad", "specific"]
Refinement = Literal["keywords", "semantic", "hybrid"]
Status = Literal["success", "partial", "failed"]
Stop = Literal["reached", "no_new_query", "no_improvement", "iterations", "timeout", "stopped"]
"""Why a plan ended; `stopped` means that it was cancelled or killed."""

ITERATIONS, MAX_ITERATIONS = 1, 20
SECONDS, MIN_PLAN_SECONDS, MAX_PLAN_SECONDS = 120, 10, 300
MIN_MATCHES, MAX_MATCHES = 3, 50
DEFAULT_CONFIDENCE = 0.7
MAX_KEYWORDS, MAX_RULES, MAX_INITIAL_QUERIES = 20, 10, 10
"""Of one plan, as its caller gives them; queries are those to try first."""
MAX_WORD_CHARS, MAX_QUERY_CHARS = 200, 500
"""Characters of a keyword or a rule, and of a query to try first."""
MAP_SOURCE = "map"
"""The source of plans that search the map, whose scores are calibrated."""
MAX_GOAL_CHARS_READ = 4000
"""Characters of a goal that are read, as of a question."""
MAX_PLAN_RESULTS, MAX_WAITING_QUERIES = 100, 1000
MAX_TEXT_CHARS = 20_000
"""Characters of a query that is made of a goal, expectations and a rule, and of other texts."""
MAX_TIME_MS = 1e12
"""Milliseconds of all calls together."""

RecordT = TypeVar("RecordT")
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
_NO_NUL = r"^[^\x00]*$"
Goal = Annotated[str, Field(max_length=MAX_GOAL_CHARS_READ, pattern=_NO_NUL)]
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Query = Annotated[str, Field(max_length=MAX_TEXT_CHARS, pattern=_NO_NUL)]
Pattern = Annotated[str, Field(max_length=MAX_PATTERN_CHARS, pattern=_NO_NUL)]
Rule = Annotated[str, Field(max_length=MAX_QUERY_CHARS, pattern=_NO_NUL)]
Keywords = Annotated[tuple[Goal, ...], Field(max_length=MAX_KEYWORDS)]
Share = Annotated[float, Field(ge=0, le=1)]
Iterations = Annotated[int, Field(ge=1, le=MAX_ITERATIONS)]
Seconds = Annotated[int, Field(ge=MIN_PLAN_SECONDS, le=MAX_PLAN_SECONDS)]
MinMatches = Annotated[int, Field(ge=1, le=MAX_MATCHES)]
Milliseconds = Annotated[float, Field(ge=0, le=MAX_TIME_MS)]
Line = Annotated[int, Field(ge=0, lt=2**31)]


class StoredRecord:
    """The base of records that are stored: JSON types as they are, no NaN, names in camel case."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(
        strict=True, allow_inf_nan=False, alias_generator=to_camel, serialize_by_alias=True
    )


@dataclass(frozen=True, slots=True)
class Result(StoredRecord):
    """One search result, as plans compare it: a chunk of a document, verbatim.

    Attributes:
        similarity: Calibrated similarity to the query; by common words without vectors.
        score: The score of the search, relative in the forest, calibrated in the map.
        start_line: First line of the chunk; 0 if unknown, as `end_line`.
        position: Index of the chunk in its document, from 0.
        why: Tags of the signals that ranked it.
    """

    document: Text
    text: str
    similarity: Share
    score: float = 0.0
    symbol: Text = ""
    start_line: Line = 0
    end_line: Line = 0
    position: Line = 0
    why: tuple[Text, ...] = ()


Results = Annotated[tuple[Result, ...], Field(max_length=MAX_PLAN_RESULTS)]


@dataclass(frozen=True, slots=True)
class Expected(StoredRecord):
    """Expectations of the results; `patterns` are RE2, `confidence` is the one to reach."""

    keywords: Keywords
    patterns: Annotated[
        tuple[Pattern, ...], Field(max_length=MAX_PATTERNS, alias="contentPatterns")
    ] = ()
    min_matches: MinMatches = MIN_MATCHES
    confidence: Share = DEFAULT_CONFIDENCE


@dataclass(frozen=True, slots=True)
class Strategy(StoredRecord):
    """How queries are made; without `initial` the goal itself is the first."""

    initial: Annotated[InitialMode | None, Field(alias="initialMode")] = None
    refinement: Annotated[Refinement, Field(alias="refinementMethod")] = "hybrid"
    rules: Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES, alias="expansionRules")] = ()


class Metrics(NamedTuple):
    """The six metrics of seed 003 §2.2, each 0 to 1."""

    keyword_match: Share
    pattern_match: Share
    semantic_similarity: Share
    coverage: Share
    precision: Share
    recall: Share


def by_name(metrics: Metrics) -> dict[str, float]:
    """Return the six metrics by the names of seed 003."""
    return {to_camel(name): value for name, value in metrics._asdict().items()}


@dataclass(frozen=True, slots=True)
class Evaluation(StoredRecord):
    """The evaluation of results; `matched` and `unmatched` divide keywords and patterns.

    `score` says how well they fit the expectations, `confidence` how likely the first one is right.
    Files of earlier versions have only the score.
    """

    metrics: Annotated[Metrics, PlainSerializer(by_name)]
    score: Share
    confidence: Annotated[Share, Field(validation_alias=AliasChoices("confidence", "score"))]
    matched: tuple[Text, ...] = ()
    unmatched: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Iteration(StoredRecord):
    """One query with its results and suggestions; `cached` if it was not searched again."""

    number: Annotated[int, Field(ge=1, lt=2**31, alias="iterationNumber")]
    query: Query
    expected_keywords: Keywords
    results: Annotated[Results, Field(alias="actualResults")]
    evaluation: Evaluation
    feedback: Text = ""
    refinements: tuple[Text, ...] = ()
    cached: bool = False
    milliseconds: Milliseconds = 0.0
    error: Text = ""
    degraded: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPlan(StoredRecord):
    """A goal with its expectations and iterations.

    Attributes:
        version: Of the format of its file.
        waiting: Queries to try before any is made from evidence.
        final: The final results, best first.
        source: The index and kind of search, such as `forest, words and vectors`.
        revision: The state of the index when the plan began.
        knowledge: The knowledge page, relative to the project, or empty.
        asked: A key of the question, equal for plans of the same inputs and index; empty once the
            expectations have changed.
    """

    version: Literal[1] = field(default=1, kw_only=True)
    id: Annotated[str, Field(alias="planId")]
    goal: Goal
    expected: Annotated[Expected, Field(alias="expectedResults")]
    mode: Annotated[Mode, Field(alias="evaluationMode")] = "fuzzy"
    strategy: Strategy = field(default_factory=Strategy)
    iterations: tuple[Iteration, ...] = ()
    waiting: Annotated[tuple[Query, ...], Field(max_length=MAX_WAITING_QUERIES)] = ()
    final: Annotated[Results, Field(alias="finalResults")] = ()
    stop: Annotated[Stop, Field(alias="stopReason")] = "stopped"
    source: Query = ""
    revision: str = ""
    created: str = ""
    milliseconds: Annotated[Milliseconds, Field(alias="totalTime")] = 0.0
    knowledge: Annotated[str, Field(alias="structuredKnowledgePath")] = ""
    asked: str = ""


class FoundResults(NamedTuple):
    """What one search gave: results, best first, and what was missing or went wrong."""

    results: tuple[Result, ...]
    degraded: tuple[str, ...] = ()
    cached: bool = False


Search = Callable[[str], Awaitable[FoundResults]]
"""Asks an index one query; raises `CodeIntelError` when it cannot be asked."""


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the converter of a kind of record, built on first use."""
    return _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))


def as_json(record: StoredRecord) -> Any:
    """Return a record as JSON data in the order of its fields."""
    return _adapter(type(record)).dump_python(record, mode="json")


def parsed(kind: type[RecordT], data: bytes, name: str) -> RecordT:
    """Return the record that a file keeps.

    Raises:
        StorageError: It is damaged: names the file and the field, such as `iterations[2].query`.
    """
    try:
        found: RecordT = _adapter(kind).validate_json(data)
    except ValidationError as error:
        raise damaged(name, ": ".join(filter(None, first_problem(error)))) from None
    return found


def built(kind: type[RecordT], values: Mapping[str, Any]) -> RecordT:
    """Return a record of values by their names in JSON; other names are ignored."""
    found: RecordT = _adapter(kind).validate_python(values, strict=False)
    return found


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the first field that is wrong, empty for the whole, and what it should be."""
    first = error.errors(include_url=False, include_input=False)[0]
    parts = (f"[{at}]" if isinstance(at, int) else f".{printable_key(at)}" for at in first["loc"])
    return "".join(parts).removeprefix("."), first["msg"]


def dumps(document: Mapping[str, Any]) -> bytes:
    """Return readable JSON; text that is not UTF-8 becomes question marks."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")


def damaged(name: str, reason: str) -> StorageError:
    """Return the error that a kept file cannot be read."""
    return StorageError(
        f"{name} cannot be read: {reason}.",
        hint="Delete the file. It is a cache, and planning creates it again.",
        details={"file": name},
    )
