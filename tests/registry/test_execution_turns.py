"""Check the limit of concurrent programs."""

from pathlib import Path

import anyio
import pytest
from anyio import CapacityLimiter

from code_intel.errors import BusyError
from code_intel.registry.records import ExecutionResult
from hurry import late
from left_behind import none_left, noting
from registry.execution_projects import executed
from upstreams import until

pytestmark = pytest.mark.anyio

UNTIL_TOLD = "while [ ! -e go ]; do sleep .02; done; echo done"
"""A script that waits for a file of the project."""


def started_count(folder: Path) -> int:
    pids = folder / "pids"
    return len(pids.read_text("utf-8").split()) if pids.exists() else 0


async def test_program_above_the_limit_starts_when_another_ends(root: Path, tmp_path: Path) -> None:
    runner, turns = noting(tmp_path / "bin", UNTIL_TOLD), CapacityLimiter(2)
    answers: list[ExecutionResult] = []

    async def execute() -> None:
        answers.append(await executed(root, runner, turns=turns))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(execute)
        await until(
            lambda: started_count(runner.parent) == 2 and turns.statistics().tasks_waiting == 1, 120
        )
        assert not answers
        (root / "go").touch()
    assert [answer.prompt for answer in answers] == ["done\n"] * 3
    assert started_count(runner.parent) == 3


async def test_waiting_longer_than_the_time_limit_is_busy(root: Path, tmp_path: Path) -> None:
    runner, turns = noting(tmp_path / "bin", "echo done"), CapacityLimiter(1)
    work = executed(root, runner, turns=turns, CODE_INTEL_COMMAND_TIMEOUT="60")
    async with turns:
        with pytest.raises(BusyError) as caught:
            await late(work, lambda: turns.statistics().tasks_waiting, seconds=60)
    assert not started_count(runner.parent)
    assert "climpt-git group-commit unstaged-changes was not started" in caught.value.message
    assert "Call it again" in caught.value.hint
    assert "60 seconds" in caught.value.hint
    assert (await executed(root, runner, turns=turns)).prompt == "done\n"


async def test_cancelled_call_frees_its_slot(root: Path, tmp_path: Path) -> None:
    runner, turns = noting(tmp_path / "bin", UNTIL_TOLD), CapacityLimiter(1)
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(lambda: executed(root, runner, turns=turns))
        await until(lambda: started_count(runner.parent) and turns.statistics().tasks_waiting, 120)
        group.cancel_scope.cancel()
    assert await none_left(runner.parent)
    (root / "go").touch()
    with anyio.fail_after(120):
        assert (await executed(root, runner, turns=turns)).prompt == "done\n"
