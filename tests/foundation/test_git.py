"""What was written since a session began is told from what was there, as far as git can tell."""

from pathlib import Path

import pytest

from code_intel.foundation.git import changed_from, head
from programs import git

FILES = ("old.py", "ログイン.py", "new.py", "gone.py")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "old.py").write_text("def old(): ...\n", encoding="utf-8")
    (tmp_path / "ログイン.py").write_text("def login(): ...\n", encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Begin")
    return tmp_path


def at(folder: Path) -> str:
    commit = head(folder)
    assert commit
    return commit


def test_an_untouched_file_has_not_changed(repository: Path) -> None:
    assert changed_from(repository, at(repository), FILES) == {}


def test_a_changed_file_has_its_earlier_content_and_a_new_one_has_none(repository: Path) -> None:
    (repository / "ログイン.py").write_text("def other(): ...\n", encoding="utf-8")
    (repository / "new.py").write_text("def new(): ...\n", encoding="utf-8")
    found = changed_from(repository, at(repository), FILES)
    assert found == {"ログイン.py": b"def login(): ...\n", "new.py": b""}


def test_files_committed_since_count_as_changed(repository: Path) -> None:
    before = at(repository)
    (repository / "new.py").write_text("def new(): ...\n", encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "New")
    assert changed_from(repository, before, FILES) == {"new.py": b""}
    assert changed_from(repository, at(repository), FILES) == {}


def test_files_are_named_relative_to_a_subfolder(repository: Path) -> None:
    below = repository / "below"
    below.mkdir()
    (below / "old.py").write_text("def below(): ...\n", encoding="utf-8")
    assert changed_from(below, at(below), FILES) == {"old.py": b""}


def test_before_the_first_commit_everything_is_new_and_without_git_nothing_is_known(
    tmp_path: Path,
) -> None:
    (tmp_path / "old.py").write_text("def old(): ...\n", encoding="utf-8")
    assert head(tmp_path) is None
    git(tmp_path, "init", "-q", "-b", "main")
    assert head(tmp_path) == ""
    assert changed_from(tmp_path, "", FILES) == {"old.py": b""}
    git(tmp_path, "add", "-A")
    assert changed_from(tmp_path, "", FILES) == {"old.py": b""}
    (tmp_path / ".git" / "HEAD").unlink()
    assert changed_from(tmp_path, "", FILES) is None
