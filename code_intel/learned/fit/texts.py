"""Embed the texts of a fit, each once."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.recall.recall import Card
from code_intel.records import Agreement

BLOCK_TEXTS = 32
"""Number of texts after which progress is reported."""

Report = Callable[[int, int], None]
"""Receives how many units of work are done, and how many there are."""


class CachingEmbedder:
    """An embedder that embeds each text once, so that a fit can use a text several times."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[bool, str], NDArray[np.float32]] = {}
        self.identity, self.dimensions = embedder.identity, embedder.dimensions

    def can_search(self, identity: str) -> bool:
        """Return whether queries can be compared with passages of `identity`."""
        return self._embedder.can_search(identity)

    def embed_all(self, queries: Iterable[str], passages: Iterable[str], report: Report) -> None:
        """Embed texts in blocks, and report how many are done and how many there are."""
        wanted = [(True, text) for text in dict.fromkeys(queries)]
        wanted += [(False, text) for text in dict.fromkeys(passages)]
        for start in range(0, len(wanted), BLOCK_TEXTS):
            report(start, len(wanted))
            block = wanted[start : start + BLOCK_TEXTS]
            for asked in (True, False):
                self._embedded([text for kind, text in block if kind == asked], asked=asked)
        report(len(wanted), len(wanted))

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed questions."""
        return self._embedded(texts, asked=True)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed what questions should find."""
        return self._embedded(texts, asked=False)

    def _embedded(self, texts: Sequence[str], *, asked: bool) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if (asked, text) not in self._known]
        embed = self._embedder.queries if asked else self._embedder.passages
        vectors = embed(new) if new else ()
        self._known |= {(asked, text): row for text, row in zip(new, vectors, strict=True)}
        rows = [self._known[asked, text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dimensions)


def cards_of(agreements: Sequence[Agreement], embedder: Embedder) -> list[Card]:
    """Return a map as recall sees it."""
    vectors = embedder.passages([card(agreement) for agreement in agreements])
    return [Card(*both) for both in zip(agreements, vectors, strict=True)]
