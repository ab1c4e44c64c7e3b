"""Read the collections."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from code_intel.shared.milvus.contents import Contents
from code_intel.shared.milvus.engine import Consistency, Engine, Found, Row
from code_intel.shared.milvus.schema import Opened
from code_intel.shared.milvus.tables import LayerTables


class Reading:
    """The collections of one version, to read."""

    def __init__(self, engine: Engine, opened: Opened) -> None:
        self._engine = engine
        self._names = opened.names
        self.dimensions = opened.dimensions
        self.contents = Contents(engine, opened.names["contents"])
        self.symbols = Contents(engine, opened.names["symbols"])
        self.tables = LayerTables(self.contents)

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
        self, query: Any, limit: int, condition: str, fields: Sequence[str], level: Consistency
    ) -> list[list[Found]]:
        """Return the chunks whose vectors are nearest."""
        name = self._names["vectors"]
        return self._engine.search(
            name, "vector", self._engine.cosine, [query], limit, condition, fields, level
        )

    def similar(self, condition: str, limit: int, level: Consistency) -> dict[str, str]:
        """Return the layers of the symbols that match a condition, by key."""
        found = self._engine.query(
            self.symbols.collection, f"{condition} and parts > 0", ("id", "layer"), limit, level
        )
        return {str(row["id"]): str(row["layer"]) for row in found}
