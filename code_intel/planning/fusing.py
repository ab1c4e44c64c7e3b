"""Combine the rankings of all queries of a plan into its final result (docs/decisions/0042).

    share of the scores it had  +  share of the expectations that are in it

The scores of an iteration count by its evaluation, those of the first query twice, because it has
the user's own words. Expectations that are in the first query are left out: the search has used
them.
"""

from collections import defaultdict
from collections.abc import Sequence

from code_intel.planning.goals import says
from code_intel.planning.matching import ResultPage, on_page
from code_intel.planning.patterns import all_compiled
from code_intel.planning.records import Iteration, Result

FIRST = 2.0
"""Weight of the first query beside the others."""
EXPECTED = 1.0
"""Worth of a file that has everything expected, beside one that every query found best."""


def final(iterations: Sequence[Iteration]) -> tuple[Result, ...]:
    """Return the final result of a plan, best first: one hit per document, no more than one query.

    A single iteration is ranked by its expectations, too. Equal hits keep their order.
    """
    asked = [each for each in iterations if each.results]
    if not asked:
        return ()
    scores, pages = _scores(asked), defaultdict[str, dict[int, Result]](dict)
    for each in asked:
        for result in each.results:
            pages[result.document].setdefault(result.position, result)
    expected = _Expectations(iterations[0])
    best: list[tuple[float, Result]] = []
    for document, chunks in pages.items():
        found = {at: expected.within(result) for at, result in chunks.items()}
        share = expected.share(set().union(*found.values()))
        at = max(found, key=lambda at: (len(found[at]), chunks[at].score))
        best.append((scores[document] + EXPECTED * share, chunks[at]))
    best.sort(key=lambda pair: -pair[0])
    return tuple(result for _, result in best)[: max(len(each.results) for each in asked)]


def _scores(iterations: Sequence[Iteration]) -> dict[str, float]:
    """Return the weighted mean of each document's scores, 0 where a query did not find it."""
    weights = [
        (FIRST if each.number == 1 else 1.0) * max(each.evaluation.score, 0.01)
        for each in iterations
    ]
    total: dict[str, float] = defaultdict(float)
    for each, weight in zip(iterations, weights, strict=True):
        best = max(result.score for result in each.results)
        found: dict[str, float] = {}
        for place, result in enumerate(each.results):
            # Not every index says how sure it is; the order it answers in is left then.
            score = result.score / best if best > 0 else 1 - place / len(each.results)
            found[result.document] = max(found.get(result.document, 0.0), score)
        for document, score in found.items():
            total[document] += weight * score / sum(weights)
    return total


class _Expectations:
    """What was expected and the first query does not say, as results are looked through for it."""

    def __init__(self, first: Iteration) -> None:
        evaluation = first.evaluation
        every = dict.fromkeys((*evaluation.matched, *evaluation.unmatched))
        keywords = frozenset(first.expected_keywords)
        self.all = len(every)
        self.keywords = [word for word in every if word in keywords and not says(first.query, word)]
        self.patterns = all_compiled(tuple(text for text in every if text not in keywords))

    def within(self, result: Result) -> set[str]:
        """Return those that a result has."""
        page = ResultPage(result)
        words = {word for word in self.keywords if on_page(word, page, "fuzzy")}
        return words | {each.source for each in self.patterns if each.found(result.text)}

    def share(self, found: set[str]) -> float:
        """Return the share of everything that was expected."""
        return len(found) / self.all if self.all else 0.0
