"""One plan, several processes.

Each continues from the results of the one before, or reports that it could not.
"""

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
from code_intel.planning.turns import Turn
from projects import BIN
from served import gateway

GOAL = "how is the delivery fee computed"
HOLDING = """
import sys
from pathlib import Path
from code_intel.planning.turns import Turn
turn = Turn(Path(sys.argv[1]), sys.argv[2])
assert turn.take()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def project(indexed_shop: Path, tmp_path: Path) -> Path:
    """The shop, words indexed."""
    return Path(shutil.copytree(indexed_shop, tmp_path / "shop"))


def started(project: Path, *words: str) -> "subprocess.Popen[str]":
    environ = {name: value for name, value in os.environ.items() if name != "CODE_INTEL_ROOT"}
    return subprocess.Popen(
        [
            str(BIN / "code-intel"),
            "plan",
            *words,
            "--confidence",
            "1",
            "--max-iterations",
            "1",
            "--json",
        ],
        cwd=project,
        env=environ | {"CODE_INTEL_EMBEDDING": "off"},
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


def begun(project: Path) -> str:
    return str(ended(started(project, GOAL))["planId"])


@contextmanager
def held(project: Path, plan_id: str) -> Iterator["subprocess.Popen[str]"]:
    """Let another process hold a plan for a block."""
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


def test_processes_that_go_on_with_one_plan_at_once_lose_nothing_of_each_other(
    project: Path,
) -> None:
    plan_id = begun(project)
    queries = [f"zones {number}" for number in range(4)]
    together = [started(project, "--continue", plan_id, "--query", query) for query in queries]
    answers = [ended(process) for process in together]
    plan = keeping.load(project / ".gistdex", plan_id)
    assert sorted(each.query for each in plan.iterations) == sorted([GOAL, *queries])
    assert [each.number for each in plan.iterations] == [1, 2, 3, 4, 5]
    assert sorted(answer["metadata"]["totalIterations"] for answer in answers) == [2, 3, 4, 5]
    assert locks(project) == []


@pytest.mark.covers("rule.plans.turns")
def test_a_plan_that_another_process_keeps_busy_is_named_with_what_to_do_and_stays_as_it_is(
    project: Path,
) -> None:
    plan_id = begun(project)
    before = keeping.load(project / ".gistdex", plan_id)
    words = ("--continue", plan_id, "--query", "zones")
    with held(project, plan_id) as holder:
        refused = ended(started(project, *words, "--timeout", "10"))
        assert refused["error"] == "busy"
        assert plan_id in refused["message"]
        assert "--continue" in refused["hint"]
        assert keeping.load(project / ".gistdex", plan_id) == before
        assert ended(started(project, GOAL))["planId"] != plan_id  # others are free
        waits = started(project, *words)
        holder.kill()  # whoever dies holds nothing
        assert ended(waits)["metadata"]["totalIterations"] == 2


@pytest.mark.anyio
async def test_a_search_that_is_a_step_of_a_plan_waits_for_its_turn(project: Path) -> None:
    plan_id = begun(project)
    turn = Turn(project / ".gistdex", plan_id)
    assert turn.take()
    async with gateway(project) as call, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: call("files_search", query="cart total", planId=plan_id))
        tasks.start_soon(lambda: call("files_search", query="zones", planId=plan_id))
        await anyio.wait_all_tasks_blocked()
        assert len(keeping.load(project / ".gistdex", plan_id).iterations) == 1
        turn.give_up()
    plan = keeping.load(project / ".gistdex", plan_id)
    assert {each.query for each in plan.iterations} == {GOAL, "cart total", "zones"}
    assert locks(project) == []


def test_what_is_no_plan_is_held_by_nobody(project: Path) -> None:
    begun(project)
    unknown = "aaaaaaaa-0000-4000-8000-000000000001"
    assert ended(started(project, GOAL, "--continue", unknown))["error"] == "not_found"
    assert locks(project) == []
