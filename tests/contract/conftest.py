"""A copy of the indexed shop for each test of this folder."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def shop(indexed_shop: Path, tmp_path: Path) -> Path:
    """A project of its own, words indexed."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))
