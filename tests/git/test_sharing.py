"""What people are told when git shares too little, too much, or waits for them."""

from pathlib import Path

import pytest

from code_intel.learned.files.git_checks import misshared
from git.machine import FOLDER, LOGIN, SEARCH, Machine, cloned, made
from projects import Project


@pytest.fixture
def team(tmp_path: Path) -> Machine:
    return made(tmp_path / "team", LOGIN, SEARCH)


def told(machine: Machine) -> str:
    return " ".join(each.what for each in misshared(machine.settings))


def test_correct_setup_has_no_problem(team: Machine) -> None:
    assert misshared(team.settings) == []
    assert misshared(Machine(team.root / "src").settings) == []


def test_project_without_git_has_no_problem(tmp_path: Path) -> None:
    mine = Machine(tmp_path)
    mine.learn(LOGIN, "told")
    assert misshared(mine.settings) == []


@pytest.mark.parametrize("rule", [".code-intel/", "*.md", f"/{FOLDER}"])
def test_ignored_agreements_are_reported_with_the_rule(team: Machine, rule: str) -> None:
    path = team.root / ".gitignore"
    path.write_text(f"{path.read_text(encoding='utf-8')}{rule}\n", encoding="utf-8")
    number = len(path.read_text(encoding="utf-8").splitlines())
    assert f".gitignore:{number}:{rule}" in told(team)
    assert team.said().keys() == {LOGIN, SEARCH}  # they are served all the same
    path.write_text(f"{rule}\n!{rule}\n", encoding="utf-8")
    assert misshared(team.settings) == []


def test_committed_memory_is_reported_and_confirms_nothing(team: Machine) -> None:
    state = team.settings.state
    team.git("add", "-f", str(state / "state.db"), str(state / "learned_pairs.json"))
    team.git("commit", "-q", "-m", "too much")
    assert "Git tracks learned_pairs.json, state.db" in told(team)
    clone = cloned(team, team.root.parent / "clone", trust_git=False)
    assert {each.status for each in clone.said().values()} == {"unconfirmed"}


def test_unresolved_deletion_is_reported(team: Machine) -> None:
    team.branch("one")
    path = team.file(LOGIN)
    path.unlink()
    team.commit()
    team.branch("two")
    team.learn(LOGIN, "more", hours=1)
    team.commit()
    team.conflicts("merge", "-q", "one")
    assert f"merge conflict affects {path.name}." in told(team)
    team.git("add", "-A")
    assert misshared(team.settings) == []


def test_agreements_left_out_by_a_sparse_checkout_are_counted(team: Machine) -> None:
    team.git("sparse-checkout", "set", "--no-cone", "/*", f"!/{FOLDER}")
    assert "leaves out 2 agreements" in told(team)


def test_doctor_and_status_report_the_problem(team: Machine) -> None:
    import os

    (team.root / ".gitignore").write_text(".code-intel/\n", encoding="utf-8")
    project = Project(team.root, {**os.environ, "CODE_INTEL_EMBEDDING": "off"})
    for command in ("doctor", "status"):
        assert ".gitignore:1:.code-intel/" in project.run("code-intel", command, check=False).stdout
