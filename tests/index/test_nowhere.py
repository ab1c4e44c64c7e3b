"""An index of nothing, and one whose project is gone: said, and nothing made in its place."""

import shutil
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import StorageError
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from index.samples import DIMENSIONS, HashEmbedder

LONG = 120.0


def project(tmp_path: Path, *patterns: str) -> IndexConfig:
    folder = tmp_path / "p"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def login(): pass\n", encoding="utf-8")
    return IndexConfig(
        path=folder / "devrag-forest.json",
        corpus="forest",
        patterns=patterns or (".",),
        db_path=folder / "vectors-forest.db",
        dimensions=DIMENSIONS,
    )


@pytest.mark.parametrize("pattern", ["lib", "docs/**/*.rst", "src/*.go"])
def test_a_forest_without_files_is_complete_and_says_where_to_look(
    tmp_path: Path, pattern: str
) -> None:
    with Index(project(tmp_path, pattern)) as index:
        assert index.freshness().state == "building"
        index.complete()
        found = index.freshness()
    assert (found.state, found.files, found.pending) == ("fresh", 0, 0)
    assert found.degraded == (
        "index: no files. `code-intel doctor` says what devrag-forest.json covers",
    )


def test_an_index_that_went_with_its_project_is_an_error_and_is_not_made_again(
    tmp_path: Path,
) -> None:
    config = project(tmp_path)
    with Index(config, embedder=HashEmbedder()) as index:
        index.start()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: status.scans > 0, LONG)
        assert index.store.document_count() == 1
        shutil.rmtree(config.folder.rename(tmp_path / "away"))  # at once, whatever is at work in it
        index.request_scan()
        assert index.indexer.wait(lambda status: "is gone" in status.problem, LONG)
        with pytest.raises(StorageError, match="is gone, and its index with it") as refusal:
            index.store.document_count()
        assert "Restore" in refusal.value.hint
        found = index.freshness()
        assert found.state == "missing"
        assert [reason for reason in found.degraded if "is gone" in reason]
        with pytest.raises(StorageError, match="gone"):
            index.complete()
        turns = index.indexer.status.turns
        index.request_scan()
        assert index.indexer.wait(lambda status: status.turns > turns, LONG)
        assert not config.folder.exists()
        project(tmp_path)
        index.request_scan()
        assert index.indexer.wait(lambda status: not status.problem, LONG)
        index.complete()
        assert index.store.document_count() == 1


def test_an_index_elsewhere_answers_while_its_project_is_away(tmp_path: Path) -> None:
    config = project(tmp_path)
    away = IndexConfig(
        path=config.path,
        corpus="forest",
        patterns=(".",),
        db_path=tmp_path / "elsewhere" / "f.db",
        dimensions=DIMENSIONS,
    )
    with Index(away) as index:
        index.complete()
        config.folder.rename(tmp_path / "unmounted")
        with pytest.raises(StorageError, match="was not changed"):
            index.complete()
        assert index.store.document_count() == 1
        assert not config.folder.exists()


def test_asking_who_indexes_a_project_that_is_gone_makes_nothing(tmp_path: Path) -> None:
    config = project(tmp_path)
    shutil.rmtree(config.folder)
    assert IndexerLease(config.db_path).holder() is None
    with Index(config, readonly=True) as index:
        assert index.freshness().state == "missing"
    assert not config.folder.exists()
