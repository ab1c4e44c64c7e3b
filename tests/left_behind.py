"""Programs that record their processes, and a check that none of them or their groups is left."""

import os
import stat
from pathlib import Path

import anyio

from projects import processes

GROUP = 2
"""Of /proc/PID/stat, the field of the process group, counted from the state."""


def noting(folder: Path, script: str, name: str = "climpt") -> Path:
    """Write a program that records its process and then runs `script`.

    `$PIDS` takes the ids of children.
    """
    folder.mkdir(exist_ok=True)
    path, pids = folder / name, folder / "pids"
    path.write_text(f"#!/bin/sh\nPIDS='{pids}'\necho $$ >> $PIDS\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def none_left(folder: Path) -> bool:
    """Return whether every process recorded by a program of the folder, and its group, ends within
    seconds.
    """
    noted = folder / "pids"
    pids = [int(pid) for pid in noted.read_text("utf-8").split()] if noted.exists() else []
    with anyio.move_on_after(60):
        while any(map(_runs, pids)) or any(processes(GROUP, pid) for pid in pids):  # noqa: ASYNC110 - the process table sends no events
            await anyio.sleep(0.01)
        return True
    return False


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # killed, but not reaped yet
