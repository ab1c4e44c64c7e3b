"""Take vectors from the shared index before they are computed.

`SharedVectors` is a `VectorCache` that asks the server for what the user's cache does not have. So
the indexer of a fresh clone embeds only what the server has not.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.embedding.cache import VectorCache
from code_intel.errors import CodeIntelError
from code_intel.shared.cards import card_digest
from code_intel.shared.connection import Connection
from code_intel.shared.routes import MAX_CARDS
from code_intel.shared.wire import vector_of

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

VECTORS_TIMEOUT_S = 10.0
FORGET_S = 60.0
"""How long the server is not asked again for a vector that it does not have."""


class SharedVectors(VectorCache):
    """The vector cache of a user, with the vectors of a shared index.

    Args:
        folder: The folder of the cache.
        connection: The connection to the server.
        dimensions: Numbers per vector.
    """

    def __init__(self, folder: Path, connection: Connection, dimensions: int) -> None:
        super().__init__(folder)
        self._connection = connection
        self._dimensions = dimensions
        self._absent: set[str] = set()
        self._forget_at = 0.0

    # typing.override needs 3.12.
    def get(  # type: ignore[explicit-override]
        self, identity: str, texts: Sequence[str]
    ) -> "dict[str, NDArray[np.float32]]":
        """Return the known vectors of `texts`.

        Those of the server are not added to the cache, which other projects use, too.
        """
        found = super().get(identity, texts)
        if time.monotonic() > self._forget_at:
            self._absent, self._forget_at = set(), time.monotonic() + FORGET_S
        by_card = {card_digest(identity, text): text for text in texts if text not in found}
        cards = [card for card in by_card if card not in self._absent]
        for start in range(0, len(cards), MAX_CARDS):
            with suppress(CodeIntelError):  # the vectors are then computed here
                asked = cards[start : start + MAX_CARDS]
                new = self._ask(asked, by_card)
                self._absent |= {card for card in asked if by_card[card] not in new}
                found |= new
        return found

    def _ask(
        self, cards: Sequence[str], by_card: Mapping[str, str]
    ) -> "dict[str, NDArray[np.float32]]":
        vectors = self._connection.vectors(cards, self._dimensions, VECTORS_TIMEOUT_S)
        return {by_card[card]: vector_of(data) for card, data in vectors.items()}
