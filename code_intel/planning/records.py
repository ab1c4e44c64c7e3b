"""The nouns of a query plan: frozen, without behaviour, on the standard library alone.

A `Plan` is what was expected of a goal, and what has been tried so far: each `Iteration` is a query, what it
found, and how that compares with what was expected. What continues a plan makes a new one with more
iterations; nothing is changed in place (seed 003 §1 and §2).

Shares and scores are 0 to 1, times milliseconds, moments ISO 8601 with an offset.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Mode = Literal["strict", "fuzzy", "semantic"]
"""How a keyword must occur in a result to count; see `planning.matching`."""
InitialMode = Literal["broad", "specific"]
Refinement = Literal["keywords", "semantic", "hybrid"]
Status = Literal["success", "partial", "failed"]
Stop = Literal["reached", "no_new_query", "no_improvement", "iterations", "timeout", "stopped"]
"""Why no further query was made; `stopped` is what a plan says that was cancelled or killed half-way."""

ITERATIONS, MAX_ITERATIONS = 5, 20
SECONDS, MIN_PLAN_SECONDS, MAX_PLAN_SECONDS = 120, 10, 300
MIN_MATCHES, MAX_MATCHES = 3, 50
CONFIDENCE = 0.7
MAX_KEYWORDS, MAX_RULES, MAX_INITIAL_QUERIES = 20, 10, 10
"""Of one plan, as its caller gives them; queries are those to try first."""
MAX_WORD_CHARS, MAX_QUERY_CHARS = 200, 500
"""Characters of a keyword or a rule, and of a query to try first."""


@dataclass(frozen=True, slots=True)
class Result:
    """One search result, as plans compare it with what was expected.

    Attributes:
        document: As the index names it.
        text: The chunk, verbatim.
        similarity: Calibrated likeness to the query; by the words in common where there are no vectors.
        score: What the search itself says; relative to its best hit in the forest, calibrated in the map.
        symbol: The chunk's first symbol, or empty.
        start_line: Of the chunk; 0 when not known.
        end_line: Of the chunk; 0 when not known.
        position: Of the chunk in its document, from 0.
        why: Tags that say which signals put it here.
    """

    document: str
    text: str
    similarity: float
    score: float = 0.0
    symbol: str = ""
    start_line: int = 0
    end_line: int = 0
    position: int = 0
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of the results; `patterns` are RE2 expressions, `confidence` the score that will do."""

    keywords: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    min_matches: int = MIN_MATCHES
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Strategy:
    """How queries are made; without `initial` the goal itself is the first."""

    initial: InitialMode | None = None
    refinement: Refinement = "hybrid"
    rules: tuple[str, ...] = ()


class Metrics(NamedTuple):
    """The six metrics of seed 003 §2.2, each 0 to 1."""

    keyword_match: float
    pattern_match: float
    semantic_similarity: float
    coverage: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How results compare with what was expected; `matched` and `unmatched` divide keywords and patterns."""

    metrics: Metrics
    score: float
    matched: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Iteration:
    """One query, what came of it, and what it suggests; `cached` when nothing was searched for it anew."""

    number: int
    query: str
    expected_keywords: tuple[str, ...]
    results: tuple[Result, ...]
    evaluation: Evaluation
    feedback: str = ""
    refinements: tuple[str, ...] = ()
    cached: bool = False
    milliseconds: float = 0.0
    error: str = ""
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A goal, what is expected of it, and what has been tried.

    Attributes:
        id: A UUID.
        goal: In the words of who asks.
        expected: What the results are compared with.
        mode: How keywords are compared.
        strategy: How queries are made.
        iterations: What was tried, in order.
        waiting: Queries still to be tried before any is made from evidence.
        final: What the plan has found, best first.
        stop: Why it ended.
        source: Which index was asked and how, such as `forest, words and vectors`.
        revision: The state of that index when the plan began.
        created: When.
        milliseconds: What all of it took.
        knowledge: The knowledge file, relative to the project, or empty.
        asked: Equal for plans that were asked the same of the same index, whatever was learned since; empty
            once something else is expected.
    """

    id: str
    goal: str
    expected: Expected
    mode: Mode = "fuzzy"
    strategy: Strategy = field(default_factory=Strategy)
    iterations: tuple[Iteration, ...] = ()
    waiting: tuple[str, ...] = ()
    final: tuple[Result, ...] = ()
    stop: Stop = "stopped"
    source: str = ""
    revision: str = ""
    created: str = ""
    milliseconds: float = 0.0
    knowledge: str = ""
    asked: str = ""


class FoundResults(NamedTuple):
    """What one search gave: results, best first, and what was missing or went wrong."""

    results: tuple[Result, ...]
    degraded: tuple[str, ...] = ()
    cached: bool = False


Search = Callable[[str], Awaitable[FoundResults]]
"""Asks an index one query; raises `CodeIntelError` when it cannot be asked."""
Likeness = Callable[[Sequence[str], Sequence[Result]], Sequence[Sequence[float]]]
"""(keywords, results) -> a row a keyword: its calibrated likeness to each result. Blocks."""
