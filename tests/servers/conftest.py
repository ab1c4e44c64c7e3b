"""One indexed shop for all tests of this folder, and a copy of it for each."""

import shutil
from pathlib import Path

import pytest

from served import make_shop


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("indexed") / "shop")


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    """A project of its own, words indexed."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))
