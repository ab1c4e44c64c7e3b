"""Test an index in a read-only folder: it is read, and updated when it can be written."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.index.sync import sync
from index.samples import DIMENSIONS
from index.test_sync import config, write
from privileges import without_root

LONG = 120.0


@pytest.fixture
def read_only() -> Iterator[IndexConfig]:
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


def test_a_read_only_index_is_read_with_a_note(read_only: IndexConfig) -> None:
    before = sorted(read_only.db_path.parent.iterdir())
    with without_root(), Index(read_only) as index:
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
        assert sorted(read_only.db_path.parent.iterdir()) == before


def test_a_reader_opens_a_read_only_index(read_only: IndexConfig) -> None:
    folder = read_only.db_path.parent
    before = {file: file.read_bytes() for file in folder.glob("forest.db*")}
    for mode in (0o555, 0o777):  # a read-only folder, then read-only files in a writable folder
        folder.chmod(mode)
        with without_root(), Index(read_only, readonly=True) as index:
            assert index.store.word_hits(["login"], "body", 3)
            assert index.store.check() == []
            assert index.freshness().state == "fresh"
            assert "No process is indexing" in examine(read_only)[-1].what
    assert {file: file.read_bytes() for file in folder.glob("forest.db*")} == before


def test_an_index_is_updated_as_soon_as_it_is_writable(read_only: IndexConfig) -> None:
    with without_root(), Index(read_only) as index:
        with pytest.raises(StorageError):
            index.store.set_meta("a", "b")
        read_only.db_path.parent.chmod(0o755)
        for file in read_only.db_path.parent.glob("forest.db*"):
            file.chmod(0o644)
        index.store.set_meta("a", "b")
        write(read_only.folder, "b.py")
        assert index.complete().added == 1


def test_a_missing_index_in_a_read_only_folder_names_the_permission(read_only: IndexConfig) -> None:
    read_only.db_path.parent.chmod(0o755)
    for file in read_only.db_path.parent.glob("forest.db*"):
        file.unlink()
    read_only.db_path.parent.chmod(0o555)
    with without_root(), Index(read_only) as index:
        with pytest.raises(StorageError, match="Permission denied"):
            index.store.document_count()
        assert any("Permission denied" in reason for reason in index.freshness().degraded)
