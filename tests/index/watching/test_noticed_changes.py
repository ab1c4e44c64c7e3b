"""Change files of a git work tree while an indexer runs that scans only when it must."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from code_intel.config import IndexConfig
from code_intel.index.indexer import Indexer
from code_intel.index.store import Store
from code_intel.index.watching import watch
from index.samples import DIMENSIONS, index_config
from programs import git

LONG = 120.0
FILES = ("src/a.py", "src/b.py", "lib/c.py", ".gitignore")


@pytest.fixture
def place(tmp_path: Path) -> IndexConfig:
    """Return the configuration of an index of a small repository."""
    folder = tmp_path / "p"
    for name in FILES:
        write(folder / name, "*.log\n" if name == ".gitignore" else "def first(): pass\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "All of it")
    return index_config(folder)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def symbols(config: IndexConfig) -> set[tuple[str, str]]:
    """Return (file, name) of every symbol; the index must be sound."""
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        assert store.check() == []
        paths = [row.path for row in store.documents()]
        return {(symbol.file, symbol.name) for symbol in store.defined_in(paths)}


def documents(config: IndexConfig) -> set[str]:
    with Store.open(config.db_path, dimensions=DIMENSIONS) as store:
        return {row.path for row in store.documents()}


@contextmanager
def watching(config: IndexConfig) -> Iterator[Indexer]:
    """Run an indexer that watches, and whose next regular scan is hours away."""
    indexer = Indexer(config, interval=LONG)
    indexer.start()
    try:
        settle(indexer)
        yield indexer
    finally:
        indexer.stop()


def settle(indexer: Indexer) -> None:
    """Wait until the indexer has seen everything that happened before its watch began."""
    assert indexer.wait(lambda status: status.scans > 0 and not indexer.is_behind, LONG)


def reaches(indexer: Indexer, state: Callable[[], bool]) -> bool:
    return indexer.wait(lambda _status: state(), LONG)


def test_an_edit_is_indexed_without_a_scan(place: IndexConfig) -> None:
    with watching(place) as indexer:
        scans = indexer.status.scans
        write(place.folder / "src/a.py", "def second(): pass\n")
        assert reaches(indexer, lambda: ("src/a.py", "second") in symbols(place))
        assert ("src/a.py", "first") not in symbols(place)
        assert indexer.status.scans == scans


def test_a_change_of_our_own_folder_leads_to_no_scan(place: IndexConfig) -> None:
    own = place.folder / ".code-intel"
    own.mkdir()
    with watching(place) as indexer:
        scans = indexer.status.scans
        own.chmod(0o700)
        write(place.folder / "src/a.py", "def second(): pass\n")
        assert reaches(indexer, lambda: ("src/a.py", "second") in symbols(place))
        assert indexer.status.scans == scans
        assert not indexer.is_behind


def test_an_edit_of_the_same_size_and_time_is_indexed(place: IndexConfig) -> None:
    file = place.folder / "src/a.py"
    with watching(place) as indexer:
        before = file.stat()
        write(file, "def other(): pass\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert reaches(indexer, lambda: ("src/a.py", "other") in symbols(place))


def test_new_files_are_indexed_unless_git_ignores_them(place: IndexConfig) -> None:
    with watching(place) as indexer:
        scans = indexer.status.scans
        write(place.folder / "src/x.log", "ignored\n")
        write(place.folder / "src/.env", "TOKEN=1\n")
        write(place.folder / "src/new.py", "def new(): pass\n")
        assert reaches(indexer, lambda: "src/new.py" in documents(place))
        assert documents(place) == {*FILES, "src/new.py"}
        assert indexer.status.scans == scans


def test_a_saved_copy_that_replaces_a_file_is_indexed(place: IndexConfig) -> None:
    with watching(place) as indexer:
        copy = place.folder / "src/a.py~"
        write(copy, "def saved(): pass\n")
        copy.replace(place.folder / "src/a.py")
        assert reaches(indexer, lambda: ("src/a.py", "saved") in symbols(place))
        assert "src/a.py~" not in documents(place)


def test_a_deleted_file_disappears_without_a_scan(place: IndexConfig) -> None:
    with watching(place) as indexer:
        scans = indexer.status.scans
        (place.folder / "src/b.py").unlink()
        assert reaches(indexer, lambda: "src/b.py" not in documents(place))
        assert indexer.status.scans == scans


def test_files_are_indexed_in_a_folder_that_was_empty_when_it_was_noticed(
    place: IndexConfig,
) -> None:
    with watching(place) as indexer:
        (place.folder / "src/deep/deeper").mkdir(parents=True)
        assert reaches(indexer, lambda: str(place.folder / "src/deep/deeper") in indexer.watched)
        settle(indexer)
        write(place.folder / "src/deep/deeper/d.py", "def deep(): pass\n")
        assert reaches(indexer, lambda: "src/deep/deeper/d.py" in documents(place))


def test_a_folder_that_was_replaced_is_still_watched(place: IndexConfig) -> None:
    with watching(place) as indexer:
        shutil.copytree(place.folder / "lib", place.folder.parent / "copy")
        shutil.rmtree(place.folder / "lib")
        assert reaches(indexer, lambda: "lib/c.py" not in documents(place))
        shutil.copytree(place.folder.parent / "copy", place.folder / "lib")
        assert reaches(indexer, lambda: "lib/c.py" in documents(place))
        settle(indexer)
        write(place.folder / "lib/c.py", "def again(): pass\n")
        assert reaches(indexer, lambda: ("lib/c.py", "again") in symbols(place))


def test_a_folder_that_was_renamed_is_indexed_under_its_new_name(place: IndexConfig) -> None:
    with watching(place) as indexer:
        git(place.folder, "mv", "lib", "library")
        assert reaches(
            indexer, lambda: documents(place) == {*FILES[:2], ".gitignore", "library/c.py"}
        )


def test_a_change_of_ignore_rules_applies_to_old_files(place: IndexConfig) -> None:
    write(place.folder / "src/draft.txt", "a draft\n")
    with watching(place) as indexer:
        assert "src/draft.txt" in documents(place)
        write(place.folder / ".gitignore", "*.log\ndraft.txt\n")
        assert reaches(indexer, lambda: "src/draft.txt" not in documents(place))


def test_a_switched_branch_is_indexed(place: IndexConfig) -> None:
    git(place.folder, "switch", "-qc", "other")
    for number in range(5):
        write(place.folder / f"src/n{number}.py", f"def n{number}(): pass\n")
    write(place.folder / "src/a.py", "def other(): pass\n")
    git(place.folder, "add", "-A")
    git(place.folder, "commit", "-qm", "The other branch")
    git(place.folder, "switch", "-q", "main")
    with watching(place) as indexer:
        assert documents(place) == {*FILES}
        git(place.folder, "switch", "-q", "other")
        assert reaches(indexer, lambda: len(documents(place)) == len(FILES) + 5)
        assert reaches(indexer, lambda: ("src/a.py", "other") in symbols(place))
        git(place.folder, "switch", "-q", "main")
        assert reaches(indexer, lambda: documents(place) == {*FILES})


def test_too_many_changes_lead_to_a_scan(
    place: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MAX_PATHS", 3)
    with watching(place) as indexer:
        scans = indexer.status.scans
        for number in range(40):
            write(place.folder / f"src/n{number}.py", f"def n{number}(): pass\n")
        assert reaches(indexer, lambda: len(documents(place)) == len(FILES) + 40)
        assert indexer.wait(lambda status: status.scans > scans, LONG)


def test_the_disk_is_polled_if_too_few_watches_are_allowed(
    place: IndexConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit = tmp_path / "max_user_watches"
    limit.write_text("4\n", encoding="ascii")
    monkeypatch.setattr(watch, "WATCH_LIMIT", limit)
    indexer = Indexer(place, interval=0.05)
    indexer.start()
    try:
        assert indexer.wait(lambda status: status.scans > 0, LONG)
        write(place.folder / "src/a.py", "def polled(): pass\n")
        assert reaches(indexer, lambda: ("src/a.py", "polled") in symbols(place))
        assert not indexer.watched
    finally:
        indexer.stop()
