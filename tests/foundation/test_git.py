"""What was written since a session began is told from what was there, as far as git can tell."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.foundation.git import (
    Commit,
    changed_from,
    commit_ids,
    commits,
    commits_of,
    files_committed_since,
    head,
)
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


def test_commits_have_their_messages_and_the_files_below_a_folder(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "a b.py").write_text("x = 1\n", encoding="utf-8")
    (repository / "old.py").write_text("def older(): ...\n", encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "ログインを直す\n\nBecause it was wrong.")
    found = commits(repository, at(repository), 10)
    assert found is not None
    last, first = found
    message = "ログインを直す\n\nBecause it was wrong.\n"
    assert last[:3] == (message, ("old.py", "sub/a b.py"), at(repository).strip())
    assert first[:2] == ("Begin\n", ("old.py", "ログイン.py"))
    assert commit_ids(repository, 10) == [last.id, first.id]
    assert commits_of(repository, [first.id, last.id]) == [first, last]
    below = commits(repository / "sub", at(repository), 1)
    assert below == [last._replace(files=("a b.py",))]


@pytest.mark.parametrize("separators", ["\x01{}\x02", "\n\n{}\n", "\x02{}\x01"])
def test_no_message_names_files_as_changed(repository: Path, separators: str) -> None:
    claim = separators.format("login\x02\nold.py")
    (repository / "\nnew.py").write_text("x = 1\n", encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", f"Fix\n{claim}\nlogin")
    git(repository, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    git(repository, "commit", "-q", "--allow-empty", "-m", claim.strip())
    found = commits(repository, at(repository), 10)
    assert found is not None
    assert [commit.files for commit in found] == [(), (), ("\nnew.py",), ("old.py", "ログイン.py")]
    assert "login" in found[0].message
    assert found[1].message == ""
    assert claim.strip() in found[2].message


def test_a_message_ends_at_nul(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
    person = "dev <dev@example.invalid> 0 +0000"
    raw = f"tree {tree}\nauthor {person}\ncommitter {person}\n\nFix\0\0\nold.py\0login\n"
    (repository / "raw").write_bytes(raw.encode())
    made = git(repository, "hash-object", "-t", "commit", "-w", "--literally", "raw")
    found = commits(repository, made.strip(), 10)
    assert found == [Commit("Fix", ("old.py", "ログイン.py"), made.strip(), "dev")]


def test_without_a_repository_or_the_commit_there_are_no_commits(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert commits(repository, "--all", 10) is None
    assert commits(tmp_path_factory.mktemp("plain"), "HEAD", 10) is None


def test_files_of_later_commits_are_named_as_they_are(repository: Path) -> None:
    names = ["line\nbreak.py", "日本語.py", "sub/own.py"]
    for name in names:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("x = 1\n", encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "More\n\n1\t1\tforged.py")
    found = files_committed_since(repository, "2000-01-01T00:00:00+00:00")
    assert found is not None
    assert set(names) <= found
    assert "forged.py" not in found
    later = datetime.now(UTC) + timedelta(hours=1)
    assert files_committed_since(repository, later.isoformat()) == set()
    assert files_committed_since(repository / "sub", "2000-01-01T00:00:00+00:00") == {"own.py"}


def test_without_a_repository_no_files_of_commits_are_known(tmp_path: Path) -> None:
    assert files_committed_since(tmp_path, "2000-01-01T00:00:00+00:00") is None
