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

    Values = NDArray[np.float64]

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
        lengths = np.array([counted.total() for counted in counts], dtype=float)
        rows: dict[str, list[tuple[int, int]]] = {}
        for position, counted in enumerate(counts):
            for term, times in counted.items():
                rows.setdefault(term, []).append((position, times))
        shortened = K1 * (1 - B + B * lengths / max(1.0, lengths.mean())) if counts else lengths
        self._rows: dict[str, tuple[NDArray[np.int64], Values]] = {}
        for term, row in rows.items():
            positions, times = np.array(row).T
            weights = self._idf(len(row)) * times * (K1 + 1) / (times + shortened[positions])
            self._rows[term] = positions, weights

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

    def scores(self, terms: Sequence[str]) -> "Values":
        """Return the scores of all commands for these terms, shape (commands,); else 0."""
        import numpy as np

        scores = np.zeros(len(self.commands))
        for term in terms:
            if term in self._rows:
                positions, weights = self._rows[term]
                scores[positions] += weights  # a command is once in a row
        return scores

    def terms(self, query: str) -> list[str]:
        """Return a query's terms, repeats kept."""
        return self._tokenize(query)

    def idf(self, term: str) -> float:
        """Return the weight of a term: above 0, and higher for rarer terms (seed 000, IDF 計算)."""
        return self._idf(len(self._rows[term][0]) if term in self._rows else 0)

    def _idf(self, having: int) -> float:
        return math.log((len(self.commands) - having + 0.5) / (having + 0.5) + 1)


def first_of_each(commands: Sequence[Command]) -> Iterator[Command]:
    """Yield the commands without later ones of the same name (seed 000, 重複排除)."""
    seen: set[tuple[str, str, str]] = set()
    for command in commands:
        name = (command.c1, command.c2, command.c3)
        if name not in seen:
            seen.add(name)
            yield command
