"""Index texts in each implementation."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from code_intel.config import SharedConfig
from code_intel.forest.source_store import SourceStore
from code_intel.shared.client import SharedClient
from code_intel.shared.milvus import SharedIndex
from forest.source_store.implementations import IMPLEMENTATIONS, Implementation

Indexed = Callable[[Mapping[str, str]], SourceStore]


@pytest.fixture(
    params=[pytest.param(each, id=each.name, marks=each.marks) for each in IMPLEMENTATIONS]
)
def indexed(request: pytest.FixtureRequest) -> Indexed:
    """Return what indexes texts in one of the implementations."""
    implementation: Implementation = request.param
    return lambda texts: implementation.indexed(request, texts)


@pytest.fixture(scope="module")
def shared_client(
    shared_index: SharedIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedClient]:
    """Serve the index over HTTP, and return a client that may read all of it."""
    from servers.shared.instances import instance  # needs the extra of the server

    many = {"requests_per_minute": 1_000_000, "burst": 1_000_000}
    with instance(tmp_path_factory.mktemp("served"), shared_index, limits=many) as running:
        url = f"http://127.0.0.1:{running.port}"
        client = SharedClient(SharedConfig(url, token=running.token("read:**")))
        yield client
        client.close()
