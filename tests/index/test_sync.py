import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.config import IndexConfig
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.index import walk
from code_intel.index.facade import Index
from code_intel.index.report import SyncReport
from code_intel.index.store import Store
from code_intel.index.sync import FIRST_BATCH_FILES, sync, sync_document
from index.samples import DIMENSIONS, chunks_of, index_config, symbols_of
from planted import planted
from privileges import without_root


def config(folder: Path, *patterns: str) -> IndexConfig:
    folder.mkdir(exist_ok=True)
    return index_config(folder, *patterns)


def write(folder: Path, name: str, text: str = "") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"def {path.stem}():\n    return '{name}'\n", encoding="utf-8")
    return path


def age(path: Path, seconds: float = 100) -> None:
    """Set the modification time of a file to some seconds ago."""
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(then, then))


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.deleted, report.unchanged


def content(store: Store) -> object:
    """Return all an index knows, without ids and times."""
    return [
        (
            replace(row, id=0, indexed_at="", mtime_ns=0, inode=0),
            [chunk._replace(id=0, document_id=0) for chunk in chunks_of(store, row.path)],
            symbols_of(store, row.path),
        )
        for row in store.documents()
    ] + [store.imports()]


def test_new_changed_and_deleted_files_are_counted(store: Store, place: IndexConfig) -> None:
    for name in ("a.py", "b.py", "c.py"):
        write(place.folder, name)
    assert counts(sync(store, place)) == (3, 0, 0, 0)
    write(place.folder, "a.py", "def other(): pass\n")
    (place.folder / "b.py").unlink()
    write(place.folder, "d.py")
    assert counts(sync(store, place)) == (1, 1, 1, 1)
    assert [row.path for row in store.documents()] == ["a.py", "c.py", "d.py"]
    assert [d.file for d in store.definitions("other", exact=True, limit=5)] == ["a.py"]
    assert store.check() == []


def rest(store: Store) -> None:
    """Set the time of the last scan ahead, so that every file counts as older than the scan."""
    store.set_meta("scanned_ns", str(time.time_ns() + 5_000_000_000))


opened: set[object] = set()
"""Names of the files this process has opened."""


def test_an_unchanged_file_is_not_opened(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "at_rest.py", "x = 1\n")
    sync(store, place)
    rest(store)
    names = {str(path), path.name}  # the latter where folders are opened one by one
    sys.addaudithook(lambda event, args: opened.update(args[:1]) if event == "open" else None)
    assert counts(sync(store, place)) == (0, 0, 0, 1)
    assert opened.isdisjoint(names)
    age(path, 0)
    assert counts(sync(store, place)) == (0, 0, 0, 1)
    assert not opened.isdisjoint(names)


@pytest.mark.parametrize("seconds", [0, 100, 10_000, -10_000])
def test_a_change_of_equal_size_and_time_is_noticed(
    store: Store, place: IndexConfig, seconds: int
) -> None:
    path = write(place.folder, "a.py", "x = 1\n")
    age(path, seconds)
    sync(store, place)
    known = path.stat()
    with path.open("r+b") as file:
        file.write(b"x = 2\n")
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert path.stat().st_ino == known.st_ino
    assert counts(sync(store, place)) == (0, 1, 0, 0)


def test_another_chunk_size_parses_every_file_again(store: Store, place: IndexConfig) -> None:
    age(write(place.folder, "a.md", "# T\n\n" + "word " * 300))
    sync(store, place)
    long = len(chunks_of(store, "a.md"))
    assert sync(store, replace(place, chunk_size=100)).updated == 1
    assert len(chunks_of(store, "a.md")) > long


def test_a_file_that_becomes_binary_is_removed(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "a.py")
    sync(store, place)
    path.write_bytes(b"\0\1\2")
    report = sync(store, place)
    assert report.skipped == {"a.py": "binary, or not in a known encoding"}
    assert report.deleted == 1
    assert store.documents() == []


