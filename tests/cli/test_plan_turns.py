"""Check that several processes continue one plan in turn."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.planning import keeping
from code_intel.tools.plans.plan_inputs import locked_plan
from projects import BIN, Project
from served import gateway

GOAL = "how is the delivery fee computed"
HOLDING = """
import sys
from pathlib import Path
import anyio
from code_intel.tools.plans.plan_inputs import locked_plan

async def hold():
    async with locked_plan(Path(sys.argv[1]), sys.argv[2], 5):
        print("held", flush=True)
        sys.stdin.read()

anyio.run(hold)
"""


@pytest.fixture
def project(indexed_shop: Path, tmp_path: Path) -> Path:
    """Return a copy of the indexed shop."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop"))


LIMITS = ("--confidence", "1", "--max-iterations", "1", "--json")


def environment() -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if name != "CODE_INTEL_ROOT"}
    return environ | {"CODE_INTEL_EMBEDDING": "off"}


def run(project: Path, *words: str) -> dict[str, Any]:
    """Run one plan command and return its answer, in this process where no loop runs."""
    done = Project(project, environment()).run("code-intel", "plan", *words, *LIMITS, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def started(project: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(BIN / "code-intel"), "plan", *words, *LIMITS],
        cwd=project,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def ended(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, err = process.communicate(timeout=60)
    assert out, err
    answer: dict[str, Any] = json.loads(out)
    return answer


def start_plan(project: Path) -> str:
    return str(run(project, GOAL)["planId"])


@contextmanager
def locked(project: Path, plan_id: str) -> Iterator["subprocess.Popen[str]"]:
    """Let another process lock a plan for a block."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(project / ".gistdex"), plan_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def locks(project: Path) -> list[str]:
    folder = project / ".gistdex" / "cache" / "plans"
    return [path.name for path in folder.glob("*-*.lock")]


def test_processes_that_continue_one_plan_at_once_keep_all_results(
    project: Path,
) -> None:
    plan_id = start_plan(project)
    queries = ["zones 1", "zones 2"]
    together = [started(project, "--continue", plan_id, "--query", query) for query in queries]
    answers = [ended(process) for process in together]
    plan = keeping.load(project / ".gistdex", plan_id)
    assert sorted(each.query for each in plan.iterations) == sorted([GOAL, *queries])
    assert [each.number for each in plan.iterations] == [1, 2, 3]
    assert sorted(answer["metadata"]["totalIterations"] for answer in answers) == [2, 3]
    assert locks(project) == []


@pytest.mark.covers("rule.plans.turns")
def test_plan_locked_by_another_process_is_refused_and_unchanged(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("code_intel.tools.plans.gistdex_query_plan.LOCK_SHARE", 0.01)
    plan_id = start_plan(project)
    before = keeping.load(project / ".gistdex", plan_id)
    words = ("--continue", plan_id, "--query", "zones")
    with locked(project, plan_id) as holder:
        refused = run(project, *words, "--timeout", "10")
        assert refused["error"] == "busy"
        assert plan_id in refused["message"]
        assert "--continue" in refused["hint"]
        assert keeping.load(project / ".gistdex", plan_id) == before
        assert run(project, "another goal")["planId"] != plan_id  # other plans are free
        waits = started(project, *words)
        holder.kill()  # the lock of a dead process is free
        assert ended(waits)["metadata"]["totalIterations"] == 2


@pytest.mark.anyio
async def test_search_that_is_a_step_of_a_plan_waits_for_the_lock(project: Path) -> None:
    plan_id = start_plan(project)
    locked_here = locked_plan(project / ".gistdex", plan_id, 5)
    async with gateway(project) as call, anyio.create_task_group() as tasks, locked_here:
        tasks.start_soon(lambda: call("files_search", query="cart total", planId=plan_id))
        tasks.start_soon(lambda: call("files_search", query="zones", planId=plan_id))
        await anyio.wait_all_tasks_blocked()
        assert len(keeping.load(project / ".gistdex", plan_id).iterations) == 1
    plan = keeping.load(project / ".gistdex", plan_id)
    assert {each.query for each in plan.iterations} == {GOAL, "cart total", "zones"}
    assert locks(project) == []


def test_unknown_plan_is_not_locked(project: Path) -> None:
    start_plan(project)
    unknown = "aaaaaaaa-0000-4000-8000-000000000001"
    assert run(project, GOAL, "--continue", unknown)["error"] == "not_found"
    assert locks(project) == []
