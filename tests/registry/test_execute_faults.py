"""Check failing executions: the error of seed 001 and no process left."""

import errno
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import CodeIntelError, ExecutionError, UsageError
from code_intel.foundation.processes import MAX_STDERR_BYTES, capture
from code_intel.foundation.text import hidden_character
from code_intel.registry.execution import MAX_MESSAGE_BYTES, MAX_OUTPUT_BYTES, message
from hurry import late
from left_behind import none_left
from left_behind import noting as program
from registry.execution_projects import executed

pytestmark = pytest.mark.anyio

SOON = 60
"""Seconds within which each failure is reported."""
NAME = "climpt-git group-commit unstaged-changes"


class Fault(NamedTuple):
    """A script, and its message, stderr and details."""

    script: str
    message: str
    stderr: str = ""
    details: tuple[tuple[str, int], ...] = ()


FAULTS = {
    "an exit code": Fault(
        "echo 'no such prompt' >&2; exit 3",
        "climpt ended with exit code 3.",
        "no such prompt",
        (("exit_code", 3),),
    ),
    "a prompt, and then an exit code": Fault(
        "echo x; exit 1", "climpt ended with exit code 1.", "", (("exit_code", 1),)
    ),
    "an exit code and nothing else": Fault(
        "exit 3", "exit code 3", "climpt ended with exit code 3.", (("exit_code", 3),)
    ),
    "exit code 137": Fault("exit 137", "with exit code 137.", "", (("exit_code", 137),)),
    "exit code 255": Fault("exit 255", "with exit code 255.", "", (("exit_code", 255),)),
    "an end by SIGKILL": Fault("kill -KILL $$", "was killed by SIGKILL", "", (("signal", 9),)),
    "an end by SIGSEGV": Fault("kill -SEGV $$", "was killed by SIGSEGV", "", (("signal", 11),)),
    "stdout is closed": Fault("exec 1>&-; exit 0", "printed no prompt", "", (("exit_code", 0),)),
    "nothing is printed": Fault(
        "echo 'Usage: climpt' >&2", "printed no prompt", "Usage: climpt", (("exit_code", 0),)
    ),
    "much on stderr, without a line end": Fault(
        "head -c 100000000 /dev/zero | tr '\\0' E >&2; exit 1",
        "climpt ended with exit code 1.",
        "EEE",
    ),
    "garbage on stderr": Fault(
        "printf 'caf\\351 \\033[31m\\342\\200\\256\\0' >&2; exit 1",
        "exit code 1",
        "caf\ufffd \\x1b[31m\\u202e\\x00",
    ),
    "a secret on stderr": Fault(
        "echo 'token = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"' >&2; exit 1",
        "exit code 1",
        'token = "ghp_x*****',
    ),
}


def wire_error(error: CodeIntelError) -> dict[str, Any]:
    """Check the fields of seed 001 and return the wire error."""
    wire = error.as_dict()
    assert wire["error"] == "Execution failed"
    assert wire["command"] == NAME
    assert isinstance(wire["stderr"], str)
    assert len(wire["stderr"].encode()) <= MAX_MESSAGE_BYTES
    assert wire["message"].isprintable()
    assert wire["hint"]
    return wire


@pytest.mark.parametrize("case", FAULTS)
async def test_failing_program_is_an_error_with_its_stderr(
    root: Path, tmp_path: Path, case: str
) -> None:
    fault = FAULTS[case]
    runner = program(tmp_path / "bin", fault.script)
    began = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        await executed(root, runner, CODE_INTEL_COMMAND_TIMEOUT=str(6 * SOON))
    assert time.monotonic() - began < SOON
    wire = wire_error(caught.value)
    assert fault.message in wire["message"]
    assert fault.stderr in wire["stderr"]
    assert dict(fault.details).items() <= wire.items()
    assert wire["runner"] == "climpt"
    assert await none_left(tmp_path / "bin")


