"""`code-intel migrate` at the terminal does what it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.migration.layouts import PAIRS, later, tree, v37, without_backup, write
from projects import BIN, Project

JSON = ".code-intel/learned_pairs.json"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "p"
    root.mkdir()
    env = {**os.environ, "CODE_INTEL_EMBEDDING": "off", "PATH": f"{BIN}:{os.environ['PATH']}"}
    return Project(root, env)


def run(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    done = project.call("code-intel", "migrate", *words, "--json", check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return dict(json.loads(done.stdout))


def test_a_dry_run_prints_the_changes_of_the_run_and_makes_none(project: Project) -> None:
    before = tree(v37(project.root))
    planned = run(project, "--dry-run")
    assert tree(project.root) == before
    done = run(project)
    assert planned["changes"] == done["changes"] != []
    assert (planned["backup"], planned["left"]) == (None, done["left"])
    after = without_backup(tree(project.root))
    changed = {row["file"]: row["action"] for row in done["changes"]}
    assert {name for name in after if after[name] != before.get(name)} == changed.keys()
    assert {name for name in changed if name in before} == {
        name for name, action in changed.items() if action == "update"
    }
    again = run(project)
    assert (again["changes"], again["next"], again["backup"]) == ([], [], None)
    assert run(project, "--undo", "--dry-run")["left"] == []
    assert len(run(project, "--undo")["changes"]) == len(changed)
    assert tree(project.root) == before
    assert run(project, "--undo", code=1)["error"] == "not_found"


def test_the_text_lists_changes_leftovers_and_next_steps(project: Project) -> None:
    later(project.root)
    many = [PAIRS[0] | {"nl_term": f"機能{number}"} for number in range(9)]
    write(project.root, {JSON: {"version": 1, "pairs": [*many, "odd"]}})
    done = project.call("code-intel", "migrate", check=False)
    assert done.returncode == 1
    for text in (
        f"{JSON}: version 1, 9 pairs",
        "create  4 more in .code-intel/agreements",
        (
            "update  .mcp.json (code-intel: it started the original gateway; adds devrag-map, "
            "devrag-forest)"
        ),
        ".code-intel/chroma: the index of v3.9 and later; not used",
        "1 item (number",
        "code-intel migrate --undo",
        "code-intel map confirm --all",
    ):
        assert text in done.stdout
    assert done.stderr == ""
    assert "Nothing to do" in project.call("code-intel", "migrate", check=False).stdout


def test_the_script_name_of_the_seed_works(project: Project) -> None:
    v37(project.root)
    planned = run(project, "--dry-run")
    done = subprocess.run(
        [sys.executable, "-m", "code_intel.migrate_to_v38", "--json"],
        cwd=project.root,
        env=dict(project.env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=240,
    )
    assert json.loads(done.stdout)["changes"] == planned["changes"]


def test_a_killed_run_is_reported_and_finished(project: Project) -> None:
    v37(project.root)
    name = run(project)["backup"]
    path = project.root / name / "migration.json"
    path.write_text(
        path.read_text("utf-8").replace('"finished": true', '"finished": false'), "utf-8"
    )
    assert (run(project, "--dry-run")["finishes"], run(project)["finishes"]) == (name, name)
    assert run(project)["finishes"] is None


def test_next_steps_name_wrong_git_rules(project: Project) -> None:
    v37(project.root)
    write(project.root, {".gitignore": "agreements\n"})
    project.git("init", "-q")
    project.git("add", "-f", JSON)
    project.git("commit", "-q", "-m", "v3.7")
    steps = "\n".join(run(project)["next"])
    assert "Git tracks learned_pairs.json" in steps
    assert "Git ignores the agreements (.gitignore:1:agreements" in steps


def test_a_project_without_old_data_has_nothing_to_migrate(project: Project) -> None:
    done = project.call("code-intel", "migrate")
    assert "Nothing to migrate" in done.stdout
    assert "code-intel init" in done.stdout
    assert list(project.root.iterdir()) == []
    project.call("code-intel", "init")
    assert "code-intel init" not in project.call("code-intel", "migrate").stdout  # it is set up


def test_a_missing_folder_is_wrong_usage(project: Project) -> None:
    assert run(project, "nowhere", code=2)["field"] == "project"
    assert run(project, "/", code=2)["field"] == "project"


def test_progress_is_shown_on_stderr(project: Project) -> None:
    pairs = [PAIRS[0] | {"nl_term": f"機能{number}"} for number in range(300)]
    write(project.root, {JSON: {"version": 1, "pairs": pairs}})
    done = project.call("code-intel", "migrate", "--json")
    assert len(json.loads(done.stdout)["changes"]) == 300 + 6
    assert "files: 306/306" in done.stderr
