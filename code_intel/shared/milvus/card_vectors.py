"""Find vectors by the digests of their cards."""

from collections.abc import Iterable, Sequence

from code_intel.shared.milvus.engine import Engine, batches
from code_intel.shared.milvus.literals import any_of, repositories

CARDS_PER_READ = 100
COPIES = 10
"""Rows with the same card, on average, that one read returns."""


def vectors_of(
    engine: Engine, collections: Sequence[str], cards: Iterable[str], names: Sequence[str]
) -> dict[str, bytes]:
    """Return the vectors of cards, from the first collection that has them.

    Args:
        engine: The connection.
        collections: The collections to look into, in order.
        cards: The digests of the cards.
        names: Only vectors of these repositories.
    """
    found: dict[str, bytes] = {}
    wanted = [card for card in dict.fromkeys(cards) if card]
    for collection in collections if names else ():
        missing = [card for card in wanted if card not in found]
        for some in batches(missing, CARDS_PER_READ):
            found |= _in_collection(engine, collection, some, names)
    return found


def _in_collection(
    engine: Engine, collection: str, cards: Sequence[str], names: Sequence[str]
) -> dict[str, bytes]:
    """Return the vectors of cards; those that are not found are in none of the repositories.

    A card has a row for each chunk, so a read may have copies of a few cards alone. Then it is
    repeated for the others.
    """
    import numpy as np

    found: dict[str, bytes] = {}
    while missing := [card for card in cards if card not in found]:
        condition = f"{repositories(names)} and {any_of('card', missing)}"
        limit = COPIES * len(missing)
        rows = [*engine.query(collection, condition, ("card", "vector"), limit)]
        found |= {row["card"]: np.asarray(row["vector"], "<f4").tobytes() for row in rows}
        if len(rows) < limit:
            break
    return found
