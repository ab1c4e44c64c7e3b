"""A clone gets the vectors of a snapshot for what is the same in it, and nothing else."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from code_intel.errors import EmbeddingError, NotFoundError, StorageError
from code_intel.index.facade import Index
from code_intel.index.snapshot import loading, writing
from code_intel.index.snapshot.reading import Snapshot
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from index.samples import HashEmbedder, chunks_of, unit_vector
from index.snapshot.clones import (
    FILES,
    GUIDE,
    LOGIN,
    clone,
    embedded_texts,
    forged,
    forged_part,
    header_of,
    index_of,
    load_into,
    repository,
    write,
)
from privileges import without_root


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return repository(tmp_path / "origin")


@pytest.fixture
def snapshot(origin: Path, tmp_path: Path) -> Path:
    """The snapshot of the origin."""
    file = tmp_path / "file.snapshot"
    write(origin, file)
    return file


@pytest.fixture
def copy(origin: Path, tmp_path: Path) -> Path:
    """A fresh clone."""
    return clone(origin, tmp_path / "clone")


def content(store: Store) -> dict[str, Any]:
    """Return what an index says about each document, except times, inodes and row ids."""
    chunks = {row.path: chunks_of(store, row.path) for row in store.documents()}
    vectors = store.generations.vectors_of(c.id for rows in chunks.values() for c in rows)
    found: dict[str, Any] = {}
    for row in store.documents():
        places = [(c.position, c.start_line, c.end_line, c.text) for c in chunks[row.path]]
        told = [(c.symbols, c.card, vectors[c.id].tolist()) for c in chunks[row.path]]
        defined = store.defined_in([row.path])
        found[row.path] = (row.digest, row.language, row.lines, places, told, defined)
    found["imports"] = store.imports()
    found["words"] = [len(store.word_hits([word], "body", 99)) for word in ("login", "carts")]
    return found


def test_a_fresh_clone_has_vectors_before_its_first_sync(copy: Path, snapshot: Path) -> None:
    with index_of(copy) as index:
        loaded = load_into(index, snapshot)
        assert loaded.used == loaded.files == len(FILES) - 1  # one has no chunks
        assert loaded.unused == {}
        assert loaded.new == 1
        (first, *_), *_ = [index.store.vector_hits(vector_of(index, "src/login.py"), 1)]
        assert index.store.chunk_rows([first[0]])[first[0]].path == "src/login.py"
        assert index.store.check() == []
        assert index.freshness().state == "building"
        assert embedded_texts(index) == []


def vector_of(index: Index, path: str) -> Any:
    (chunk, *_) = chunks_of(index.store, path)
    return index.store.generations.vectors_of([chunk.id])[chunk.id]


def test_texts_and_lines_before_the_first_sync_are_those_of_the_files(
    copy: Path, snapshot: Path, origin: Path
) -> None:
    with index_of(copy) as index, index_of(origin) as complete:
        load_into(index, snapshot)
        for row in index.store.documents():
            here, there = (
                [(c.start_line, c.end_line, c.text) for c in chunks_of(each.store, row.path)]
                for each in (index, complete)
            )
            assert here == there
        assert chunks_of(index.store, "src/login.py")[0].text == LOGIN
        assert "Tr0ub4dor" not in chunks_of(index.store, "src/keys.py")[0].text


def test_a_sync_after_loading_embeds_nothing_and_gives_the_index_of_the_origin(
    copy: Path, snapshot: Path, origin: Path
) -> None:
    with index_of(copy) as index, index_of(origin) as complete:
        load_into(index, snapshot)
        index.complete()
        assert embedded_texts(index) == []
        assert content(index.store) == content(complete.store)
        assert index.store.check() == []
        assert index.freshness().state == "fresh"


def test_of_a_stale_snapshot_only_files_that_differ_are_embedded(
    copy: Path, snapshot: Path
) -> None:
    (copy / "src/login.py").write_text("def logout():\n    pass\n", encoding="utf-8")
    (copy / "src/new.py").write_text("def added():\n    pass\n", encoding="utf-8")
    (copy / "src/windows.c").unlink()
    with index_of(copy) as index:
        loaded = load_into(index, snapshot)
        assert loaded.unused == {
            loading.CHANGED: ["src/login.py"],
            loading.ABSENT: ["src/windows.c"],
        }
        assert loaded.new == 2  # the new one, and the empty one
        assert index.store.document("src/login.py") is None
        index.complete()
        assert len(embedded_texts(index)) == 2
        assert {"logout" in text or "added" in text for text in embedded_texts(index)} == {True}
        assert index.store.check() == []


def test_a_snapshot_of_another_project_gives_nothing(snapshot: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other", {"a.py": b"def a():\n    pass\n"})
    with index_of(other) as index:
        loaded = load_into(index, snapshot)
        assert (loaded.used, loaded.vectors, loaded.new) == (0, 0, 1)
        assert index.store.documents() == []


def test_a_clone_whose_words_are_indexed_gets_the_vectors_of_the_same_cards(
    copy: Path, snapshot: Path
) -> None:
    changed = LOGIN + "\n\ndef logout():\n    pass\n" * 30
    (copy / "src/login.py").write_text(changed, encoding="utf-8")
    with index_of(copy) as index:
        index.complete(words_only=True)
        before = len(index.store.word_hits(["login"], "body", 9))
        loaded = load_into(index, snapshot)
        assert loaded.used == len(FILES) - 2
        assert len(index.store.word_hits(["login"], "body", 9)) == before
        index.complete()
        assert {"logout" in text for text in embedded_texts(index)} == {True}
        assert load_into(index, snapshot).unused.keys() == {loading.KNOWN}


def test_line_ends_of_another_system_are_another_content_until_the_words_are_indexed(
    copy: Path, snapshot: Path
) -> None:
    (copy / "src/login.py").write_bytes(LOGIN.replace("\n", "\r\n").encode())
    with index_of(copy) as index:
        assert load_into(index, snapshot).unused == {loading.CHANGED: ["src/login.py"]}
        index.complete(words_only=True)
        assert load_into(index, snapshot).used == 1
        index.complete()
        assert embedded_texts(index) == []


def test_a_file_that_changes_between_loading_and_sync_loses_its_vectors(
    copy: Path, snapshot: Path
) -> None:
    with index_of(copy) as index:
        load_into(index, snapshot)
        (copy / "src/login.py").write_text("def other():\n    pass\n", encoding="utf-8")
        (copy / "docs/guide.md").unlink()
        index.complete()
        assert [text for text in embedded_texts(index) if "other" not in text] == []
        assert index.store.document("docs/guide.md") is None
        assert index.store.check() == []


def test_vectors_of_another_model_are_refused(copy: Path, snapshot: Path) -> None:
    with index_of(copy, "hash-2") as index:
        with pytest.raises(EmbeddingError, match=r"vectors of hash-1 .* uses hash-2"):
            load_into(index, snapshot)
        assert not index.config.db_path.exists()


def test_a_model_that_changes_before_the_sync_embeds_no_card_that_was_not_parsed(
    copy: Path, snapshot: Path
) -> None:
    with index_of(copy) as index:
        load_into(index, snapshot)
        other = HashEmbedder("hash-2")
        embed_pending(index.store, other, None)
        assert other.embedded == ["login"]  # shows that the model works
        assert index.store.check() == []
        sync(index.store, index.config)
        embed_pending(index.store, other, None)
        assert index.store.model() == "hash-2"
        (chunk, *_) = chunks_of(index.store, "src/login.py")
        vector = index.store.generations.vectors_of([chunk.id])[chunk.id]
        np.testing.assert_allclose(vector, unit_vector(f"hash-2 {chunk.card}"), rtol=1e-6)


def test_a_document_that_was_not_parsed_gets_vectors_of_its_own_model_again(
    copy: Path, snapshot: Path
) -> None:
    with index_of(copy) as index:
        load_into(index, snapshot)
        index.store.generations.begin("hash-2", 8)
        loaded = load_into(index, snapshot)  # begins the generation of its model again
        assert loaded.unused.keys() | {loading.KNOWN} == {loading.KNOWN}
        assert index.store.check() == []
        assert index.store.model() == "hash-1"


def test_a_dry_run_counts_what_loading_stores_and_changes_nothing(
    copy: Path, snapshot: Path
) -> None:
    (copy / "src/login.py").write_text("def logout():\n    pass\n", encoding="utf-8")
    with index_of(copy, readonly=True) as index:
        foreseen = load_into(index, snapshot, dry_run=True)
        assert not index.config.db_path.exists()
    with index_of(copy) as index:
        assert load_into(index, snapshot) == foreseen
        (copy / "docs/guide.md").write_text("# Other\n", encoding="utf-8")
        index.complete(words_only=True)
        version = index.store.version_token()
        foreseen = load_into(index, snapshot, dry_run=True)
        assert index.store.version_token() == version
        assert load_into(index, snapshot) == foreseen


def test_paths_of_a_snapshot_lead_nowhere_outside_the_files_that_are_indexed(
    tmp_path: Path,
) -> None:
    project = repository(tmp_path / "project", {"a.py": b"def a():\n    pass\n"})
    (tmp_path / "outside.py").write_text("def secret():\n    pass\n", encoding="utf-8")
    (project / "link.py").symlink_to(tmp_path / "outside.py")
    (project / ".env").write_text("TOKEN=1\n", encoding="utf-8")
    names = ["../outside.py", str(tmp_path / "outside.py"), ".env", ".git/config", "link.py"]
    part = forged_part(
        [[name, "0" * 64, [[0, 5, "0" * 16]]] for name in sorted(names)],
        unit_vector("x").tobytes() * len(names),
    )
    file = tmp_path / "forged.snapshot"
    file.write_bytes(forged(header_of(part, files=5, chunks=5), [part]))
    with index_of(project) as index:
        assert load_into(index, file).unused == {loading.ABSENT: sorted(names)}
        assert index.store.documents() == []


def test_cuts_of_a_forged_snapshot_show_only_text_of_the_file(tmp_path: Path) -> None:
    data = "# 送料\ndef a():\n    token = 'ghp_0123456789abcdefghij0123456789abcdef'\n".encode()
    project = repository(tmp_path / "project", {"a.py": data})
    chunks = [[3, 9, "1" * 16], [20, 50, "2" * 16], [60, 1 << 20, "3" * 16]]
    part = forged_part(
        [["a.py", hashlib.sha256(data).hexdigest(), chunks]], unit_vector("x").tobytes() * 3
    )
    file = tmp_path / "forged.snapshot"
    file.write_bytes(forged(header_of(part, chunks=3), [part]))
    with index_of(project) as index:
        load_into(index, file)
        found = chunks_of(index.store, "a.py")
        assert found[0].text == data.decode()[3:9]
        assert "ghp_0123456789abcdefghij" not in "".join(c.text for c in found)
        assert [(c.start_line, c.end_line) for c in found] == [(1, 2), (3, 3), (3, 3)]
        assert index.store.defined_in(["a.py"]) == []
        assert index.store.check() == []
        index.complete()
        assert len(embedded_texts(index)) == 1  # no card has the forged digests


def test_writing_leaves_out_what_only_this_machine_has(origin: Path) -> None:
    (origin / ".gitignore").write_text("private.py\n", encoding="utf-8")
    (origin / "private.py").write_text("def private():\n    pass\n", encoding="utf-8")
    named = "src/ghp_0123456789abcdefghij0123456789abcdef.py"
    (origin / named).write_text("def named():\n    pass\n", encoding="utf-8")
    with index_of(origin) as index:
        index.complete()
        index.refresh("private.py", named=True)
        (origin / "src/login.py").write_text("def changed():\n    pass\n", encoding="utf-8")
        written = writing.snapshot_of(index)
    assert written.left_out == {
        writing.LOCAL: ["private.py"],
        writing.CHANGED: ["src/login.py"],
        writing.SECRET_NAME: [named],
        writing.NO_VECTORS: ["empty.py"],
    }


def test_source_comes_before_documents_and_tests(origin: Path, tmp_path: Path) -> None:
    (origin / "a_test.py").write_text("def test_a():\n    pass\n", encoding="utf-8")
    write(origin, tmp_path / "file.snapshot")
    with Snapshot(tmp_path / "file.snapshot") as snapshot:
        paths = [file.path for group in snapshot.parts() for file in group]
    assert paths[0].startswith("src/")
    assert paths[-3:] == ["data/long.txt", "docs/guide.md", "a_test.py"]


def test_an_index_without_vectors_has_no_snapshot(origin: Path) -> None:
    with index_of(origin) as index:
        index.complete(words_only=True)
        with pytest.raises(NotFoundError, match="has no vectors"):
            writing.snapshot_of(index)


def test_the_same_index_gives_the_same_bytes_wherever_it_lies(
    origin: Path, copy: Path, tmp_path: Path
) -> None:
    first = write(origin, tmp_path / "1").data
    assert write(origin, tmp_path / "2").data == first
    assert write(copy, tmp_path / "3").data == first
    assert (tmp_path / "1").read_bytes() == first


def test_a_loaded_index_writes_the_snapshot_that_it_loaded(copy: Path, snapshot: Path) -> None:
    with index_of(copy) as index:
        load_into(index, snapshot)
        index.complete()
        assert writing.snapshot_of(index).data == snapshot.read_bytes()


def test_an_index_that_cannot_be_written_stays_as_it_is(copy: Path, snapshot: Path) -> None:
    with index_of(copy) as index:
        index.complete(words_only=True)
    before = index.config.db_path.read_bytes()
    modes = {path: path.stat().st_mode for path in (index.config.db_path, copy.parent)}
    for path in modes:
        path.chmod(0o555)
    try:
        with without_root(), index_of(copy) as index, pytest.raises(StorageError, match="written"):
            load_into(index, snapshot)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert index.config.db_path.read_bytes() == before


def test_a_long_line_is_cut_where_the_origin_cut_it(copy: Path, snapshot: Path) -> None:
    with index_of(copy) as index:
        load_into(index, snapshot)
        texts = [chunk.text for chunk in chunks_of(index.store, "data/long.txt")]
        assert len(texts) > 1
        assert "".join(texts) == "word " * 5000
        assert "".join(c.text for c in chunks_of(index.store, "docs/guide.md")) != GUIDE
