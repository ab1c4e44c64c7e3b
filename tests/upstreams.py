"""Configure upstreams of a project, and find processes that are left."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from code_intel.config import Settings, load_settings
from code_intel.operations.upstream_approvals import approve
from code_intel.servers.upstream.searcher import Upstreams
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.searchers import ProjectSearcher, in_process
from served import settings_of

FAKE = Path(__file__).resolve().parent / "servers" / "fake_upstream.py"


def command(mode: str, *options: str) -> dict[str, object]:
    """Return a table that starts the fake server, with a short time limit for questions."""
    args = ["-I", "-S", str(FAKE), mode, *options]
    return {"command": sys.executable, "args": args, "start_seconds": 20, "call_seconds": 0.5}


def point(root: Path, **tables: dict[str, object]) -> Path:
    """Write the settings, and approve them: `map=` and `forest=` are the keys of their tables."""
    propose(root, **tables)
    approve_all(load_settings(root))
    return root


def approve_all(settings: Settings) -> None:
    """Approve the upstreams of a project, as its user would."""
    for name, config in settings.upstreams.items():
        approve(settings, name, config.digest)


def propose(root: Path, **tables: dict[str, object]) -> Path:
    """Write the settings as a repository brings them, without an approval."""
    lines = []
    for name, table in tables.items():
        lines.append(f"[upstreams.devrag-{name}]")
        for key, value in table.items():
            if isinstance(value, dict):
                inner = ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items())
                lines.append(f"{key} = {{ {inner} }}")
            else:
                lines.append(f"{key} = {json.dumps(value)}")
    file = root / ".code-intel" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


@asynccontextmanager
async def supervised(root: Path) -> AsyncIterator[ProjectSearcher]:
    """Run the upstreams of a project as the gateway does."""
    settings = settings_of(root)
    map_service, forest_service = open_project(settings)
    upstreams = Upstreams(settings, in_process(map_service, forest_service))
    try:
        with anyio.fail_after(240):
            async with anyio.create_task_group() as group:
                group.start_soon(upstreams.run)
                yield upstreams.searcher
                group.cancel_scope.cancel()
    finally:
        map_service.index.close()
        forest_service.index.close()


async def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition; fail the test if it does not become true."""
    never = anyio.Event()
    with anyio.fail_after(seconds):
        while not true():
            with anyio.move_on_after(0.01):
                await never.wait()


def marked(mark: str) -> set[int]:
    """Return the running processes with this text in their environment; none without /proc."""
    return {int(process.name) for process in _processes() if mark in _environment(process)}


def zombies() -> set[int]:
    """Return our ended children that were not reaped."""
    mine = (f"Z {os.getpid()}", f"X {os.getpid()}")
    return {
        int(process.name) for process in _processes() if _stat(process).lstrip().startswith(mine)
    }


def _processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")


def _stat(process: Path) -> str:
    try:
        return (process / "stat").read_text("utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return ""


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