def test_a_file_that_cannot_be_parsed_is_reported_and_the_others_are_indexed(
    store: Store, place: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.folder, "a.py", "broken")
    write(place.folder, "b.py")

    def failing(path: str, text: str, *, chunk_size: int) -> object:
        if text == "broken":
            raise RecursionError("too deep")
        return parse_file(path, text, chunk_size=chunk_size)

    monkeypatch.setattr("code_intel.index.reading.batches.parse_file", failing)
    report = sync(store, place)
    assert report.failed == {"a.py": "RecursionError: too deep"}
    assert [row.path for row in store.documents()] == ["b.py"]


def test_an_unreadable_document_stays_in_the_index() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        place = config(Path(folder) / "p")
        write(place.folder, "closed/a.py")
        write(place.folder, "b.py")
        with Store.open(place.db_path, dimensions=DIMENSIONS) as store:
            sync(store, place)
            for file in place.db_path.parent.glob("forest.db*"):
                file.chmod(0o666)
            (place.folder / "closed").chmod(0)
            try:
                with without_root():
                    report = sync(store, place)
            finally:
                (place.folder / "closed").chmod(0o755)
            assert report.deleted == 0
            assert "closed/a.py" in report.failed
            assert len(store.documents()) == 2
            with Index(place, readonly=True) as index:
                freshness = index.freshness()
            assert freshness.state == "stale"
            assert (
                "documents that cannot be read and keep their previous content: 1"
                in freshness.degraded[0]
            )
            sync(store, place)
            assert store.get_meta("unread") == "0"


def test_a_mass_deletion_needs_a_second_scan(store: Store, place: IndexConfig) -> None:
    for number in range(20):
        write(place.folder, f"{number}.py")
    sync(store, place)
    for number in range(15):
        (place.folder / f"{number}.py").unlink()
    first = sync(store, place)
    assert (first.deleted, first.held) == (0, 15)
    assert "15 documents" in first.warnings[0]
    assert (second := sync(store, place)).deleted == 15
    assert second.held == 0
    assert store.check() == []


def test_documents_may_come_back(store: Store, place: IndexConfig, tmp_path: Path) -> None:
    for number in range(20):
        write(place.folder, f"d/{number}.py")
    sync(store, place)
    for _ in range(3):
        (place.folder / "d").rename(tmp_path / "away")
        assert sync(store, place).held == 20
        (tmp_path / "away").rename(place.folder / "d")
        assert sync(store, place).held == 0
    assert len(store.documents()) == 20


def test_documents_of_a_missing_folder_are_kept(store: Store, tmp_path: Path) -> None:
    place = config(tmp_path / "p", "src", "docs")
    write(place.folder, "src/a.py")
    write(place.folder, "docs/b.md")
    sync(store, place)
    (place.folder / "src").rename(tmp_path / "src-away")
    for _ in range(3):
        report = sync(store, place)
        assert report.held == 1
        assert any("src is missing" in warning for warning in report.warnings)
    assert sync(store, replace(place, patterns=("docs",))).deleted == 1
    (tmp_path / "src-away").rename(place.folder / "src")
    sync(store, place)
    place.folder.rename(tmp_path / "away")
    with pytest.raises(StorageError, match="is missing"):
        sync(store, place)
    assert len(store.documents()) == 2


def test_an_unmounted_folder_deletes_no_document(store: Store, tmp_path: Path) -> None:
    place = config(tmp_path / "p", "mnt", "docs")
    for name in ("mnt/a.py", "mnt/b.py", "docs/c.md"):
        write(place.folder, name)
    sync(store, place)
    volumes = json.loads(store.get_meta("volumes") or "")
    for path in (place.folder / "mnt").iterdir():
        path.rename(tmp_path / path.name)
    mount = str(place.folder / "mnt")
    store.set_meta("volumes", json.dumps(volumes | {mount: volumes[mount] + 1}))
    for _ in range(3):
        assert sync(store, place).held == 2
    write(place.folder, "mnt/a.py")
    assert (sync(store, place).deleted, len(store.documents())) == (1, 2)


def test_a_folder_of_unknown_volume_is_not_held(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "a.py")
    sync_document(store, place, "a.py")
    path.unlink()
    assert counts(sync(store, place)) == (0, 0, 1, 0)


