"""What a team merged: agreements that the trunk of a real repository holds, and no other branch."""

import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.foundation.git import trunk
from code_intel.learned.files.agreements import load, write
from code_intel.learned.history.state import open_state
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement

LOGIN = Agreement("ログイン機能", "AuthService.login", ("e",), confirmed=True, digest="d1")
SMUGGLED = Agreement("権限チェック", "allow_all", ("e",), confirmed=True, digest="d2")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    known = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(folder)}
    known["GIT_ALLOW_PROTOCOL"] = "file"
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words],
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
        env=known,
        text=True,
    )
    return done.stdout.strip()


def agreed(root: Path, agreement: Agreement = LOGIN) -> Path:
    """Write an agreement into a project."""
    (root / ".code-intel").mkdir(parents=True, exist_ok=True)
    return write(load_settings(root, {}).agreements, agreement)


def commit(root: Path, message: str = "agreed") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def repository(root: Path, branch: str = "main") -> Path:
    """Make a repository with one agreement on its only branch."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", branch)
    agreed(root)
    commit(root)
    return root


def confirmed(root: Path, path: Path | None = None, **given: object) -> bool:
    settings: Settings = replace(load_settings(root, {}), **given)  # type: ignore[arg-type]
    path = path or next(iter(sorted(settings.agreements.glob("ログイン*.md"))))
    with open_state(settings.state, create=False) as state:
        return is_confirmed(settings, load(path), state)


def test_a_branch_that_is_not_merged_confirms_nothing_until_it_is(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "-b", "feature")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert confirmed(root)
    assert not confirmed(root, smuggled)
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "feature")
    assert confirmed(root, smuggled)


def test_what_a_branch_made_of_a_merged_agreement_is_not_merged(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "-b", "feature")
    path = agreed(root, replace(LOGIN, evidence=("another",)))
    commit(root)
    assert not confirmed(root, path)
    git(root, "checkout", "-q", "main")
    assert confirmed(root, path)


def test_a_commit_without_a_branch_counts_by_what_the_trunk_holds(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "--detach")
    assert confirmed(root)
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)


@pytest.mark.parametrize("branch", ["main", "master", "trunk", "develop"])
def test_the_only_branch_of_a_repository_without_remote_is_its_trunk(
    tmp_path: Path, branch: str
) -> None:
    assert confirmed(repository(tmp_path / "p", branch))


def test_of_several_branches_with_unusual_names_none_is_the_trunk_unless_named(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "p", "develop")
    git(root, "branch", "another")
    assert not confirmed(root)
    assert confirmed(root, trunk="develop")
    assert not confirmed(root, trunk="nowhere")


@pytest.mark.parametrize("options", [(), ("--depth", "1"), ("--filter", "blob:none")])
def test_a_fresh_clone_trusts_the_default_branch_of_its_remote(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    origin = repository(tmp_path / "origin", "develop")
    git(tmp_path, "clone", "-q", *options, f"file://{origin}", "clone")
    root = tmp_path / "clone"
    assert confirmed(root)
    git(root, "checkout", "-q", "-b", "main")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)
    git(root, "remote", "set-head", "origin", "--delete")
    assert confirmed(root, smuggled)  # nobody says what the default is: `main`
    assert not confirmed(root, smuggled, trunk="origin/develop")


def test_a_clone_of_a_branch_alone_has_no_trunk(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(origin, "checkout", "-q", "-b", "feature")
    agreed(origin, SMUGGLED)
    commit(origin)
    git(tmp_path, "clone", "-q", "--single-branch", "-b", "feature", f"file://{origin}", "clone")
    root = tmp_path / "clone"
    if (root / ".git" / "refs" / "remotes" / "origin" / "HEAD").exists():
        git(root, "remote", "set-head", "origin", "--delete")
    assert not confirmed(root)
    assert confirmed(root, trunk="feature")


def test_a_local_trunk_that_is_behind_or_ahead_counts_beside_the_remote_one(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", f"file://{origin}", "clone")
    root = tmp_path / "clone"
    agreed(origin, replace(LOGIN, evidence=("newer",)))
    commit(origin)
    git(root, "fetch", "-q")
    assert confirmed(root)
    git(root, "merge", "-q", "--ff-only", "origin/main")
    assert confirmed(root)


def test_a_branch_called_head_on_the_remote_is_no_default(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "-b", "feature")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    git(root, "update-ref", "refs/remotes/origin/HEAD", "feature")
    assert not confirmed(root, smuggled)
    assert confirmed(root)


def test_a_fork_that_says_what_its_default_is_is_not_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "update-ref", "refs/remotes/origin/main", "main")
    git(root, "checkout", "-q", "-b", "feature")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    git(root, "update-ref", "refs/remotes/fork/main", "feature")
    git(root, "symbolic-ref", "refs/remotes/fork/HEAD", "refs/remotes/fork/main")
    assert confirmed(root)
    assert not confirmed(root, smuggled)


def test_a_worktree_shares_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "side"))
    side = tmp_path / "side"
    smuggled = agreed(side, SMUGGLED)
    commit(side)
    assert confirmed(side)
    assert not confirmed(side, smuggled)


def test_a_repository_within_the_project_has_no_say(tmp_path: Path) -> None:
    vendor = repository(tmp_path / "vendor")
    root = repository(tmp_path / "p")
    git(root, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(vendor), "lib")
    commit(root)
    config = '{"corpus": "map", "document_patterns": ["lib/.code-intel/agreements"]}'
    (root / "devrag-map.json").write_text(config, encoding="utf-8")
    assert not confirmed(root)
    assert confirmed(root / "lib")


def test_agreements_beside_the_project_are_merged_in_their_own_repository(tmp_path: Path) -> None:
    team = repository(tmp_path / "team")
    root = repository(tmp_path / "p")
    config = '{"corpus": "map", "document_patterns": ["../team/.code-intel/agreements"]}'
    (root / "devrag-map.json").write_text(config, encoding="utf-8")
    assert confirmed(root)
    git(team, "checkout", "-q", "-b", "feature")
    agreed(team, replace(LOGIN, evidence=("another",)))
    commit(team)
    assert not confirmed(root)


def test_a_link_to_a_folder_of_agreements_is_not_what_was_merged(tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    root = repository(tmp_path / "p")
    folder = root / ".code-intel" / "agreements"
    folder.rename(root / "before")
    folder.symlink_to(other / ".code-intel" / "agreements")
    commit(root)
    assert not confirmed(root)


def test_without_commits_or_without_git_nothing_is_merged(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    path = agreed(root)
    assert not confirmed(root, path)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    assert not confirmed(root, path)
    assert trunk(root) == ()


def test_a_state_store_that_git_carries_confirms_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    smuggled = agreed(root, SMUGGLED)
    with open_state(root / ".code-intel") as state:
        state.confirm(load(smuggled).digest, datetime(2026, 1, 1, tzinfo=UTC))
    assert confirmed(root, smuggled)
    git(root, "checkout", "-q", "-b", "feature")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "with its store")
    assert not confirmed(root, smuggled)


def test_the_file_of_settings_cannot_name_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "-b", "feature")
    (root / ".code-intel" / "config.toml").write_text('trunk = "feature"\n', encoding="utf-8")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)
    settings = load_settings(root, {})
    assert any("CODE_INTEL_TRUNK" in warning for warning in settings.warnings)
    assert load_settings(root, {"CODE_INTEL_TRUNK": "feature"}).trunk == "feature"


def test_a_hook_of_another_repository_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "p")
    other = repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert trunk(root) == (git(root, "rev-parse", "main"),)
