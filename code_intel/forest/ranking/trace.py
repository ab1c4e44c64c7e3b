"""Record what each row of the ranking gives to each file, while the ranking applies the rows."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

from code_intel.records import RowShare


class RowTrace:
    """The shares of the rows in the scores of the files, in the order of the rows."""

    def __init__(self) -> None:
        self._scores: Mapping[str, float] = {}
        self._shares: dict[str, list[RowShare]] = defaultdict(list)

    def record(
        self, row: str, does: Literal["adds", "multiplies"], scores: Mapping[str, float]
    ) -> None:
        """Record the differences that a row has made to the scores."""
        for path, score in scores.items():
            before = self._scores.get(path, 0.0)
            if score != before:
                factor = score / before if does == "multiplies" else 1.0
                self._shares[path].append(RowShare(row, score - before, factor))
        self._scores = dict(scores)

    def shares(self, path: str, best: float) -> tuple[RowShare, ...]:
        """Return the shares in the score of a file, relative to the score of the best file."""
        return tuple(
            share._replace(points=share.points / best) for share in self._shares.get(path, ())
        )