def test_the_last_document_of_a_folder_is_deleted_at_once(store: Store, tmp_path: Path) -> None:
    place = config(tmp_path / "p", "docs")
    write(place.folder, "docs/a.md")
    sync(store, place)
    (place.folder / "docs" / "a.md").unlink()
    assert sync(store, place).deleted == 1


def test_a_document_added_by_name_stays(store: Store, tmp_path: Path) -> None:
    place = config(tmp_path / "p", "docs/**/*.md")
    path = write(place.folder, "docs/code.py")
    sync(store, place)
    with pytest.raises(UsageError, match="matches no pattern"):
        sync_document(store, place, "docs/code.py")
    assert sync_document(store, place, "docs/code.py", named=True).added == 1
    for _ in range(2):
        assert not sync(store, place).changed
    path.write_text("def other(): pass\n", encoding="utf-8")
    assert sync(store, place).updated == 1
    path.rename(tmp_path / "away.py")
    assert sync(store, place).deleted == 1
    (tmp_path / "away.py").rename(path)
    assert sync(store, place).added == 1
    with pytest.raises(UsageError, match="configured document directory"):
        sync_document(store, place, "elsewhere.py", named=True)


def test_an_excluded_document_stays_out(store: Store, place: IndexConfig) -> None:
    write(place.folder, "a.py")
    sync(store, place)
    store.choose("a.py", wanted=False)
    report = sync(store, place)
    assert (report.deleted, report.skipped) == (1, {"a.py": walk.EXCLUDED_BY_USER})
    assert not sync(store, place).changed
    with pytest.raises(UsageError, match="by name"):
        sync_document(store, place, "a.py")
    assert sync_document(store, place, "a.py", named=True).added == 1
    assert not sync(store, place).changed


def test_a_name_that_cannot_be_indexed_is_not_stored(store: Store, tmp_path: Path) -> None:
    place = config(tmp_path / "p", "docs/*.md")
    write(place.folder, "docs/a.bin").write_bytes(b"\0\1")
    with pytest.raises(UsageError, match="binary"):
        sync_document(store, place, "docs/a.bin", named=True)
    assert store.choices() == {}
    with pytest.raises(NotFoundError):
        sync_document(store, place, "docs/none.md", named=True)


def test_force_parses_an_unchanged_document_again(store: Store, place: IndexConfig) -> None:
    write(place.folder, "a.md", "# T\n\n" + "word " * 300)
    sync(store, place)
    small = replace(place, chunk_size=100)
    assert sync_document(store, small, "a.md").unchanged == 1
    assert sync_document(store, small, "a.md", force=True).updated == 1
    assert max(len(chunk.text) for chunk in chunks_of(store, "a.md")) <= 100


def test_a_map_refuses_source_files_even_by_name(store: Store, tmp_path: Path) -> None:
    place = replace(config(tmp_path / "p"), corpus="map")
    write(place.folder, "a.py")
    with pytest.raises(UsageError, match="covers no such files"):
        sync_document(store, place, "a.py", named=True)


def test_a_stopped_sync_keeps_its_results(store: Store, place: IndexConfig) -> None:
    for number in range(450):
        write(place.folder, f"{number}.py", f"x{number} = 1\n")
    batches: list[int] = []
    report = sync(
        store, place, progress=lambda done, _: batches.append(done), stop=lambda: len(batches) > 1
    )
    assert report.stopped
    assert len(store.documents()) == report.added == FIRST_BATCH_FILES
    assert counts(sync(store, place))[0] == 450 - FIRST_BATCH_FILES
    assert store.check() == []


def test_a_stopped_scan_deletes_no_document(store: Store, place: IndexConfig) -> None:
    for name in ("a.py", "b.py"):
        write(place.folder, name)
    sync(store, place)
    answers = iter([True])
    report = sync(store, place, stop=lambda: next(answers, False))
    assert report.stopped
    assert len(store.documents()) == 2


