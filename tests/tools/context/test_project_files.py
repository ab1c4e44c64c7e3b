"""Git shows whether a session has changed its explored files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from code_intel.foundation.git import head
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.session import journal
from code_intel.session.heads import session_paths
from code_intel.session.phases import Intent
from code_intel.session.state import Session
from code_intel.tools.context.project_files import baseline, changed_in, written_since
from programs import git

FILE, OTHER = "door.py", "window.py"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with an old commit of two files."""
    for name in (FILE, OTHER):
        (tmp_path / name).write_text("def opened():\n    return 1\n", encoding="utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    with monkeypatch.context() as yesterday:
        yesterday.setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00+00:00")
        commit(tmp_path)
    return tmp_path


def edit(root: Path, text: str, file: str = FILE) -> None:
    (root / file).write_text(f"def opened():\n    return {text}\n", encoding="utf-8")


def commit(root: Path) -> None:
    git(root, "add", FILE, OTHER)
    git(root, "commit", "-qm", "A step")


def begin(root: Path) -> Session:
    """Start a session that has explored `FILE`."""
    place = session_paths(root, root.parent / "sessions", root.parent / "state")
    started = journal.create(place, Intent.MODIFY, "q", baseline=baseline(root))
    return started.session._replace(explored_files=(FILE,), commit=head(root))


def edit_and_commit(root: Path) -> None:
    edit(root, "3")
    commit(root)


def stash(root: Path) -> None:
    git(root, "stash", "-q")
    edit(root, "5", OTHER)
    commit(root)


WORK: dict[str, Callable[[Path], None]] = {
    "nothing": lambda _: None,
    "edit": lambda root: edit(root, "3"),
    "edit and commit": edit_and_commit,
    "commit": commit,
    "stash": stash,
}


@pytest.mark.parametrize(
    ("before", "work", "changed"),
    [
        ("clean", "nothing", False),
        ("clean", "edit", True),
        ("clean", "edit and commit", True),
        ("dirty", "nothing", False),
        ("dirty", "edit", True),
        ("dirty", "edit and commit", True),
        ("dirty", "commit", False),
        ("dirty", "stash", False),
        ("deleted", "nothing", False),
        ("deleted", "edit", True),
    ],
)
def test_only_edits_during_the_session_count_as_its_changes(
    root: Path, before: str, work: str, *, changed: bool
) -> None:
    if before == "dirty":
        edit(root, "2")
    elif before == "deleted":
        (root / FILE).unlink()
    session = begin(root)
    WORK[work](root)
    assert changed_in(root, session) is changed


def test_without_git_changes_are_unknown(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("a = 1\n", encoding="utf-8")
    assert changed_in(tmp_path, begin(tmp_path)) is None


def test_an_untracked_file_is_compared_by_its_stat(root: Path) -> None:
    new = "new.py"
    edit(root, "1", new)
    session = begin(root)._replace(explored_files=(new,))
    assert session.baseline[new].startswith("stat:")
    assert changed_in(root, session) is False
    edit(root, "2", new)
    assert changed_in(root, session) is True


def test_committing_an_untracked_file_is_no_change(root: Path) -> None:
    new = "new.py"
    edit(root, "1", new)
    session = begin(root)._replace(explored_files=(new,))
    git(root, "add", new)
    git(root, "commit", "-qm", "Keep it")
    assert changed_in(root, session) is False
    assert written_since(root, session, [new]) == {}
    edit(root, "2", new)
    assert written_since(root, session, [new]) == {new: b""}


def test_a_large_tracked_file_is_compared_by_its_stat(root: Path) -> None:
    os.truncate(root / FILE, MAX_FILE_BYTES + 1)
    session = begin(root)
    assert session.baseline[FILE].startswith("stat:")
    assert changed_in(root, session) is False
    edit(root, "2")
    assert changed_in(root, session) is True


def test_files_beyond_the_total_limit_are_compared_by_their_stat(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.tools.context.project_files.MAX_BASELINE_BYTES", 40)
    edit(root, "2")
    edit(root, "2", OTHER)
    session = begin(root)._replace(explored_files=(FILE, OTHER))
    assert [mark.startswith("stat:") for mark in session.baseline.values()] == [False, True]
    assert changed_in(root, session) is False
    edit(root, "3", OTHER)
    assert changed_in(root, session) is True
