"""Read the collections, with the consistency that unfinished and finished data need.

A generation never changes after it is finished. Milvus may answer from a state that is a few
seconds old (`Bounded`, by default five seconds), which is the same answer unless the generation is
that young. So a young generation is read with `Strong`, for which Milvus waits until it has seen
all writes, and all others with `Bounded`, which waits for nothing. Heads, and what a push reads,
are always read with `Strong`.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from code_intel.shared.milvus.contents import Contents
from code_intel.shared.milvus.engine import Consistency, Engine, Found, Row
from code_intel.shared.milvus.schema import Opened
from code_intel.shared.milvus.tables import LayerTables
from code_intel.shared.records import Generation

YOUNG_S = 600.0
"""Much more than the staleness of `Bounded` and the difference between two clocks."""


class Reading:
    """The collections of one version, to read."""

    def __init__(self, engine: Engine, opened: Opened) -> None:
        self._engine = engine
        self._names = opened.names
        self.dimensions = opened.dimensions
        self.contents = Contents(engine, opened.names["contents"])
        self.symbols = Contents(engine, opened.names["symbols"])
        self.tables = LayerTables(self.contents)

    @staticmethod
    def consistency(generations: Iterable[Generation]) -> Consistency:
        """Return how to read generations; see the module."""
        now = datetime.now(UTC)
        ages = (now - datetime.fromisoformat(each.created_at) for each in generations)
        return "Strong" if any(age.total_seconds() < YOUNG_S for age in ages) else "Bounded"

    def words(self, ids: Iterable[str], fields: Sequence[str], level: Consistency) -> Iterator[Row]:
        """Yield where chunks are."""
        return self._engine.get(self._names["words"], ids, ("id", *fields), level)

    def weighed(
        self,
        queries: Sequence[dict[int, float]],
        limit: int,
        condition: str,
        fields: Sequence[str],
        level: Consistency,
    ) -> list[list[Found]]:
        """Return the chunks with the largest inner products with each query; see `weights`."""
        name = self._names["words"]
        return self._engine.search(name, "weights", "IP", queries, limit, condition, fields, level)

    def nearest(
        self, query: Any, limit: int, condition: str, level: Consistency
    ) -> list[list[Found]]:
        """Return the chunks whose vectors are nearest."""
        name = self._names["vectors"]
        return self._engine.search(
            name, "vector", self._engine.cosine, [query], limit, condition, ("id",), level
        )

    def similar(self, condition: str, limit: int) -> dict[str, str]:
        """Return the layers of the symbols that match a condition, by key."""
        found = self._engine.query(
            self.symbols.collection, f"{condition} and parts > 0", ("id", "layer"), limit
        )
        return {str(row["id"]): str(row["layer"]) for row in found}
