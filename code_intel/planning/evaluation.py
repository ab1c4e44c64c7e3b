"""How results compare with what was expected: six metrics, each 0 to 1, and one score (seed 003 §2.2).

| metric | share |
|---|---|
| `keyword_match` | of all pairs of a result and an expected keyword, those where it occurs |
| `pattern_match` | of all pairs of a result and a pattern, those where it matches |
| `semantic_similarity` | mean likeness of the results to the query |
| `coverage` | results of those wanted at least, 1 from there on |
| `precision` | results with a keyword (strict: with all of them) of all results |
| `recall` | expected keywords found anywhere of all expected ones |

What is not expected cannot be missed: without keywords or patterns their shares are 1. Without results
everything is 0. A Japanese keyword and its English, both expected, are one expectation: whatever has either.
In strict mode they are two, and all keywords must be found: while one is missing the score is scaled to stay
below the confidence asked for, so that there is no success without it, and better results still score more
(docs/decisions/0040).
"""

import math
from collections.abc import Iterable, Sequence

from code_intel.index.cancellation import raise_if_cancelled
from code_intel.planning.matching import MIN_MEANING_LIKENESS, ResultPage, on_page, together
from code_intel.planning.patterns import ContentPattern, all_compiled
from code_intel.planning.records import (
    Evaluation,
    Expected,
    Likeness,
    Metrics,
    Mode,
    Result,
    Status,
)

WEIGHTS = Metrics(
    keyword_match=0.25,
    pattern_match=0.15,
    semantic_similarity=0.25,
    coverage=0.15,
    precision=0.10,
    recall=0.10,
)
"""What each metric adds to the score; 1 together."""
PARTIAL = 0.3
"""Score above which what was found is worth something."""
EMPTY_EVALUATION = Evaluation(Metrics(0, 0, 0, 0, 0, 0), 0.0)

Row = Sequence[bool]


def evaluate(
    results: Sequence[Result],
    expected: Expected,
    mode: Mode = "fuzzy",
    likeness: Likeness | None = None,
) -> Evaluation:
    """Compare results with what was expected of them; one that comes twice counts once.

    Args:
        results: What one query found.
        expected: Blank and repeated keywords say nothing.
        mode: How keywords are compared.
        likeness: In semantic mode, of keywords to results; it may take as long as embedding both does.

    Raises:
        UsageError: A pattern cannot be used; names it.
        EmbeddingError: `likeness` has no model.
    """
    keywords = tuple(dict.fromkeys(word for word in expected.keywords if word.strip()))
    patterns = list({each.source: each for each in all_compiled(expected.patterns)}.values())
    results = _distinct(results)
    if not results:
        missing = (*keywords, *(pattern.source for pattern in patterns))
        return Evaluation(EMPTY_EVALUATION.metrics, 0.0, (), missing)
    rows = _occurrences(keywords, results, mode, likeness)
    things = [[at] for at in range(len(rows))] if mode == "strict" else together(keywords)
    said = [[any(hits) for hits in zip(*(rows[at] for at in each), strict=True)] for each in things]
    matching = [[_matches(pattern, result) for result in results] for pattern in patterns]
    within = all if mode == "strict" else any
    metrics = Metrics(
        keyword_match=_share(hit for row in said for hit in row),
        pattern_match=_share(hit for row in matching for hit in row),
        semantic_similarity=_mean([_bounded(result.similarity) for result in results]),
        coverage=_bounded(len(results) / max(expected.min_matches, 1)),
        precision=_share(within(row[at] for row in said) for at in range(len(results)))
        if said
        else 1.0,
        recall=_share(any(row) for row in said),
    )
    nowhere = {at for each, row in zip(things, said, strict=True) if not any(row) for at in each}
    sought = [(each.source, any(row)) for each, row in zip(patterns, matching, strict=True)]
    score = score_of(metrics)
    if mode == "strict" and metrics.recall < 1:
        score *= _bounded(expected.confidence)
    return Evaluation(
        metrics,
        score,
        matched=(
            *(word for word, row in zip(keywords, rows, strict=True) if any(row)),
            *(source for source, hit in sought if hit),
        ),
        unmatched=(
            *(word for at, word in enumerate(keywords) if at in nowhere),
            *(source for source, hit in sought if not hit),
        ),
    )


def score_of(metrics: Metrics) -> float:
    """Return the weighted sum of the metrics, 0 to 1, in six decimals: all of them 1 is 1, not nearly."""
    pairs = zip(WEIGHTS, metrics, strict=True)
    return _bounded(round(math.fsum(weight * _bounded(value) for weight, value in pairs), 6))


def hundredths(score: float, confidence: float) -> float:
    """Return a score as it is told: rounded, but not up to a confidence that it has not reached."""
    rounded = round(score, 2)
    return rounded - 0.01 if score < confidence <= rounded else rounded


def status_of(score: float, confidence: float) -> Status:
    """Return what a score is: `success` from the confidence asked for, `partial` above `PARTIAL`.

    A score of 0 is a failure whatever was asked for: nothing was found.
    """
    if score > 0 and score >= confidence:
        return "success"
    return "partial" if score > PARTIAL else "failed"


def _occurrences(
    keywords: Sequence[str], results: Sequence[Result], mode: Mode, likeness: Likeness | None
) -> list[Row]:
    """Return a row a keyword: whether it occurs in each result."""
    pages = [ResultPage(result) for result in results]
    rows: list[Row] = [[on_page(word, page, mode) for page in pages] for word in keywords]
    open_ = [at for at, row in enumerate(rows) if not all(row)]
    if mode != "semantic" or likeness is None or not open_:
        return rows
    alike = likeness([keywords[at] for at in open_], results)
    for at, likes in zip(open_, alike, strict=True):
        rows[at] = [
            hit or like >= MIN_MEANING_LIKENESS for hit, like in zip(rows[at], likes, strict=True)
        ]
    return rows


def _matches(pattern: ContentPattern, result: Result) -> bool:
    raise_if_cancelled()  # fifty chunks and twenty of the slowest patterns take longer than anybody waits
    return pattern.found(result.text)


def _distinct(results: Sequence[Result]) -> list[Result]:
    return list({(each.document, each.position, each.text): each for each in results}.values())


def _share(hits: Iterable[bool]) -> float:
    known = list(hits)
    return sum(known) / len(known) if known else 1.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _bounded(value: float) -> float:
    """Return a value as 0 to 1; what is no number is 0."""
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, value))
