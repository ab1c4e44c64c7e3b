"""Call Milvus: create collections, read and write rows. `connection` connects."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Literal, NamedTuple, Self, TypeVar

from code_intel.errors import CodeIntelError
from code_intel.shared.deadlines import seconds_left
from code_intel.shared.milvus.connection import CONNECT_S, Connection, connected, our_errors

Consistency = Literal["Strong", "Bounded"]
Row = Mapping[str, Any]
ItemT = TypeVar("ItemT")

TIMEOUT_S = 60.0
"""Limit of one call; pymilvus tries again until then."""
READ_ROWS = 500
"""Rows of one read. Milvus returns at most 16,384, and a row may have 64 KB."""
WRITE_BYTES = 8 << 20
"""Bytes of one write. A message may have 64 MB."""
LIST_ROWS = 10_000
_RELEASED = re.compile("state 'released'|not loaded")
"""Milvus Lite loads no collection when it starts."""


class Found(NamedTuple):
    """A row that a search found; higher scores are better."""

    id: str
    score: float
    row: Row


class Field(NamedTuple):
    """A field of a collection.

    Attributes:
        name: Its name.
        kind: Name of a `pymilvus.DataType`.
        size: Maximum bytes of a text, or numbers of a vector.
        role: `primary`, `partition`, or empty.
    """

    name: str
    kind: str
    size: int = 0
    role: Literal["", "primary", "partition"] = ""


class IndexRow(NamedTuple):
    """An index of a field: its type, metric and parameters."""

    field: str
    kind: str
    metric: str = ""
    params: Mapping[str, Any] = {}


class Engine:
    """A connection; any thread may use it.

    Attributes:
        lite: Whether it is Milvus Lite.
        cosine: The metric for vectors of length 1. Milvus Lite would compute the lengths of all
            vectors in each search; without them, a search takes a third of the time.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.client
        with self._errors():
            version = str(self._client.get_server_version(timeout=CONNECT_S))
        self.lite = "lite" in version
        self.cosine = "IP" if self.lite else "COSINE"

    @classmethod
    def open(cls, address: str, token: str) -> Self:
        """Connect; see `SharedIndex.open`."""
        connection = connected(address, token)
        try:
            return cls(connection)
        except CodeIntelError:
            connection.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # --- collections

    def collections(self) -> list[str]:
        """Return the names of all collections."""
        with self._errors():
            return sorted(self._client.list_collections(timeout=TIMEOUT_S))

    def create(
        self, name: str, fields: Sequence[Field], indexes: Sequence[IndexRow], partitions: int = 0
    ) -> None:
        """Create a collection and load it; do nothing if it exists.

        On a server, texts are mapped from its disk instead of loaded into its memory.

        Args:
            name: Its name.
            fields: Its fields.
            indexes: The indexes of its fields.
            partitions: Over how many partitions a server spreads the keys; 0 for its default.
        """
        from pymilvus import DataType

        options = {"num_partitions": partitions} if partitions and not self.lite else {}
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for field in fields:
            size = "dim" if field.kind == "FLOAT_VECTOR" else "max_length"
            schema.add_field(
                field.name,
                DataType[field.kind],
                is_primary=field.role == "primary",
                is_partition_key=field.role == "partition",
                **({size: field.size} if field.size else {}),
                **({"mmap_enabled": True} if self._is_mapped(field) else {}),
            )
        params = self._client.prepare_index_params()
        for row in indexes:
            params.add_index(
                row.field, index_type=row.kind, metric_type=row.metric, params={**row.params}
            )
        try:
            with self._errors():
                self._client.create_collection(
                    name,
                    schema=schema,
                    index_params=params,
                    consistency_level="Strong",
                    timeout=TIMEOUT_S,
                    **options,
                )
        except CodeIntelError:
            if name not in self.collections():  # another process has created it meanwhile
                raise

    def _is_mapped(self, field: Field) -> bool:
        return field.kind == "VARCHAR" and field.role != "primary" and not self.lite

    def load(self, name: str) -> None:
        """Let a collection answer, if it does not yet."""
        with self._errors():
            self._client.load_collection(name, timeout=TIMEOUT_S)

    def drop(self, name: str) -> None:
        """Delete a collection."""
        with self._errors():
            self._client.drop_collection(name, timeout=TIMEOUT_S)

    def vector_size(self, name: str) -> int:
        """Return the numbers per vector of a collection."""
        with self._errors():
            fields = self._client.describe_collection(name, timeout=TIMEOUT_S)["fields"]
        return next(int(f["params"]["dim"]) for f in fields if "dim" in f.get("params", {}))

    def flush(self, name: str) -> None:
        """Write what is in memory to the disk, so that its index is built.

        Only Milvus Lite needs this; servers do it themselves, and limit how often one may ask.
        """
        if self.lite:
            with self._errors():
                self._client.flush(name, timeout=10 * TIMEOUT_S)

    # --- rows

    def get(
        self,
        name: str,
        ids: Iterable[str],
        fields: Sequence[str],
        consistency: Consistency = "Strong",
    ) -> Iterator[Row]:
        """Yield the rows with those primary keys that exist, in any order."""
        for some in batches(dict.fromkeys(ids), READ_ROWS):
            yield from self._loaded(
                name,
                self._client.get,
                ids=some,
                output_fields=[*fields],
                consistency_level=consistency,
                timeout=TIMEOUT_S,
            )

    def query(
        self,
        name: str,
        condition: str,
        fields: Sequence[str],
        limit: int = 0,
        consistency: Consistency = "Strong",
    ) -> Iterator[Row]:
        """Yield the rows that match a condition, all unless there is a limit."""
        options = {
            "filter": condition,
            "output_fields": [*fields],
            "consistency_level": consistency,
            "timeout": TIMEOUT_S,
        }
        if limit:
            yield from self._loaded(name, self._client.query, limit=limit, **options)
            return
        pages = self._loaded(name, self._client.query_iterator, batch_size=LIST_ROWS, **options)
        try:
            while True:
                with self._errors():
                    page = pages.next()
                if not page:
                    return
                yield from page
        finally:
            pages.close()

    def search(
        self,
        name: str,
        field: str,
        metric: str,
        queries: Sequence[Any],
        limit: int,
        condition: str,
        fields: Sequence[str],
        consistency: Consistency,
    ) -> list[list[Found]]:
        """Return the best rows for each query, best first."""
        params = {"ef": max(64, 2 * limit)} if field == "vector" else {}
        answers = self._loaded(
            name,
            self._client.search,
            data=[*queries],
            anns_field=field,
            limit=limit,
            filter=condition,
            output_fields=[*fields],
            search_params={"metric_type": metric, "params": params},
            consistency_level=consistency,
            timeout=TIMEOUT_S,
        )
        with self._errors():
            return [
                [Found(hit["id"], float(hit["distance"]), hit["entity"]) for hit in hits]
                for hits in answers
            ]

    def upsert(self, name: str, rows: Iterable[Row]) -> None:
        """Write rows; a row replaces the one with its primary key."""
        for some in _of_size(rows):
            self._loaded(name, self._client.upsert, data=some, timeout=TIMEOUT_S)

    def delete(self, name: str, condition: str) -> None:
        """Delete the rows that match a condition."""
        self._loaded(name, self._client.delete, filter=condition, timeout=TIMEOUT_S)

    def _loaded(self, name: str, call: Callable[..., Any], **options: Any) -> Any:
        """Call Milvus; if a restart has released the collection, load it and call again."""
        from pymilvus import MilvusException

        options["timeout"] = seconds_left(options["timeout"])
        with self._errors():
            try:
                return call(name, **options)
            except MilvusException as error:
                if not _RELEASED.search(str(error)):
                    raise
                self._client.load_collection(name, timeout=TIMEOUT_S)
                return call(name, **options)

    def _errors(self) -> AbstractContextManager[None]:
        return our_errors(self._connection.address)


def batches(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Yield lists of at most `size` items."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def _of_size(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield lists of rows of at most `WRITE_BYTES`, roughly, or of one row."""
    some: list[Row] = []
    total = 0
    for row in rows:
        size = sum(len(value) * 4 for value in row.values() if hasattr(value, "__len__"))
        if some and total + size > WRITE_BYTES:
            yield some
            some, total = [], 0
        some.append(row)
        total += size
    if some:
        yield some
