"""A shop, and an instance of the shared server with an empty index."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.shared.instances import Instance, instance


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Instance]:
    """An instance over an empty index; its limits are high."""
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    from code_intel.shared.milvus import SharedIndex

    limits = {"requests_per_minute": 100_000, "burst": 100_000}
    with (
        SharedIndex.open(str(tmp_path / "milvus")) as index,
        instance(tmp_path / "one", index, limits=limits) as started,
    ):
        yield started


@pytest.fixture
def mine(embedded_shop: Path, tmp_path: Path) -> Path:
    """The shop with vectors and without agreements."""
    return Path(shutil.copytree(embedded_shop, tmp_path / "mine" / "shop"))
