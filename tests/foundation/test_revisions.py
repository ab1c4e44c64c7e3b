"""Which commit, branch and repository a work tree belongs to."""

from pathlib import Path

import pytest

from code_intel.foundation import revisions
from programs import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "app").mkdir(parents=True)
    git(root, "init", "-qb", "main")
    for number in range(3):
        (root / "app" / "a.py").write_text(f"x = {number}\n", encoding="utf-8")
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"Change {number}")
    return root


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@example.com:team/shop.git", "team/shop"),
        ("ssh://git@example.com:22/team/shop.git", "team/shop"),
        ("https://user:secret@example.com/scm/team/shop", "scm/team/shop"),
        ("https://example.com/team/my%20shop.git/", "team/my shop"),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("file:///srv/git/shop.git", ""),
    ],
)
def test_the_remote_gives_the_repository_its_name(repository: Path, url: str, name: str) -> None:
    git(repository, "remote", "add", "origin", url)
    assert revisions.repository_name(repository) == name
    below = revisions.repository_name(repository / "app")
    assert below == (f"{name}/app" if name else "")


def test_without_a_remote_or_git_there_is_no_name(repository: Path, tmp_path: Path) -> None:
    assert revisions.repository_name(repository) == ""
    assert revisions.repository_name(tmp_path) == ""
    assert (revisions.ancestors(tmp_path, 5), revisions.branch(tmp_path)) == ([], "")
    assert revisions.tracked(tmp_path) is None


def test_ancestors_begin_with_head_and_a_shallow_clone_has_few(
    repository: Path, tmp_path: Path
) -> None:
    head = git(repository, "rev-parse", "HEAD").strip()
    commits = revisions.ancestors(repository, 10)
    assert (commits[0], len(commits)) == (head, 3)
    assert len(revisions.ancestors(repository, 2)) == 2
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    assert revisions.ancestors(tmp_path / "shallow", 10) == [head]
    assert revisions.default_branch(tmp_path / "shallow") == "main"


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    assert revisions.branch(repository) == "main"
    git(repository, "checkout", "-q", "--detach")
    assert revisions.branch(repository) == ""


def test_only_tracked_files_below_the_folder_are_listed(repository: Path) -> None:
    (repository / "app" / "new.py").write_text("", encoding="utf-8")
    (repository / "日本.py").write_text("", encoding="utf-8")
    git(repository, "add", "日本.py")
    assert revisions.tracked(repository) == frozenset({"app/a.py", "日本.py"})
    assert revisions.tracked(repository / "app") == frozenset({"a.py"})


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_files_that_are_marked_to_differ_are_not_listed(repository: Path, mark: str) -> None:
    git(repository, "update-index", mark, "app/a.py")
    assert revisions.tracked(repository) == frozenset()
