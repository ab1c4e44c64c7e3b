"""Check that a command ends with its server."""

import json
import os
import signal
from pathlib import Path

import anyio
import pytest

from left_behind import none_left, noting
from piped import Pipe, started
from projects import Project, processes
from registry.execution_projects import GROUP, registry_of, write_prompt

pytestmark = pytest.mark.anyio
PARENT = 1
"""Of /proc/PID/stat, the field of the parent, counted from the state."""
SERVER = ("code-intel", "commands")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    write_prompt(root)
    c1, c2, c3 = GROUP.key[1:]
    command = {"c1": c1, "c2": c2, "c3": c3, "description": GROUP.description}
    registry = {"version": "1.0", "description": "", "tools": {"commands": [command]}}
    registry_of(root).write_text(json.dumps(registry), encoding="utf-8")
    hangs = noting(tmp_path / "bin", "trap '' TERM HUP INT; sleep 600 & echo $! >> $PIDS; wait")
    folders = {f"CODE_INTEL_{name}_DIR": str(tmp_path / name) for name in ("CACHE", "STATE")}
    variables = {"CODE_INTEL_COMMAND_RUNNER": str(hangs), "CODE_INTEL_EMBEDDING": "off"}
    return Project(root, {**os.environ, **folders, **variables, "HOME": str(tmp_path)})


async def execute(server: Pipe, pids: Path) -> None:
    """Let the server execute the command.

    Return once the command, its child and the guard that knows of them run.
    """
    server.greet()
    arguments = dict(zip(("agent", "c1", "c2", "c3"), GROUP.key, strict=True))
    server.send("tools/call", {"name": "execute", "arguments": arguments})
    with anyio.fail_after(120):
        while started_count(pids) < 2 or not is_guarded(server):  # noqa: ASYNC110 - the process table sends no events
            await anyio.sleep(0.02)


def started_count(pids: Path) -> int:
    return len(pids.read_text("utf-8").split()) if pids.exists() else 0


def is_guarded(server: Pipe) -> bool:
    children = (Path(f"/proc/{pid}/cmdline") for pid in processes(PARENT, server.process.pid))
    return any(b"child_guard" in child.read_bytes() for child in children)


@pytest.mark.parametrize("how", ["its client closes", "SIGTERM", "SIGKILL"])
async def test_a_command_ends_with_the_server_that_executes_it(
    project: Project, tmp_path: Path, how: str
) -> None:
    with started(project, SERVER) as server:
        await execute(server, tmp_path / "bin" / "pids")
        if how == "its client closes":
            assert server.close()[0] == 0
        else:
            server.process.send_signal(signal.Signals[how])
            server.process.wait(60)
    assert await none_left(tmp_path / "bin")
