"""A complete index in a folder that takes no writing answers, says so, and goes on once it may."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.index.sync import sync
from index.samples import DIMENSIONS
from index.test_sync import config, write
from privileges import without_root

LONG = 120.0


@pytest.fixture
def closed() -> Iterator[IndexConfig]:
    """A project whose index lies in a folder without the right to write."""
    with tempfile.TemporaryDirectory() as folder:
        place = config(Path(folder) / "p")
        write(place.folder, "a.py", "def login(): pass\n")
        with Store.open(place.db_path, dimensions=DIMENSIONS) as store:
            sync(store, place)
        for file in Path(folder).glob("forest.db*"):
            file.chmod(0o444)
        Path(folder).chmod(0o555)
        yield place
        Path(folder).chmod(0o755)


def test_an_index_that_cannot_be_written_still_answers(closed: IndexConfig) -> None:
    before = sorted(closed.db_path.parent.iterdir())
    with without_root(), Index(closed) as index:
        index.start()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: status.turns > 0, LONG)
        assert len(index.store.word_hits(["login"], "body", 5)) == 1
        found = index.freshness()
        assert (found.state, found.files) == ("stale", 1)
        assert "index: forest.db is not updated: Permission denied." in found.degraded
        with pytest.raises(StorageError, match="cannot be written"):
            index.store.set_meta("a", "b")
        assert len(index.store.word_hits(["login"], "body", 5)) == 1
        assert sorted(closed.db_path.parent.iterdir()) == before


def test_it_is_written_again_as_soon_as_it_may_be(closed: IndexConfig) -> None:
    with without_root(), Index(closed) as index:
        with pytest.raises(StorageError):
            index.store.set_meta("a", "b")
        closed.db_path.parent.chmod(0o755)
        for file in closed.db_path.parent.glob("forest.db*"):
            file.chmod(0o644)
        index.store.set_meta("a", "b")
        write(closed.folder, "b.py")
        assert index.complete().added == 1


def test_where_there_is_no_index_either_the_reason_is_the_folder(closed: IndexConfig) -> None:
    closed.db_path.parent.chmod(0o755)
    for file in closed.db_path.parent.glob("forest.db*"):
        file.unlink()
    closed.db_path.parent.chmod(0o555)
    with without_root(), Index(closed) as index:
        with pytest.raises(StorageError, match="Permission denied"):
            index.store.document_count()
        assert any("Permission denied" in reason for reason in index.freshness().degraded)
