"""Rank the commands of a registry by BM25 (seed 000).

The weight of a term in a command depends only on the registry, so it is computed once. A search
adds the rows of the query's terms; a repeated term counts repeatedly, as in the formula.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from code_intel.registry.records import Command
from code_intel.registry.tokens import searched, tokens

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.2
"""How soon a term that is repeated adds nothing more."""
B = 0.75
"""How much of its weight a term loses in a long command."""


class BM25Index:
    """The terms of a registry's commands; immutable, so threads may share it.

    Args:
        commands: In the order of the registry; of equal c1, c2 and c3 the first is used.
        tokenize: Returns the terms of a text; the default is seed 000's rule.

    Attributes:
        commands: The searchable commands; positions refer to them.
    """

    def __init__(
        self, commands: Sequence[Command], tokenize: Callable[[str], list[str]] = tokens
    ) -> None:
        import numpy as np

        self.commands = tuple(first_of_each(commands))
        self._tokenize = tokenize
        counts = [Counter(tokenize(searched(command))) for command in self.commands]
        numbers: dict[str, int] = {}
        of_term = [numbers.setdefault(term, len(numbers)) for counted in counts for term in counted]
        times = np.array([often for counted in counts for often in counted.values()], dtype=float)
        positions = np.repeat(np.arange(len(counts)), [len(counted) for counted in counts])
        having = np.bincount(of_term, minlength=len(numbers)) if of_term else np.zeros(0, dtype=int)
        by_term = np.argsort(np.array(of_term, dtype=int), kind="stable")
        lengths = np.array([counted.total() for counted in counts], dtype=float)
        weights = _saturated(times, lengths[positions], lengths.sum() / max(1, len(counts)))
        idfs = np.array([self._idf(number) for number in having.tolist()], dtype=float)
        self._positions = positions[by_term]
        self._weights = weights[by_term] * np.repeat(idfs, having)
        ends = [0, *np.cumsum(having).tolist()]
        self._rows = {term: slice(ends[at], ends[at + 1]) for term, at in numbers.items()}

    def search(self, query: str, top_n: int | None = None) -> list[tuple[int, float]]:
        """Return (position, score) of the commands that share a term with a query, best first.

        Args:
            query: In any words.
            top_n: Results at most; all of them when None.

        Returns:
            Scores above 0, without an upper bound; of equal ones the registry's first comes first.
        """
        import numpy as np

        scores = self.scores(self.terms(query))
        found = np.flatnonzero(scores)
        order = found[np.argsort(-scores[found], kind="stable")]
        kept = order if top_n is None else order[: max(0, top_n)]
        return list(zip(kept.tolist(), scores[kept].tolist(), strict=True))

    def scores(self, terms: Sequence[str]) -> "NDArray[np.float64]":
        """Return the scores of all commands for these terms, shape (commands,); else 0."""
        import numpy as np

        scores = np.zeros(len(self.commands))
        for term in terms:
            row = self._rows.get(term)
            if row is not None:
                scores[self._positions[row]] += self._weights[row]  # a command is once in a row
        return scores

    def terms(self, query: str) -> list[str]:
        """Return a query's terms, repeats kept."""
        return self._tokenize(query)

    def most(self, query: str) -> float:
        """Return the sum of the weights (IDF) of a query's terms.

        Terms of no command count as well, so an unknown word lowers the score. 0 without terms.
        """
        return math.fsum(map(self.idf, self.terms(query)))

    def idf(self, term: str) -> float:
        """Return the weight of a term: above 0, and higher for rarer terms (seed 000, IDF 計算)."""
        row = self._rows.get(term, slice(0, 0))
        return self._idf(row.stop - row.start)

    def _idf(self, having: int) -> float:
        return math.log((len(self.commands) - having + 0.5) / (having + 0.5) + 1)


def _saturated(
    times: "NDArray[np.float64]", lengths: "NDArray[np.float64]", average: float
) -> "NDArray[np.float64]":
    """Return the factor that repetition and length make of a term's IDF."""
    # Where a term occurs at all, the average length is above 0.
    share: NDArray[np.float64] = times * (K1 + 1) / (times + K1 * (1 - B + B * lengths / average))
    return share


def first_of_each(commands: Sequence[Command]) -> Iterator[Command]:
    """Yield the commands without later ones of the same name (seed 000, 重複排除)."""
    seen: set[tuple[str, str, str]] = set()
    for command in commands:
        name = (command.c1, command.c2, command.c3)
        if name not in seen:
            seen.add(name)
            yield command
