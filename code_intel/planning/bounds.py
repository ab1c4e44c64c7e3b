"""Check plans and answers read from files: they must not exceed what a call can make.

A repository may contain such files. Without limits a share above 1 or a goal of megabytes would
be searched, compared and shown (docs/decisions/0041).
"""

import re
from collections.abc import Callable, Sequence

from code_intel.planning import goals, patterns
from code_intel.planning.records import (
    MAX_KEYWORDS,
    MAX_MATCHES,
    MAX_QUERY_CHARS,
    MAX_RULES,
    Iteration,
    QueryPlan,
    Result,
)

MAX_PLAN_RESULTS = 100
MAX_WAITING_QUERIES = 1000
MAX_DERIVED_QUERY_CHARS = 20_000
"""Characters of a query that is made of a goal, what is expected, and what a rule adds."""
MAX_PATH_CHARS = 5000
"""Characters of a source, a document or a symbol: a path has 4,096 at the most."""
MAX_TIME_MS = 1e12
"""Milliseconds of all calls together."""

_UNREADABLE = re.compile("[\0\ud800-\udfff]")

_PLAN: tuple[tuple[str, Callable[[QueryPlan], bool]], ...] = (
    ("goal", lambda plan: len(plan.goal) <= goals.MAX_GOAL_CHARS_READ and _is_text(plan.goal)),
    (
        "expectedResults.keywords",
        lambda plan: _are(plan.expected.keywords, MAX_KEYWORDS, goals.MAX_GOAL_CHARS_READ),
    ),
    (
        "expectedResults.contentPatterns",
        lambda plan: _are(
            plan.expected.patterns, patterns.MAX_PATTERNS, patterns.MAX_PATTERN_CHARS
        ),
    ),
    ("expectedResults.minMatches", lambda plan: 1 <= plan.expected.min_matches <= MAX_MATCHES),
    ("expectedResults.confidence", lambda plan: 0 <= plan.expected.confidence <= 1),
    ("strategy.expansionRules", lambda plan: _are(plan.strategy.rules, MAX_RULES, MAX_QUERY_CHARS)),
    ("waiting", lambda plan: _are(plan.waiting, MAX_WAITING_QUERIES, MAX_DERIVED_QUERY_CHARS)),
    ("source", lambda plan: len(plan.source) <= MAX_PATH_CHARS and _is_text(plan.source)),
    ("totalTime", lambda plan: 0 <= plan.milliseconds <= MAX_TIME_MS),
    ("iterations", lambda plan: all(map(_is_iteration, plan.iterations))),
    ("finalResults", lambda plan: are_results(plan.final)),
)  # fmt: skip


def excess(plan: QueryPlan) -> str:
    """Return the first field of a plan that is beyond what one can have, or the empty string."""
    return next((field for field, is_within in _PLAN if not is_within(plan)), "")


def are_results(results: Sequence[Result]) -> bool:
    """Whether a search can have found these."""
    names = (name for each in results for name in (each.document, each.symbol, *each.why))
    lines = (line for each in results for line in (each.start_line, each.end_line, each.position))
    return (
        len(results) <= MAX_PLAN_RESULTS
        and all(0 <= each.similarity <= 1 for each in results)
        and all(0 <= line < 2**31 for line in lines)
        and all(len(name) <= MAX_PATH_CHARS for name in names)
    )


def _is_iteration(each: Iteration) -> bool:
    shares = (each.evaluation.score, *each.evaluation.metrics)
    told = (*each.refinements, *each.degraded, *each.evaluation.matched, *each.evaluation.unmatched)
    return (
        0 < each.number < 2**31
        and _are((each.query,), 1, MAX_DERIVED_QUERY_CHARS)
        and all(0 <= share <= 1 for share in shares)
        and 0 <= each.milliseconds <= MAX_TIME_MS
        and _are(each.expected_keywords, MAX_KEYWORDS, goals.MAX_GOAL_CHARS_READ)
        and all(len(text) <= MAX_DERIVED_QUERY_CHARS for text in (each.feedback, each.error, *told))
        and are_results(each.results)
    )


def _are(texts: Sequence[str], most: int, longest: int) -> bool:
    return len(texts) <= most and all(len(text) <= longest for text in texts) and _is_text(*texts)


def _is_text(*texts: str) -> bool:
    """Whether none has what no argument of a call may have."""
    return not any(map(_UNREADABLE.search, texts))
