"""Call Milvus: connect, read and write rows, and turn its errors into ours.

An address is a file path (Milvus Lite, in this process) or the URL of a server. No other module
imports pymilvus or milvus_lite, and both are imported when a connection is opened.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

from code_intel.errors import BusyError, CodeIntelError, ConfigError, StorageError, UpstreamError
from code_intel.foundation import durable
from code_intel.foundation.text import visible

Consistency = Literal["Strong", "Bounded"]
Row = Mapping[str, Any]
ItemT = TypeVar("ItemT")

TIMEOUT_S = 60.0
"""Limit of one call; pymilvus tries again until then."""
CONNECT_S = 10.0
READ_ROWS = 500
"""Rows of one read. Milvus returns at most 16,384, and a row may have 64 KB."""
WRITE_BYTES = 8 << 20
"""Bytes of one write. A message may have 64 MB."""
LIST_ROWS = 10_000
MAX_SAID = 500

HOW_TO_INSTALL = (
    "Install the extra: `./setup.sh --with-milvus` in a clone, or "
    "`pip install 'code-intel[milvus]'`."
)
_DENIED = ("unauthenticated", "permission", "auth check failure", "privilege")
_LOGGERS = ("pymilvus", "pymilvus.milvus_client", "pymilvus.bulk_writer", "milvus_lite", "grpc")
_GRPC_OPTIONS = {
    "grpc.keepalive_time_ms": 300_000,
    "grpc.keepalive_permit_without_calls": False,
}
"""pymilvus would ping every ten seconds; servers of gRPC close such connections by default."""
_RELEASED = re.compile("state 'released'|not loaded")
"""Milvus Lite loads no collection when it starts."""
_RATE_LIMITS = frozenset({8, 9})
"""Codes of pymilvus for a request that the server refuses for now."""


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

    def __init__(self, client: Any, local: Any, address: str) -> None:
        self._client = client
        self._local = local
        self._address = address
        with self._errors():
            version = str(client.get_server_version(timeout=CONNECT_S))
        self.lite = "lite" in version
        self.cosine = "IP" if self.lite else "COSINE"

    @classmethod
    def open(cls, address: str, token: str) -> Self:
        """Connect; see `SharedIndex.open`."""
        _import()
        local = None if "://" in address else _local_server(Path(address))
        uri = address if local is None else f"http://127.0.0.1:{local[2]}"
        try:
            return cls(_client(uri, token, address), local, address)
        except CodeIntelError:
            _stop(local)
            raise

    def close(self) -> None:
        """Close the connection, and stop Milvus Lite."""
        self._client.close()
        _stop(self._local)
        self._local = None

    # --- collections

    def collections(self) -> list[str]:
        """Return the names of all collections."""
        with self._errors():
            return sorted(self._client.list_collections(timeout=TIMEOUT_S))

    def create(self, name: str, fields: Sequence[Field], indexes: Sequence[IndexRow]) -> None:
        """Create a collection and load it; do nothing if it exists."""
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for field in fields:
            size = "dim" if field.kind == "FLOAT_VECTOR" else "max_length"
            schema.add_field(
                field.name,
                DataType[field.kind],
                is_primary=field.role == "primary",
                is_partition_key=field.role == "partition",
                **({size: field.size} if field.size else {}),
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
                )
        except CodeIntelError:
            if name not in self.collections():  # another process has created it meanwhile
                raise

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
        self, name: str, condition: str, fields: Sequence[str], limit: int = 0
    ) -> Iterator[Row]:
        """Yield the rows that match a condition, all unless there is a limit."""
        options = {
            "filter": condition,
            "output_fields": [*fields],
            "consistency_level": "Strong",
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

        with self._errors():
            try:
                return call(name, **options)
            except MilvusException as error:
                if not _RELEASED.search(str(error)):
                    raise
                self._client.load_collection(name, timeout=TIMEOUT_S)
                return call(name, **options)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import grpc
        from pymilvus import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, ValueError) as error:
            raise _translated(error, self._address) from error


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


def _import() -> None:
    """Import pymilvus, which would read a file `.env` and log what it also raises."""
    _require("pymilvus")
    import dotenv

    load = dotenv.load_dotenv
    dotenv.load_dotenv = lambda *_, **__: False  # .env may hold the secrets of another program
    try:
        import pymilvus  # noqa: F401 - changes the settings of logging
    finally:
        dotenv.load_dotenv = load
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _require(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ConfigError(
            f"The shared index needs {package}, which is not installed.", hint=HOW_TO_INSTALL
        )


def _client(uri: str, token: str, address: str) -> Any:
    import grpc
    from pymilvus import MilvusClient, MilvusException

    try:
        return MilvusClient(uri, token=token, timeout=CONNECT_S, grpc_options=_GRPC_OPTIONS)
    except (MilvusException, grpc.RpcError, ValueError) as error:
        raise _translated(error, address) from error


def _local_server(path: Path) -> Any:
    """Start Milvus Lite in threads of this process; it listens at a free port of this machine."""
    _require("milvus_lite")
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    durable.make_folder(path.parent)
    try:
        return start_server_in_thread(data_dir=str(path.absolute()), host="127.0.0.1", port=0)
    except Exception as error:  # milvus_lite has its own tree of errors, and OSError
        if "lock" in str(error).lower():
            raise BusyError(
                f"Another process has {path} open.",
                hint="Close it, or let several processes share one server: "
                f"`milvus-lite server --data-dir {path}`, and name its URL.",
            ) from error
        raise StorageError(
            f"Milvus Lite cannot open {path}.",
            hint="Name a folder that code-intel has created, or a new one.",
            details={"said": visible(str(error)[:MAX_SAID])},
        ) from error


def _stop(local: Any) -> None:
    if local is not None:
        server, database, _ = local
        server.stop(grace=2).wait()
        database.close()


def _translated(error: Exception, address: str) -> CodeIntelError:
    """Return the error of ours for one of pymilvus or of gRPC; its text may quote data."""
    text = str(getattr(error, "message", "") or error)
    said = {"said": visible(text[:MAX_SAID])}
    if getattr(error, "code", None) in _RATE_LIMITS:
        return BusyError(f"Milvus at {address} refuses the request for now.", details=said)
    if any(word in text.lower() for word in _DENIED):
        return UpstreamError(
            f"Milvus at {address} refuses the token.",
            hint="Check the token, and the privileges of its user.",
            details=said,
        )
    return UpstreamError(
        f"Milvus at {address} does not answer, or refuses the request.",
        hint="Check that Milvus 2.6 or newer runs at this address, then try again.",
        details=said,
    )
