"""`code-intel shared prune` and `delete`, on the engine that a configuration names."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.shared.milvus import SharedIndex
from pushes import Push, pushed

pytestmark = pytest.mark.milvus

CONFIG = 'engine = "milvus"\ntoken_file = "tokens.json"\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose engine has two versions of a repository, and another one."""
    with SharedIndex.open(str(tmp_path / "milvus")) as index:
        pushed(index, "team/shop", {"a.py": "x = 1\n"})
        pushed(index, "team/shop", {"a.py": "x = 2\n"})
        pushed(index, "team/web", {"b.py": "y = 1\n"})
    (tmp_path / "shared.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path / "shared.toml"


def run(config: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["shared", *words, "--config", str(config), "--json"])
    return code, json.loads(capsys.readouterr().out)


def repositories(config: Path) -> set[str]:
    with SharedIndex.open(str(config.parent / "milvus")) as index:
        return {head.repository for head in index.heads(lambda _name: True)}


NOTHING = {
    "branches": [],
    "generations": 0,
    "layers": 0,
    "versions": [],
    "waiting": [],
    "marked": 0,
}


def test_what_no_branch_needs_is_removed_after_the_grace_period(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once = ("prune", "--grace-hours", "0", "--force")
    main(["shared", "prune", "--dry-run", "--config", str(config)])
    assert "not needed by any branch: 1 generation." in capsys.readouterr().out
    assert run(config, capsys, "prune") == (0, {**NOTHING, "marked": 1, "dry_run": False})
    would = {**NOTHING, "generations": 1}
    assert run(config, capsys, *at_once, "--dry-run") == (0, {**would, "dry_run": True})
    assert run(config, capsys, *at_once) == (0, {**would, "dry_run": False})
    assert run(config, capsys, *at_once) == (0, {**NOTHING, "dry_run": False})
    with SharedIndex.open(str(config.parent / "milvus")) as index:
        head = index.head("team/shop", "main")
        assert head is not None
        assert index.generation(head.generation) is not None
    assert repositories(config) == {"team/shop", "team/web"}


def test_old_branches_are_removed_if_that_is_asked(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SharedIndex.open(str(config.parent / "milvus")) as index:
        head = Push(index, "team/shop", {"a.py": "x = 3\n"})
        head.write()
        commit = head.finish("feature/old").commit
    gone = [{"repository": "team/shop", "branch": "feature/old", "commit": commit}]
    old = ("prune", "--branches-after", "0.000001")
    assert run(config, capsys, *old, "--dry-run")[1]["branches"] == gone
    assert run(config, capsys, "prune", "--branches-after", "1")[1]["branches"] == []
    assert run(config, capsys, *old)[1]["branches"] == gone
    assert run(config, capsys, *old)[1]["branches"] == []
    assert repositories(config) == {"team/shop", "team/web"}


def test_a_branch_is_removed_alone(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SharedIndex.open(str(config.parent / "milvus")) as index:
        pushed(index, "team/shop", {"a.py": "x = 3\n"}, branch="feature/x")
    delete = ("delete", "team/shop", "--branch", "feature/x")
    for dry in (("--dry-run",), ()):
        code, answer = run(config, capsys, *delete, *dry)
        assert (code, answer["branches"], answer["dry_run"]) == (0, ["feature/x"], bool(dry))
    code, answer = run(config, capsys, *delete)
    assert (code, answer["field"], answer["hint"]) == (1, "branch", "It has: main.")
    assert repositories(config) == {"team/shop", "team/web"}
    assert run(config, capsys, "delete", "team/web", "--branch", "main")[0] == 0
    assert run(config, capsys, "delete", "team/web")[1]["branches"] == []
    assert run(config, capsys, "delete", "team/web")[0] == 1


def test_a_repository_is_removed_unless_it_is_a_dry_run(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = run(config, capsys, "delete", "team/shop", "--dry-run")
    assert (code, answer["branches"], answer["dry_run"]) == (0, ["main"], True)
    assert repositories(config) == {"team/shop", "team/web"}
    assert run(config, capsys, "delete", "team/shop")[0] == 0
    assert repositories(config) == {"team/web"}
    code, answer = run(config, capsys, "delete", "team/shop")
    assert (code, answer["error"]) == (1, "not_found")


def test_a_wrong_grace_period_is_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("-1", "--force"), ("nan", "--force"), ("0",), ("0.9",)):
        code, answer = run(config, capsys, "prune", "--grace-hours", *words)
        assert (code, answer["field"]) == (2, "grace_hours")
        assert "--force" in answer["hint"]
    for days in ("0", "nan"):
        code, answer = run(config, capsys, "prune", "--branches-after", days)
        assert (code, answer["field"]) == (2, "branches_after")
