"""Test the check of the disk by a reader of an index that no process updates."""

from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.config import IndexConfig, load_settings
from code_intel.index.facade import Index
from code_intel.index.staleness import NOT_CHECKED, DiskCheck, staleness
from code_intel.index.store import Store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Three documents and a picture, indexed."""
    root = tmp_path / "project"
    (root / ".code-intel").mkdir(parents=True)
    for name in ("a.py", "b.py", "c.md"):
        (root / name).write_text(f"{name}\n", encoding="utf-8")
    (root / "picture.py").write_bytes(b"\0\1\2" * 99)
    with Index(config_of(root)) as index:
        index.complete(words_only=True)
    return root


def config_of(root: Path) -> IndexConfig:
    return load_settings(root, {}).forest


def state_of(root: Path) -> tuple[str, list[str]]:
    with Index(config_of(root), readonly=True, check_disk=True) as index:
        found = index.freshness()
    return found.state, [note for note in found.degraded if note.startswith("index: ")]


CHANGES: dict[str, tuple[Callable[[Path], object], int]] = {
    "edited": (lambda root: (root / "a.py").write_text("other\n", encoding="utf-8"), 1),
    "edited at the same length": (lambda root: (root / "a.py").write_bytes(b"A.PY\n"), 1),
    "new": (lambda root: (root / "d.py").write_text("new\n", encoding="utf-8"), 1),
    "gone": (lambda root: (root / "b.py").unlink(), 1),
    "two": (lambda root: (root / "b.py").rename(root / "e.py"), 2),
    "touched": (lambda root: (root / "a.py").touch(), 0),
    "a new picture": (lambda root: (root / "d.py").write_bytes(b"\0\3" * 99), 0),
    "nothing": (lambda root: root, 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_reader_compares_the_index_with_the_disk(project: Path, change: str) -> None:
    apply_change, count = CHANGES[change]
    assert state_of(project) == ("fresh", [])
    apply_change(project)
    files = "1 file" if count == 1 else f"{count} files"
    expected = (["stale"], [f"index: {files} changed since the last sync"])
    database = config_of(project).db_path
    before = database.read_bytes()
    state, notes = state_of(project)
    assert ([state], notes) == (expected if count else (["fresh"], []))
    assert database.read_bytes() == before
    with Index(config_of(project)) as index:
        index.complete(words_only=True)
    assert state_of(project) == ("fresh", [])


def test_a_tree_that_takes_too_long_to_scan_is_not_fresh(project: Path) -> None:
    with Index(config_of(project), readonly=True) as index:
        assert staleness(index.store, index.config, timeout=-1) == NOT_CHECKED
        assert staleness(index.store, index.config) == ""


def test_a_check_in_the_background_returns_the_last_note_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.index.staleness.QUIET_INTERVAL_S", 0.0)
    config = config_of(project)
    check = DiskCheck(config)
    check.in_background = True
    with Store.open(config.db_path, readonly=True) as store:
        assert check.note(store) == ""
        (project / "new.py").write_text("new\n", encoding="utf-8")
        assert check.note(store) == ""  # and checks again
        check.join()
        assert check.note(store) == "index: 1 file changed since the last sync"
        check.join()


def test_a_check_is_repeated_sooner_after_a_write(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.index.staleness.CHECK_INTERVAL_S", 0.0)
    config = config_of(project)
    check = DiskCheck(config)
    check.in_background = True
    with Store.open(config.db_path, readonly=True) as store:
        (project / "new.py").write_text("new\n", encoding="utf-8")
        assert "1 file changed" in check.note(store)
        check.note(store)
        check.join()
        assert "1 file changed" in check.note(store)
        with Index(config) as index:
            index.complete(words_only=True)
        check.note(store)
        check.join()
        assert check.note(store) == ""
        check.join()
