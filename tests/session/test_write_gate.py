"""Only explored files may be written, by their real path and in READY."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config.client_files import GUARDED_FILES
from code_intel.session.phases import Intent, Phase
from code_intel.session.state import Session
from code_intel.session.write_gate import check_write
from session.sessions import started


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for file in ("src/util.py", "lib/util.py", "src/deep/x.py", "README.md", ".git/config"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(file, encoding="utf-8")
    (tmp_path / "secret.py").write_text("secret", encoding="utf-8")
    return project


def ready(*files: str, intent: Intent = Intent.MODIFY, phase: Phase = Phase.READY) -> Session:
    return started(intent)._replace(phase=phase, explored_files=files or ("src/util.py",))


@pytest.mark.covers("rule.write.explored")
@pytest.mark.parametrize("path", ["src/util.py", "./src/util.py", "src//util.py", "src/./util.py"])
def test_an_explored_file_may_be_written_however_it_is_spelled(root: Path, path: str) -> None:
    for spelled in (path, str(root / path)):
        verdict = check_write(ready(), root, spelled)
        assert (verdict.allowed, verdict.error, verdict.hint) == (True, "", "")


@pytest.mark.covers("rule.write: same_name protected")
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("lib/util.py", "file_not_explored"),
        ("README.md", "file_not_explored"),
        ("src", "file_not_explored"),
        ("lib/new.py", "folder_not_explored"),
        ("new.py", "folder_not_explored"),
        ("src/deep/new.py", "folder_not_explored"),
        ("../secret.py", "path_outside_root"),
        ("src/../../secret.py", "path_outside_root"),
        ("/etc/passwd", "path_outside_root"),
        ("", "path_outside_root"),
        (".", "path_outside_root"),
        ("src/\x00.py", "path_outside_root"),
        ("x" * 5000, "path_outside_root"),
        (".git/config", "protected_path"),
        (".GIT/hooks/pre-commit", "protected_path"),
        (".code-intel/sessions/x.jsonl", "protected_path"),
        (".code-intel", "protected_path"),
        (".code-intel/config.toml", "protected_path"),
        (".Code-Intel/learned_pairs.json", "protected_path"),
        (".code-intel/agreements", "protected_path"),
        (".code-intel/agreements/x.md", "folder_not_explored"),
        (".mcp.json", "protected_path"),
        ("devrag-map.json", "protected_path"),
        ("devrag-Forest.json", "protected_path"),
        ("src/devrag-map.json.py/x.py", ""),
        ("src/devrag-map.json", ""),
        ("src/.git", "protected_path"),
        ("src/vendor/.git/hooks/x", "protected_path"),
        ("src/.gitignore", ""),
        ("~/x.py", "folder_not_explored"),
        ("file:///etc/passwd", "folder_not_explored"),
    ],
)
def test_other_paths_are_denied_with_an_error_and_a_hint(root: Path, path: str, error: str) -> None:
    verdict = check_write(ready(), root, path)
    assert (verdict.allowed, verdict.error) == (not error, error)
    assert bool(verdict.hint) == bool(error)
    assert "add_explored_files" in verdict.hint or "not_explored" not in error
    assert verdict.explored_files == ("src/util.py",)


@pytest.mark.covers("rule.write.named", "error.not_named")
@pytest.mark.parametrize(
    ("path", "naming"),
    [
        (".codex/config.toml", "add the server to .codex/config.toml"),
        (".claude/agents/x.md", "describe the agent in .claude/agents/x.md"),
        (".cursor/mcp.json", "clean .cursor/mcp.json"),
        (".cursor/rules/x.mdc", "write rules in .cursor"),
        (".vscode/mcp.json", ".vscode/mcp.json is wrong"),
        (".vscode/tasks.json", "fix .vscode/tasks.json"),
        (".gemini/settings.json", ".gemini/settings.json: remove it"),
        ("CLAUDE.md", "Describe the tests in CLAUDE.md"),
        ("sub/AGENTS.md", "AGENTS.md を直す"),
        ("GEMINI.md", "write GEMINI.md"),
        (".envrc", "load it in .envrc"),
        (".gitmodules", "drop the module from .gitmodules"),
        (".husky/pre-commit", "the pre-commit hook is slow"),
        (".pre-commit-config.yaml", "フックを足す"),
        (".github/workflows/test.yml", "run the tests in CI on Windows"),
        (".gitlab-ci.yml", "パイプラインを速くする"),
        ("Jenkinsfile", "Jenkinsfile: use Python 3.12"),
    ],
)
def test_files_that_take_effect_outside_the_code_must_be_named(
    root: Path, path: str, naming: str
) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).touch()
    explored = ready(path, "README.md")
    for query in ("the login fails with an error", "the settings in config.toml and mcp.json"):
        session = explored._replace(query=query)
        for spelled in (path, path.upper(), f"./{path}"):
            verdict = check_write(session, root, spelled, client_files=GUARDED_FILES)
            assert (verdict.allowed, verdict.error) == (False, "not_named")
    named = explored._replace(query=naming)
    assert check_write(named, root, path, client_files=GUARDED_FILES).allowed
    if path != ".envrc":
        new = check_write(ready("README.md"), root, ".envrc", client_files=GUARDED_FILES)
        assert new.error == "not_named"


@pytest.mark.covers("rule.write.new_files")
def test_new_files_go_below_the_nearest_explored_folder(root: Path) -> None:
    assert check_write(ready(), root, "src/new.py").allowed
    assert check_write(ready(), root, "src/new/deeper/new.py").allowed
    verdict = check_write(ready(), root, "src/new.py", allow_new=False)
    assert verdict.error == "new_files_not_allowed"


def test_an_explored_file_at_the_top_allows_no_new_folders(root: Path) -> None:
    session = ready("README.md")
    assert check_write(session, root, "CHANGES.md").allowed
    assert check_write(session, root, "deploy/scripts/x.yml").error == "folder_not_explored"


@pytest.mark.covers("rule.write.links")
def test_a_link_is_judged_by_its_real_path(root: Path) -> None:
    targets: dict[str, Path | str] = {
        "src/link.py": root.parent / "secret.py",
        "src/out": root.parent,
        "src/dangling.py": root.parent / "not-yet.py",
        "src/loop.py": "loop.py",
        "alias.py": "src/util.py",
        "mirror": "src",
        ".git/hook": "../src/util.py",
    }
    for link, target in targets.items():
        (root / link).symlink_to(target)
    os.link(root / "src/util.py", root / "lib/hard_link.py")
    session = ready("src/util.py", "src/link.py", "src/out/secret.py", "src/dangling.py")
    outside = ("src/link.py", "src/out/secret.py", "src/out/new.py", "src/dangling.py")
    expected = {
        **dict.fromkeys((*outside, "src/out/../util.py"), "path_outside_root"),
        **dict.fromkeys(("alias.py", "mirror/util.py"), ""),
        "mirror/new.py": "folder_not_explored",
        ".git/hook": "protected_path",
        "lib/hard_link.py": "file_not_explored",
    }
    assert {path: check_write(session, root, path).error for path in expected} == expected
    assert not check_write(session, root, "src/loop.py").allowed


@pytest.mark.parametrize("swapped", ["src/util.py", "src"])
def test_an_explored_file_that_became_a_link_is_denied(root: Path, swapped: str) -> None:
    (root / swapped).rename(root / "old")
    (root / swapped).symlink_to(root / ("lib/util.py" if "." in swapped else "lib"))
    for path in ("src/util.py", "lib/util.py", "lib/new.py", "src/new.py"):
        assert not check_write(ready(), root, path).allowed


def test_a_project_reached_through_a_link_is_the_same_project(root: Path) -> None:
    door = root.parent / "door"
    door.symlink_to(root)
    assert check_write(ready(), door, str(door / "src/util.py")).allowed
    assert check_write(ready(), door, str(door / "src/new.py")).allowed
    assert check_write(ready(), root, str(door / "src/new.py")).allowed


@pytest.mark.covers("rule.write.reading")
@pytest.mark.parametrize("intent", [Intent.QUESTION, Intent.INVESTIGATE, Intent.EXPLORE])
def test_a_read_only_session_never_writes(root: Path, intent: Intent) -> None:
    assert check_write(ready(intent=intent), root, "src/util.py").error == "read_only_intent"


@pytest.mark.covers("rule.write.ready_only")
@pytest.mark.parametrize("phase", [Phase.EXPLORATION, Phase.SEMANTIC, Phase.VERIFICATION])
def test_before_ready_writes_are_denied_with_the_next_step(root: Path, phase: Phase) -> None:
    verdict = check_write(ready(phase=phase), root, "src/util.py")
    assert verdict.error == "not_ready"
    assert "submit_" in verdict.hint


@pytest.mark.covers("error.nothing_explored")
def test_ready_without_explored_files_writes_nothing(root: Path) -> None:
    session = ready()._replace(explored_files=())
    assert check_write(session, root, "src/util.py").error == "nothing_explored"
    assert check_write(session, root, "src/new.py").error == "nothing_explored"


def test_an_explored_file_deleted_since_may_be_written_again(root: Path) -> None:
    (root / "src/util.py").unlink()
    assert check_write(ready(), root, "src/util.py", allow_new=False).allowed


def test_an_explored_agreement_may_be_written_but_no_config(root: Path) -> None:
    files = (".code-intel/agreements/login.md", ".code-intel/config.toml", "devrag-map.json")
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("x", encoding="utf-8")
    session = ready(*files)
    errors = [check_write(session, root, file).error for file in files]
    assert errors == ["", "protected_path", "protected_path"]


def test_an_announced_file_may_be_created_with_its_neighbours_and_nothing_else(root: Path) -> None:
    session = ready()._replace(explored_files=(), planned_files=("app/shop.py", "src/util.py"))
    denied = ("app/deeper/x.py", "main.py", "other/x.py")
    expected = {
        **dict.fromkeys(("app/shop.py", "app/cart.py"), ""),
        **dict.fromkeys(denied, "folder_not_explored"),
        "src/util.py": "file_not_explored",
    }
    assert {path: check_write(session, root, path).error for path in expected} == expected
    (root / "app").symlink_to("lib")
    assert check_write(session, root, "app/cart.py").error == "folder_not_explored"


@given(st.text(max_size=20))
def test_any_path_is_judged_and_none_outside_is_allowed(path: str) -> None:
    here = Path(__file__).parent
    verdict = check_write(ready("test_write_gate.py"), here, path)
    assert verdict.allowed == (not verdict.error)
    if verdict.allowed:
        assert here in (here / path).resolve().parents
