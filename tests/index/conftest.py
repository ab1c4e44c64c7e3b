from pathlib import Path

import pytest

from code_intel.index.store import Store
from index.samples import DIMENSIONS


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "index.db", dimensions=DIMENSIONS)
