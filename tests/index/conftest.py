from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.store import Store
from index.samples import DIMENSIONS, index_config


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "index.db", dimensions=DIMENSIONS)


@pytest.fixture
def place(tmp_path: Path) -> IndexConfig:
    """Return the configuration of an index of an empty project."""
    (tmp_path / "p").mkdir()
    return index_config(tmp_path / "p")