async def test_output_of_a_hanging_program_is_in_the_error(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "said"
    # The program waits for the end of its input, which is sent once its time limit runs.
    script = f"cat; echo begun; echo 'waiting for a lock' >&2; : > '{written}'; exec sleep 600"
    runner = program(tmp_path / "bin", script)
    work = executed(root, runner, {"stdin": "x"}, CODE_INTEL_COMMAND_TIMEOUT="60")
    with pytest.raises(ExecutionError) as caught:
        await late(work, written.exists, seconds=60)
    wire = wire_error(caught.value)
    assert "climpt did not end within 60 seconds." in wire["message"]
    assert (wire["stderr"], wire["timeout"]) == ("waiting for a lock", 60)
    assert await none_left(tmp_path / "bin")


@pytest.mark.parametrize(("name", "is_hinted"), [("deno", True), ("climpt", False)])
async def test_prompts_are_suggested_if_deno_fails(
    root: Path, tmp_path: Path, name: str, *, is_hinted: bool
) -> None:
    runner = program(tmp_path / "bin", "echo 'error: no network' >&2; exit 1", name)
    with pytest.raises(ExecutionError) as caught:
        await executed(root, name, PATH=f"{runner.parent}:/usr/bin:/bin")
    wire = wire_error(caught.value)
    assert wire["stderr"] == "error: no network"
    assert ("CODE_INTEL_COMMAND_RUNNER=prompts" in wire["hint"]) == is_hinted


@given(parts=st.lists(st.binary(max_size=6000), max_size=12))
def test_shown_stderr_is_bounded_and_keeps_the_end(parts: list[bytes]) -> None:
    said = b"".join((*parts, b" last")).decode("utf-8", "replace")
    text = message(said)
    assert len(text.encode()) <= MAX_MESSAGE_BYTES
    assert text.endswith("last")
    assert not hidden_character(text.replace("\n", "").replace("\t", ""))


HANGS = {
    "the program": "exec sleep 600",
    "the program, whatever it is told": "trap '' TERM HUP INT; while :; do sleep 600; done",
    "its child": "sleep 600 & echo $! >> $PIDS; wait",
    "its grandchild": "(sh -c 'echo $$ >> \"'$PIDS'\"; exec sleep 600') & wait",
    "one that closed its stdout": "exec 1>&-; exec sleep 600",
    "one that closed all it had": "exec 0<&- 1>&- 2>&-; exec sleep 600",
    "one that does not read its input": "sleep 600",
    "one that writes to stderr without an end": "exec yes E >&2",
}


@pytest.mark.parametrize("case", HANGS)
async def test_hanging_programs_and_children_are_killed(
    root: Path, tmp_path: Path, case: str
) -> None:
    runner = program(tmp_path / "bin", HANGS[case])
    began = time.monotonic()
    end = await capture(
        [str(runner)],
        root,
        0.2,
        MAX_OUTPUT_BYTES,
        environment={"PATH": "/usr/bin:/bin"},
        stdin="x" * 200_000 if "input" in case else None,
    )
    assert 0.2 <= time.monotonic() - began < SOON
    assert end.timed_out
    assert end.code is None
    assert len(end.stderr) <= MAX_STDERR_BYTES
    assert await none_left(tmp_path / "bin")


ENDLESS = {
    "lines": "exec yes prompt",
    "a line without an end": "exec tr '\\0' x < /dev/zero",
    "a gigabyte": "head -c 1000000000 /dev/zero | tr '\\0' x",
    "from a child": "yes prompt & echo $! >> $PIDS; wait",
}


@pytest.mark.parametrize("case", ENDLESS)
async def test_endless_output_is_cut(root: Path, tmp_path: Path, case: str) -> None:
    began = time.monotonic()
    done = await executed(root, program(tmp_path / "bin", ENDLESS[case]))
    assert time.monotonic() - began < SOON
    assert done.truncated
    assert len(done.prompt.encode()) == MAX_OUTPUT_BYTES
    assert done.notes == ("It is longer than 256 KiB. Its end is missing.",)
    assert await none_left(tmp_path / "bin")


async def test_invalid_utf8_in_the_output_is_replaced_and_noted(root: Path, tmp_path: Path) -> None:
    done = await executed(root, program(tmp_path / "bin", "printf 'caf\\351\\n\\342\\200'"))
    assert done.prompt == "caf\ufffd\n\ufffd"
    assert done.notes == ("It has bytes that are not valid UTF-8.",)


@pytest.mark.parametrize("outputs", ["", ">/dev/null 2>&1"], ids=["holding its outputs", "quietly"])
async def test_children_that_outlive_the_program_are_killed(
    root: Path, tmp_path: Path, outputs: str
) -> None:
    script = f"sleep 600 {outputs} & echo $! >> $PIDS; echo prompt"
    began = time.monotonic()
    assert (await executed(root, program(tmp_path / "bin", script))).prompt == "prompt\n"
    assert time.monotonic() - began < SOON
    assert await none_left(tmp_path / "bin")


@pytest.mark.skipif(not os.path.exists("/usr/bin/setsid"), reason="needs setsid")  # noqa: PTH110 - at import
async def test_process_in_another_group_does_not_delay_the_answer(
    root: Path, tmp_path: Path
) -> None:
    """Such a process is not killed, but it does not delay the answer."""
    marker = tmp_path / "gone"
    script = f"setsid sh -c 'until [ -e \"{marker}\" ]; do sleep 0.05; done' & echo prompt"
    began = time.monotonic()
    try:
        assert (await executed(root, program(tmp_path / "bin", script))).prompt == "prompt\n"
        assert time.monotonic() - began < SOON
    finally:
        await anyio.Path(marker).write_text("", encoding="utf-8")


async def test_cancelled_call_leaves_no_process(root: Path, tmp_path: Path) -> None:
    folder, ready = tmp_path / "bin", tmp_path / "ready"
    script = f"sleep 600 & echo $! >> $PIDS; echo x > '{ready}'; wait"
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(executed, root, program(folder, script))
            while not ready.exists():  # noqa: ASYNC110 - a program of the shell's sends no events
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert await none_left(folder)


async def test_call_cancelled_during_the_start_leaves_no_process(
    root: Path, tmp_path: Path
) -> None:
    script = "sleep 600 & echo $! >> $PIDS; wait"
    command, environment = [str(program(tmp_path / "bin", script))], {"PATH": "/usr/bin:/bin"}
    for milliseconds in range(20):
        with anyio.move_on_after(milliseconds / 1000):
            await capture(command, root, 30, MAX_OUTPUT_BYTES, environment=environment)
    assert await none_left(tmp_path / "bin")


async def not_started(root: Path, runner: Path | str, why: int | str, **told_of: str) -> None:
    reason = why if isinstance(why, str) else os.strerror(why)
    with pytest.raises(ExecutionError) as caught:
        await executed(root, runner, **told_of)  # type: ignore[arg-type]  # the environment
    wire = wire_error(caught.value)
    assert reason in wire["stderr"]
    assert "CODE_INTEL_COMMAND_RUNNER" in wire["hint"]


async def test_program_that_cannot_be_started_is_an_error_with_the_reason(
    root: Path, tmp_path: Path
) -> None:
    runner = program(tmp_path / "bin", "echo x")
    runner.chmod(0o644)
    await not_started(root, runner, errno.EACCES)
    runner.unlink()
    await not_started(root, runner, errno.ENOENT)
    runner.mkdir()
    await not_started(root, runner, errno.EACCES)
    garbage = tmp_path / "bin" / "garbage"
    garbage.write_bytes(b"\x7fELF nothing")
    garbage.chmod(0o755)
    await not_started(root, garbage, errno.ENOEXEC)


async def test_missing_runner_is_a_failed_execution(
    root: Path,
) -> None:
    await not_started(root, "climpt", "climpt is not on PATH.")


async def test_missing_project_folder_is_an_error(root: Path, tmp_path: Path) -> None:
    runner = program(tmp_path / "bin", "echo x")
    await anyio.Path(root).rename(tmp_path / "moved")
    await not_started(root, runner, errno.ENOENT)


@pytest.mark.parametrize("runner", ["climpt", "prompts"])
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"uv-a": "x\n--config=other"}, "options.uv-a"),
        ({"env": {"LD_PRELOAD": "x"}}, "options.env"),
        ({"destination": "../../outside"}, "options.destination"),
    ],
    ids=["value", "environment", "path"],
)
async def test_invalid_arguments_start_no_program(
    root: Path, tmp_path: Path, options: Any, field: str, runner: str
) -> None:
    climpt = program(tmp_path / "bin", "echo x")
    with pytest.raises(UsageError) as caught:
        await executed(root, climpt if runner == "climpt" else runner, options)
    assert caught.value.details["field"] == field
    assert not (tmp_path / "bin" / "pids").exists()
