"""Indexes of the sample files, without and with vectors. Tests only read them."""

from collections.abc import Iterator

import pytest

from code_intel.index.store import Store
from doubles import HashEmbedder
from forest.corpus import FILES, plant


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with plant(tmp_path_factory.mktemp("forest") / "forest.db", FILES) as planted:
        yield planted


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with plant(tmp_path_factory.mktemp("forest") / "embedded.db", FILES, HashEmbedder()) as planted:
        yield planted
