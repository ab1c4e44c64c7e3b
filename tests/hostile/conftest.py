"""The shop, indexed once; every attempt works on a copy of its own."""

import shutil
from pathlib import Path

import pytest

from code_intel.tools.shelf import open_project
from served import make_shop, settings_of


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("hostile") / "shop")


@pytest.fixture(scope="session")
def embedded_shop(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with vectors: only with them may the map spare a search."""
    root = Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("embedded") / "shop"))
    for shelf in open_project(settings_of(root, "faithful")):
        shelf.index.complete()
        shelf.index.close()
    return root
