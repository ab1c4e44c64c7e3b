"""The workflow files of docs/ci.md work: their commands are run in a project."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.map.annotated import annotations
from projects import BIN, Project

BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "ci.md"
INSTALLS = re.compile(r"(?:python -m pip|pipx|uv tool) install ")
"""Commands that install from the network. They are recognised and not run; the tests use the
program of this environment instead."""
BROKEN = """---
nl_term: "送料計算"
symbol: "no_such_function"
---

`no_such_function` returns the fee.
"""
FILE = ".code-intel/agreements/broken.md"


def workflows() -> dict[str, Any]:
    """Return the YAML of each section of the page."""
    sections = re.split(r"^##+ ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    found = {text.partition("\n")[0]: BLOCK.findall(text) for text in sections}
    return {title: yaml.safe_load(blocks[0]) for title, blocks in found.items() if blocks}


def commands(workflow: Any) -> list[str]:
    """Return the commands of a workflow of GitHub or of a job of GitLab, in order."""
    if "jobs" in workflow:
        return [
            step["run"]
            for job in workflow["jobs"].values()
            for step in job["steps"]
            if "run" in step
        ]
    return [line for job in workflow.values() for line in job["script"]]


def run(project: Project, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in the project's folder, with this environment's program."""
    env = {**project.env, "PATH": f"{BIN}:/usr/bin:/bin"}
    return subprocess.run(
        ["/bin/sh", "-ec", command],
        cwd=project.root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def broken(shop: Path, tmp_path: Path) -> Project:
    """The shop with an agreement whose symbol does not exist."""
    file = shop / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(BROKEN, encoding="utf-8")
    return Project(shop, {"HOME": str(tmp_path), "CODE_INTEL_EMBEDDING": "off"})


def test_each_workflow_installs_and_then_checks() -> None:
    found = workflows()
    assert found.keys() == {"GitHub Actions", "GitLab CI"}
    for workflow in found.values():
        first, *others = commands(workflow)
        assert INSTALLS.match(first)
        assert len(others) == 1
        assert others[0].startswith("code-intel map check ")


def checked(project: Project, title: str) -> subprocess.CompletedProcess[str]:
    """Run the commands of a workflow that install nothing; return the last result."""
    local = [each for each in commands(workflows()[title]) if not INSTALLS.match(each)]
    return [run(project, command) for command in local][-1]


def test_workflow_of_github_annotates_a_broken_agreement(broken: Project) -> None:
    done = checked(broken, "GitHub Actions")
    assert done.returncode == 1, done.stderr
    (found,) = annotations(done.stdout)
    assert (found.level, found.file, found.line) == ("error", FILE, 3)
    assert "no_such_function is not defined anywhere." in found.message


def test_job_of_gitlab_writes_its_report(broken: Project) -> None:
    done = checked(broken, "GitLab CI")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    artifacts = workflows()["GitLab CI"]["map"]["artifacts"]
    assert artifacts["when"] == "always"
    (issue,) = json.loads((broken.root / artifacts["reports"]["codequality"]).read_text("utf-8"))
    assert issue["location"] == {"path": FILE, "lines": {"begin": 3}}


def test_both_pass_once_the_agreement_is_deleted(broken: Project) -> None:
    (broken.root / FILE).unlink()
    for title in workflows():
        assert checked(broken, title).returncode == 0
