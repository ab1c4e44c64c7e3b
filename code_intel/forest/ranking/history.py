"""Compare a request with the messages of earlier commits.

Files that were changed for similar requests before are more plausible places for a new one. Only
the words of the request count: how often a file was changed is worth nothing by itself.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from code_intel.chunking.words import words
from code_intel.foundation.git import Commit

MAX_COMMIT_CHARS = 600
MAX_COMMIT_FILES = 20
"""A commit that changed more files says little about each."""
COMMIT_WEIGHTS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""Weights of the commits of a file that are most like the request."""


class CommitHistory:
    """The messages of earlier commits, with the files that each of them changed."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        rows = [each for each in commits if 0 < len(each.files) <= MAX_COMMIT_FILES]
        self._messages = [frozenset(words(each.message[:MAX_COMMIT_CHARS])) for each in rows]
        counts = Counter(word for message in self._messages for word in message)
        total = len(rows)
        self._weights = {
            word: math.log1p((total - count + 0.5) / (count + 0.5))
            for word, count in counts.items()
        }
        self._lengths = [self._length(message) for message in self._messages]
        self._commits: Mapping[str, list[int]] = defaultdict(list)
        for number, each in enumerate(rows):
            for file in each.files:
                self._commits[file].append(number)

    def closest(self, terms: Collection[str]) -> dict[str, float]:
        """Return how like the request the best commits of each file are, relative to the best file.

        The likeness of a message is the cosine of the words, weighted by how rare they are.
        """
        known = self._weights.keys() & terms
        length = self._length(known)
        likeness = (
            [
                self._length(known & message) ** 2 / (length * own) if own else 0.0
                for message, own in zip(self._messages, self._lengths, strict=True)
            ]
            if length
            else []
        )
        found = {
            file: _best([likeness[number] for number in numbers])
            for file, numbers in (self._commits.items() if likeness else ())
        }
        best = max(found.values(), default=0.0)
        return {file: value / best for file, value in found.items() if value > 0}

    def _length(self, message: Collection[str]) -> float:
        return math.sqrt(sum(self._weights[word] ** 2 for word in message))


def _best(values: Sequence[float]) -> float:
    pairs = zip(sorted(values, reverse=True), COMMIT_WEIGHTS, strict=False)
    return sum(value * weight for value, weight in pairs)