def test_one_document_is_added_updated_and_deleted(store: Store, place: IndexConfig) -> None:
    path = write(place.folder, "a.py")
    assert sync_document(store, place, "a.py").added == 1
    path.write_text("other\n", encoding="utf-8")
    assert sync_document(store, place, path).updated == 1
    assert sync_document(store, place, path).unchanged == 1
    path.unlink()
    assert sync_document(store, place, "a.py").deleted == 1
    with pytest.raises(NotFoundError):
        sync_document(store, place, "a.py")


@pytest.mark.parametrize(
    "name", [".env", "../out.py", "b.py", "nul\0.py", "bad\udcff.py", "x" * 300]
)
def test_a_refused_document_is_not_indexed(store: Store, place: IndexConfig, name: str) -> None:
    if len(name) < 10 and name.isprintable():
        write(place.folder, name).write_bytes(b"\0")
    with pytest.raises(UsageError):
        sync_document(store, place, name)
    assert store.documents() == []


NAMES = st.sampled_from(["a.py", "b.md", "src/c.ts", "src/d.py", "e.txt"])
TEXTS = st.sampled_from(
    ["x = 1\n", "x = 2\n", "", "def login(): pass\n", "# T\n\nログイン\n", "\0"]
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, TEXTS),
        st.tuples(st.just("delete"), NAMES, st.just("")),
        st.tuples(st.just("move"), NAMES, NAMES),
        st.tuples(st.just("touch"), NAMES, st.just("")),
        st.tuples(st.just("ignore"), NAMES, st.just("")),
        st.tuples(st.just("sync"), st.just(""), st.just("")),
        st.tuples(st.just("one"), NAMES, st.just("")),
        st.tuples(st.just("named"), NAMES, st.just("")),
        st.tuples(st.just("unwanted"), NAMES, st.just("")),
    ),
    max_size=14,
)


def apply(store: Store, place: IndexConfig, operation: tuple[str, str, str]) -> None:
    what, name, other = operation
    path = place.folder / name
    if what == "write":
        write(place.folder, name).write_bytes(other.encode())
    elif what == "ignore":
        (place.folder / ".gitignore").write_text(f"{name}\n", encoding="utf-8")
    elif what == "sync":
        sync(store, place)
    elif path.is_file() and what == "delete":
        path.unlink()
    elif path.is_file() and what == "move":
        (place.folder / other).parent.mkdir(exist_ok=True)
        path.replace(place.folder / other)
    elif path.is_file() and what == "touch":
        age(path, 50)
    elif what == "unwanted":
        store.choose(name, wanted=False)
        store.delete_document(name)
    elif path.is_file() and what in {"one", "named"}:
        with suppress(UsageError):  # binary, or not wanted
            sync_document(store, place, name, named=what == "named")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
def test_a_second_sync_changes_nothing_and_a_fresh_index_is_equal(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("law")
    place = config(root / "p", "*.py", "src", "**/*.md")
    with Store.open(root / "old.db", dimensions=DIMENSIONS) as store:
        for operation in operations:
            apply(store, place, operation)
            assert store.check() == []
        sync(store, place)
        once = content(store)
        again = sync(store, place)
        assert not again.changed
        assert content(store) == once
        with Store.open(root / "fresh.db", dimensions=DIMENSIONS) as fresh:
            for name, wanted in store.choices().items():
                fresh.choose(name, wanted)
            sync(fresh, place)
            assert content(fresh) == once
            assert fresh.check() == []
        assert store.check() == []


def test_a_sync_without_changes_writes_nothing(store: Store, place: IndexConfig) -> None:
    write(place.folder, "a.py")
    (place.folder / "weights.bin").write_bytes(b"\0" * 64)
    sync(store, place)
    rest(store)
    before = store.get_meta("scanned_ns")
    assert list(sync(store, place).skipped) == ["weights.bin"]
    assert store.get_meta("scanned_ns") == before


def test_a_sync_counts_masked_secrets(store: Store, place: IndexConfig) -> None:
    write(place.folder, "doc.py", '"""Masked values look like x*** and x***."""\n')
    assert sync(store, place).masked == 0
    plants = planted()
    write(place.folder, "key.py", f"{plants['private key'].text}\n{plants['npm'].text}\n")
    assert sync(store, place).masked == 2
