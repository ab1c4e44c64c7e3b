import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.errors import EmbeddingError, NotFoundError, StorageError
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.index.store import Store
from index.samples import DIMENSIONS, HashEmbedder
from index.test_database import foreign_database, garbage


def place(tmp_path: Path) -> IndexConfig:
    folder = tmp_path / "p"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nログイン {name}\n", encoding="utf-8")
    return IndexConfig(
        path=folder / "devrag-map.json",
        corpus="map",
        patterns=(".",),
        db_path=tmp_path / "map.db",
        dimensions=DIMENSIONS,
    )


def no_model(_text: str, _row: object) -> None:
    raise EmbeddingError("There is no model.")


def test_making_an_index_touches_nothing(tmp_path: Path) -> None:
    config = place(tmp_path)
    Index(config, embedder=HashEmbedder()).close()
    assert not config.db_path.exists()


def test_what_is_missing_is_said_beside_any_other_reason(tmp_path: Path) -> None:
    config = place(tmp_path)
    with Index(config) as index:
        index.refresh(next(path for path in tmp_path.rglob("*.md")))
    with Index(config, readonly=True) as index:
        known = index.freshness(["embedding: off"])
    assert known.state == "missing"
    assert [reason.partition(":")[0] for reason in known.degraded] == ["embedding", "index"]


def test_freshness_goes_from_building_to_fresh(tmp_path: Path) -> None:
    index = Index(place(tmp_path), embedder=HashEmbedder())
    assert index.freshness().state == "building"
    index.complete(words_only=True)
    known = index.freshness(["x: missing"])
    assert (known.state, known.files, known.degraded) == ("fresh", 2, ("x: missing",))
    assert known.pending > 0
    index.complete()
    assert index.freshness().pending == 0
    index.close()


def test_refreshing_a_document_makes_its_vectors_too(tmp_path: Path) -> None:
    index = Index(place(tmp_path), embedder=HashEmbedder())
    assert index.refresh("a.md").added == 1
    ((chunk, path, _),) = index.store.cards()
    assert path == "a.md"
    assert list(index.store.generations.vectors_of([chunk])) == [chunk]
    index.close()


def test_refreshing_without_a_model_keeps_the_words_and_says_so(tmp_path: Path) -> None:
    index = Index(place(tmp_path), embedder=HashEmbedder(spoil=no_model))
    report = index.refresh("a.md")
    assert report.added == 1
    assert report.warnings == ["embedding: There is no model."]
    assert index.complete().warnings == ["embedding: There is no model."]
    index.close()


def test_a_siblings_index_is_read_and_never_made(tmp_path: Path) -> None:
    config = place(tmp_path)
    sibling = Index(config, readonly=True)
    with pytest.raises(NotFoundError):
        _ = sibling.store
    sibling.start()
    assert sibling.indexer is None
    assert not config.db_path.exists()
    with Index(config) as index:
        index.complete()
    assert len(sibling.store.documents()) == 2
    sibling.close()


def test_completing_does_not_wait_for_a_process_that_makes_no_headway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.index.facade.CHECK_INTERVAL_S", 0)
    config = place(tmp_path)
    other = IndexerLease(config.db_path)
    assert other.acquire()
    said: list[str] = []
    with Index(config, embedder=HashEmbedder()) as index:
        report = index.complete(say=said.append)
        assert index.store.pending_count() == 0
    other.release()
    assert said == report.warnings == [f"Process {os.getpid()} is indexing map.db, too."]


def test_the_background_indexer_makes_an_index_fresh(tmp_path: Path) -> None:
    with Index(place(tmp_path), embedder=HashEmbedder()) as index:
        index.start()
        index.request_scan()
        assert index.indexer is not None
        assert index.indexer.wait(lambda status: status.scans > 0, 120)
        assert index.freshness().files == 2


def levels(config: IndexConfig, model: str | None = None) -> list[tuple[str, str]]:
    found = examine(config, model=model)
    assert all(finding.remedy or finding.level == "info" for finding in found)
    return [(f.level, f.what) for f in found if f.level != "info"]


def test_the_doctor_has_nothing_to_say_about_a_healthy_index(tmp_path: Path) -> None:
    config = place(tmp_path)
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete()
    assert levels(config, "hash-1") == []


def test_the_doctor_names_what_is_missing_and_changes_nothing(tmp_path: Path) -> None:
    config = place(tmp_path)
    assert levels(config) == [("warning", "map.db does not exist yet.")]
    assert sorted(tmp_path.iterdir()) == [config.folder]
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete(words_only=True)
        assert levels(config) == [("warning", "2 chunks without a vector; only words find them.")]
        index.complete()
        assert levels(config, "other")[0][1].startswith("The vectors were made by hash-1")
    config.db_path.write_bytes(b"garbage " * 999)
    assert levels(config)[0][0] == "error"
    assert config.db_path.read_bytes() == b"garbage " * 999


def test_a_map_without_agreements_is_no_fault(tmp_path: Path) -> None:
    config = replace(place(tmp_path), patterns=("./agreements",))
    with Index(config) as index:
        index.complete()
    assert levels(config) == []


def test_an_index_that_is_only_read_is_missing_until_somebody_builds_it(tmp_path: Path) -> None:
    config = place(tmp_path)
    with Index(config, readonly=True) as reader:
        known = reader.freshness()
        assert known.state == "missing"
        assert known.degraded[0].endswith("Run `code-intel sync`.")
        assert sorted(tmp_path.iterdir()) == [config.folder]
        builder = IndexerLease(config.db_path)
        assert builder.acquire()
        assert reader.freshness().state == "building"
        builder.release()
        with Index(config) as index:
            index.complete()
        assert reader.freshness().state == "fresh"


def test_the_doctor_reports_broken_invariants(tmp_path: Path) -> None:
    config = place(tmp_path)
    with Index(config) as index:
        index.complete()
        index.store._db.rows("DELETE FROM documents")  # noqa: SLF001 - nothing public breaks an index
    assert ("error", "map.db: chunks without a document: 2") in levels(config)


def test_store_and_facade_agree_on_the_file(tmp_path: Path) -> None:
    config = place(tmp_path)
    with Index(config) as index, Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        index.complete()
        assert store.document_count() == index.freshness().files == 2


@pytest.mark.parametrize("make", [garbage, foreign_database])
def test_a_file_of_somebody_else_outside_of_the_project_is_left_where_it_is(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A configuration that came with a repository may name any file as its database."""
    project = tmp_path / "project"
    project.mkdir()
    file = tmp_path / "startup"
    make(file)
    before = file.read_bytes()
    config = replace(place(project), db_path=file)
    with (
        Index(config, embedder=HashEmbedder()) as index,
        pytest.raises(StorageError, match="not an index of code-intel"),
    ):
        index.complete()
    assert file.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [project, file]


def test_an_index_outside_of_the_project_that_was_damaged_is_built_anew(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    config = replace(place(project), db_path=tmp_path / "vectors.db")
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete()
    garbage(config.db_path)
    with Index(config, embedder=HashEmbedder()) as index:
        index.complete()
        assert [row.path for row in index.store.documents()]
    assert (tmp_path / "vectors.db.corrupt-bak").exists()
