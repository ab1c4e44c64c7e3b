"""Rank the commands of a registry by BM25 (seed 000).

A search adds the weights of the query's terms; a repeated term counts repeatedly.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
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
        terms: Returns a query's terms, repeats kept.
    """

    def __init__(
        self, commands: Sequence[Command], tokenize: Callable[[str], list[str]] = tokens
    ) -> None:
        import numpy as np

        self.commands = first_of_each(commands)
        self.terms = tokenize
        counts = [Counter(tokenize(searched(command))) for command in self.commands]
        average = sum(count.total() for count in counts) / max(1, len(counts))
        rows: dict[str, list[tuple[int, float]]] = {}
        for position, count in enumerate(counts):
            shortened = K1 * (1 - B + B * count.total() / max(1.0, average))
            for term, times in count.items():
                weight = times * (K1 + 1) / (times + shortened)
                rows.setdefault(term, []).append((position, weight))
        self._rows = {
            term: tuple(map(np.array, zip(*row, strict=True))) for term, row in rows.items()
        }

    def search(self, query: str) -> list[tuple[int, float]]:
        """Return (position, score) of the commands that share a term with a query, best first.

        Scores are above 0; of equal ones the registry's first comes first.
        """
        import numpy as np

        scores = self.scores(self.terms(query))
        found = np.flatnonzero(scores)
        order = found[np.argsort(-scores[found], kind="stable")]
        return list(zip(order.tolist(), scores[order].tolist(), strict=True))

    def scores(self, terms: Sequence[str]) -> "Values":
        """Return the scores of all commands for these terms, shape (commands,); else 0."""
        import numpy as np

        scores = np.zeros(len(self.commands))
        for term in terms:
            if term in self._rows:
                positions, weights = self._rows[term]
                scores[positions] += self.idf(term) * weights
        return scores

    def idf(self, term: str) -> float:
        """Return the weight of a term: above 0, and higher for rarer terms (seed 000, IDF 計算)."""
        having = len(self._rows[term][0]) if term in self._rows else 0
        return math.log((len(self.commands) - having + 0.5) / (having + 0.5) + 1)


def first_of_each(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return the commands without later ones of the same name (seed 000, 重複排除)."""
    first: dict[tuple[str, ...], Command] = {}
    for command in commands:
        first.setdefault(command.key[1:], command)
    return tuple(first.values())
