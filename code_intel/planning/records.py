"""The records of query plans: frozen, without behaviour, standard library only.

A `Plan` has the expectations of a goal and its iterations. Each `Iteration` is a query, its results
and their evaluation. A continued plan is a new object with more iterations (seed 003 §1 and §2).

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
"""Why a plan ended; `stopped` means that it was cancelled or killed."""

ITERATIONS, MAX_ITERATIONS = 5, 20
SECONDS, MIN_PLAN_SECONDS, MAX_PLAN_SECONDS = 120, 10, 300
MIN_MATCHES, MAX_MATCHES = 3, 50
DEFAULT_CONFIDENCE = 0.7
MAX_KEYWORDS, MAX_RULES, MAX_INITIAL_QUERIES = 20, 10, 10
"""Of one plan, as its caller gives them; queries are those to try first."""
MAX_WORD_CHARS, MAX_QUERY_CHARS = 200, 500
"""Characters of a keyword or a rule, and of a query to try first."""


@dataclass(frozen=True, slots=True)
class Result:
    """One search result, as plans compare it.

    Attributes:
        document: Its name in the index.
        text: The chunk, verbatim.
        similarity: Calibrated similarity to the query; by common words without vectors.
        score: The score of the search, relative in the forest, calibrated in the map.
        symbol: The chunk's first symbol, or empty.
        start_line: First line of the chunk; 0 if unknown.
        end_line: Last line of the chunk; 0 if unknown.
        position: Index of the chunk in its document, from 0.
        why: Tags of the signals that ranked it.
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
    """Expectations of the results; `patterns` are RE2, `confidence` is the score to reach."""

    keywords: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    min_matches: int = MIN_MATCHES
    confidence: float = DEFAULT_CONFIDENCE


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
    """The evaluation of results; `matched` and `unmatched` divide keywords and patterns."""

    metrics: Metrics
    score: float
    matched: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Iteration:
    """One query with its results and suggestions; `cached` if it was not searched again."""

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
    """A goal with its expectations and iterations.

    Attributes:
        id: A UUID.
        goal: The goal in the user's words.
        expected: The expectations.
        mode: How keywords are compared.
        strategy: How queries are made.
        iterations: The iterations, in order.
        waiting: Queries to try before any is made from evidence.
        final: The final results, best first.
        stop: Why it ended.
        source: The index and kind of search, such as `forest, words and vectors`.
        revision: The state of the index when the plan began.
        created: When it began.
        milliseconds: Its total time.
        knowledge: The knowledge page, relative to the project, or empty.
        asked: A key of the question, equal for plans of the same inputs and index; empty once the
            expectations have changed.
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
