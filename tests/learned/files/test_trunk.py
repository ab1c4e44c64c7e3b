"""An agreement counts as confirmed once the trunk of its repository has its content."""

from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.foundation.git import trunk
from code_intel.learned.files.agreements import load, write
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import reconfirm
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement
from git.machine import git
from learned.builders import NOW, confirmed_keys

LOGIN = Agreement("ログイン機能", "AuthService.login", ("e",), confirmed=True, digest="d1")
SMUGGLED = Agreement("権限チェック", "allow_all", ("e",), confirmed=True, digest="d2")


def agreed(root: Path, agreement: Agreement = LOGIN) -> Path:
    """Write an agreement into a project."""
    (root / ".code-intel").mkdir(parents=True, exist_ok=True)
    return write(load_settings(root, {}).agreements, agreement)


def commit(root: Path, message: str = "agreed") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def repository(root: Path, branch: str = "main", *options: str) -> Path:
    """Make a repository with one agreement on its only branch."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", branch, *options)
    agreed(root)
    commit(root)
    return root


def smuggle(root: Path, agreement: Agreement = SMUGGLED) -> Path:
    """Commit an agreement on a new branch; return its file."""
    git(root, "checkout", "-q", "-b", "feature")
    path = agreed(root, agreement)
    commit(root)
    return path


def confirmed(root: Path, path: Path | None = None, **given: object) -> bool:
    environ = {"CODE_INTEL_OUTSIDE_FOLDERS": str(root.parent)}
    settings: Settings = replace(load_settings(root, environ), **given)  # type: ignore[arg-type]
    path = path or next(iter(sorted(settings.agreements.glob("ログイン*.md"))))
    with open_state(settings.state, create=False) as state:
        return is_confirmed(settings, load(path), state)


def test_unmerged_branch_confirms_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    smuggled = smuggle(root)
    assert confirmed(root)
    assert not confirmed(root, smuggled)
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "feature")
    assert confirmed(root, smuggled)


def test_change_on_a_branch_is_not_confirmed(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    path = smuggle(root, replace(LOGIN, evidence=("another",)))
    assert not confirmed(root, path)
    git(root, "checkout", "-q", "main")
    assert confirmed(root, path)


def test_detached_head_is_compared_with_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "--detach")
    assert confirmed(root)
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)


@pytest.mark.parametrize("branch", ["master", "develop"])
def test_only_branch_without_a_remote_is_the_trunk(tmp_path: Path, branch: str) -> None:
    assert confirmed(repository(tmp_path / "p", branch))


def test_several_branches_with_other_names_need_the_setting(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "p", "develop")
    git(root, "branch", "another")
    assert not confirmed(root)
    assert confirmed(root, trunk="develop")
    assert not confirmed(root, trunk="nowhere")


def test_fresh_clone_trusts_the_default_branch_of_its_remote(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin", "develop")
    git(tmp_path, "clone", "-q", f"file://{origin}", "clone")
    root = tmp_path / "clone"
    assert confirmed(root)
    git(root, "checkout", "-q", "-b", "main")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)
    git(root, "remote", "set-head", "origin", "--delete")
    assert confirmed(root, smuggled)  # without a default branch it is `main`
    assert not confirmed(root, smuggled, trunk="origin/develop")


def test_clone_of_a_single_branch_has_no_trunk(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    smuggle(origin)
    git(tmp_path, "clone", "-q", "--single-branch", "-b", "feature", f"file://{origin}", "clone")
    root = tmp_path / "clone"
    if (root / ".git" / "refs" / "remotes" / "origin" / "HEAD").exists():
        git(root, "remote", "set-head", "origin", "--delete")
    assert not confirmed(root)
    assert confirmed(root, trunk="feature")


def test_local_trunk_counts_beside_the_remote_one(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", f"file://{origin}", "clone")
    root = tmp_path / "clone"
    agreed(origin, replace(LOGIN, evidence=("newer",)))
    commit(origin)
    git(root, "fetch", "-q")
    assert confirmed(root)
    git(root, "merge", "-q", "--ff-only", "origin/main")
    assert confirmed(root)


def test_remote_head_that_is_no_symbolic_reference_is_ignored(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    smuggled = smuggle(root)
    git(root, "update-ref", "refs/remotes/origin/HEAD", "feature")
    assert not confirmed(root, smuggled)
    assert confirmed(root)


def test_default_branch_of_another_remote_is_not_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "update-ref", "refs/remotes/origin/main", "main")
    smuggled = smuggle(root)
    git(root, "update-ref", "refs/remotes/fork/main", "feature")
    git(root, "symbolic-ref", "refs/remotes/fork/HEAD", "refs/remotes/fork/main")
    assert confirmed(root)
    assert not confirmed(root, smuggled)


def test_repository_inside_the_project_confirms_nothing(tmp_path: Path) -> None:
    vendor = repository(tmp_path / "vendor")
    root = repository(tmp_path / "p")
    git(root, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(vendor), "lib")
    commit(root)
    config = '{"corpus": "map", "document_patterns": ["lib/.code-intel/agreements"]}'
    (root / "devrag-map.json").write_text(config, encoding="utf-8")
    assert not confirmed(root)
    assert confirmed(root / "lib")


def test_agreements_outside_the_project_use_their_own_repository(tmp_path: Path) -> None:
    team = repository(tmp_path / "team")
    root = repository(tmp_path / "p")
    config = '{"corpus": "map", "document_patterns": ["../team/.code-intel/agreements"]}'
    (root / "devrag-map.json").write_text(config, encoding="utf-8")
    assert confirmed(root)
    smuggle(team, replace(LOGIN, evidence=("another",)))
    assert not confirmed(root)


def test_linked_folder_is_not_confirmed(tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    root = repository(tmp_path / "p")
    folder = root / ".code-intel" / "agreements"
    folder.rename(root / "before")
    folder.symlink_to(other / ".code-intel" / "agreements")
    commit(root)
    assert not confirmed(root)


def test_nothing_is_confirmed_without_git_or_commits(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    path = agreed(root)
    assert not confirmed(root, path)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    assert not confirmed(root, path)
    assert trunk(root) == ()


def test_settings_file_cannot_name_the_trunk(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    git(root, "checkout", "-q", "-b", "feature")
    (root / ".code-intel" / "config.toml").write_text('trunk = "feature"\n', encoding="utf-8")
    smuggled = agreed(root, SMUGGLED)
    commit(root)
    assert not confirmed(root, smuggled)
    settings = load_settings(root, {})
    assert any("CODE_INTEL_TRUNK" in warning for warning in settings.warnings)
    assert load_settings(root, {"CODE_INTEL_TRUNK": "feature"}).trunk == "feature"


def test_environment_of_a_git_hook_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "p")
    other = repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert trunk(root) == (git(root, "rev-parse", "main"),)


def test_project_in_a_subfolder_and_long_object_ids_are_supported(tmp_path: Path) -> None:
    repository(tmp_path / "p", "main", "--object-format=sha256")
    root = tmp_path / "p" / "packages" / "日本 語"
    path = agreed(root)
    assert not confirmed(root, path)
    commit(root)
    assert confirmed(root, path)


def test_only_the_committed_content_that_claims_to_be_confirmed_is(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    unclaimed = agreed(root, replace(SMUGGLED, confirmed=False))
    commit(root)
    assert not confirmed(root, unclaimed)
    path = agreed(root)
    path.write_bytes(path.read_bytes() + b"\n")
    assert not confirmed(root, path)
    git(root, "add", "-A")
    assert not confirmed(root, path)


def test_alias_keeps_a_confirmation_that_came_from_git(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    settings = load_settings(root, {})
    key, evidence = (LOGIN.nl_term, LOGIN.symbol), ("seen",)
    given = {"alias": "サインイン", "session_id": "s1", "evidence": evidence, "files": ()}
    reconfirm(settings, key, digest="d1", now=NOW, **given)  # type: ignore[arg-type]
    assert confirmed_keys(settings) == {key}


def test_committed_file_does_not_confirm_a_second_file_of_its_key(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    settings = load_settings(root, {})
    forged = replace(LOGIN, evidence=("forged",), learned_at="2020-01-01T00:00:00+00:00")
    (settings.agreements / "twin.md").write_text(render(forged), encoding="utf-8")
    assert confirmed_keys(settings) == set()
    commit(root, "both")
    assert confirmed_keys(settings) == {(LOGIN.nl_term, LOGIN.symbol)}
