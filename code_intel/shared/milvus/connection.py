"""Connect to Milvus, and turn the errors of pymilvus into ours.

`engine` and this module are all that import pymilvus and milvus_lite; both do so late.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.errors import BusyError, CodeIntelError, ConfigError, StorageError, UpstreamError
from code_intel.foundation import durable
from code_intel.foundation.installing import extra_hint
from code_intel.foundation.text import visible

CONNECT_S = 10.0
MAX_SAID = 500
_USER = re.compile("//[^/]*@")
_DENIED = ("unauthenticated", "permission", "auth check failure", "privilege")
_LOGGERS = ("pymilvus", "pymilvus.milvus_client", "pymilvus.bulk_writer", "milvus_lite", "grpc")
_GRPC_OPTIONS = {
    "grpc.keepalive_time_ms": 300_000,
    "grpc.keepalive_permit_without_calls": False,
}
"""pymilvus would ping every ten seconds; servers of gRPC close such connections by default."""
_RATE_LIMITS = frozenset({8, 9})
"""Codes of pymilvus for a request that the server refuses for now."""


class Connection(NamedTuple):
    """A connection, and Milvus Lite as its server if it runs in this process.

    Attributes:
        client: A `pymilvus.MilvusClient`.
        address: The address without a user and password.
        local: The server, the database and the port of Milvus Lite; None for a server elsewhere.
    """

    client: Any
    address: str
    local: Any

    def close(self) -> None:
        """Close the connection, and stop Milvus Lite."""
        self.client.close()
        _stop(self.local)


def connected(address: str, token: str) -> Connection:
    """Connect; see `SharedIndex.open`."""
    _import()
    from pymilvus import MilvusClient

    shown = _USER.sub("//", address)
    local = None if "://" in address else _local_server(Path(address))
    uri = address if local is None else f"http://127.0.0.1:{local[2]}"
    try:
        with our_errors(shown):
            client = MilvusClient(uri, token=token, timeout=CONNECT_S, grpc_options=_GRPC_OPTIONS)
    except CodeIntelError:
        _stop(local)
        raise
    return Connection(client, shown, local)


@contextmanager
def our_errors(address: str) -> Iterator[None]:
    """Turn errors of pymilvus and gRPC in the block into those of `code_intel.errors`."""
    import grpc
    from pymilvus import MilvusException

    try:
        yield
    except (MilvusException, grpc.RpcError, ValueError) as error:
        raise _translated(error, address) from error


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
            f"The shared index needs {package}, which is not installed.", hint=extra_hint("milvus")
        )


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
    """Return the error of `code_intel.errors` for one of pymilvus or gRPC, which may quote data."""
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
