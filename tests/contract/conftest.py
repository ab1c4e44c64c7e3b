"""The shop, indexed once, and a copy of it for each test; see `served`."""

import shutil
from pathlib import Path

import pytest

from code_intel.tools.shelf import open_project
from served import make_shop, settings_of


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("indexed") / "shop")


@pytest.fixture(scope="package")
def embedded_shop(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with its vectors as well."""
    root = Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("embedded") / "shop"))
    for shelf in open_project(settings_of(root, "faithful")):
        shelf.index.complete()
        shelf.index.close()
    return root


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    """A project of its own, words indexed."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))
