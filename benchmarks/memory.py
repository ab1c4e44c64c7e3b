"""Memory of the four servers on one project, all connected, questions asked through code-intel.

    python benchmarks/memory.py [--project FOLDER] [--rest SECONDS] [--json OUT]

Proportional set size from /proc (Linux) divides shared pages among the processes that share them,
so the sum is the real memory of the four and of the processes that they start. They are
measured twice: with relays, and each in a
process of its own (`one_process`). Without --project: a set-up copy of the tests' small shop. Code
is added to it, so that one server embeds (the highest sum seen). Then it is left alone for longer
than a model is kept (one minute here). Limits: 350 MB after questions, 120 MB idle.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

BIN = Path(sys.executable).parent
SHOP = Path(__file__).resolve().parents[1] / "tests" / "repos" / "shop"
SERVERS = {
    "code-intel": ("code-intel", ["serve"]),
    "devrag-map": ("devrag", ["--config", "devrag-map.json"]),
    "devrag-forest": ("devrag", ["--config", "devrag-forest.json"]),
    "climpt": ("code-intel", ["commands"]),
}
MARKS = {
    "code-intel": "code-intel serve",
    "devrag-map": "devrag-map.json",
    "devrag-forest": "devrag-forest.json",
    "climpt": "code-intel commands",
}
"""What the command line of each contains."""
MORE = Path(__file__).resolve().parents[1] / "code_intel"
CALM = 4
"""Looks in a row without pending files: between two batches of files all may be embedded."""
QUESTIONS = ("ログイン機能", "where is the shipping fee computed", "在庫を減らす処理")


def processes() -> dict[int, tuple[int, str]]:
    """Return the parent and the command line of every process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text(encoding="utf-8")
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])
            found[int(folder.name)] = parent, b" ".join(words).decode()
    return found


def below(pid: int) -> list[int]:
    """Return a process and all that it and its children have started."""
    found, all_processes = [pid], processes()
    for each in found:
        found += [other for other, (parent, _) in all_processes.items() if parent == each]
    return found


def pss(pid: int, kind: str = "Pss") -> float:
    """Return a process's proportional set size in MB, or that of one kind of memory."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:  # it has just ended
        return 0.0
    sizes = (int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
    return next(sizes, 0) / 1024


def servers() -> dict[str, int]:
    """Return the process of each server that this one has started."""
    own = {pid: line for pid, (parent, line) in processes().items() if parent == os.getpid()}
    return {
        name: next(pid for pid, line in own.items() if mark in line) for name, mark in MARKS.items()
    }


def measure(names: dict[str, int], kind: str = "Pss") -> dict[str, float]:
    """Return PSS in MB by server, with the processes that it has started."""
    return {
        name: round(sum(pss(each, kind) for each in below(pid)), 1) for name, pid in names.items()
    }


async def highest(names: dict[str, int], project: Path, ask: Client) -> dict[str, float]:
    """Add code to the project and return the highest sum seen until all of it is embedded."""
    shutil.copytree(MORE, project / "more", ignore=shutil.ignore_patterns("__pycache__"))
    worst: dict[str, float] = dict.fromkeys(SERVERS, 0.0)
    begun, calm = False, 0
    while calm < CALM:
        answer = await ask.call_tool("search", {"query": "embedding", "top_k": 1})
        index = (answer.structured_content or {})["index"]
        begun = begun or index["pending"] > 0
        calm = calm + 1 if begun and index["pending"] == 0 else 0
        for _ in range(8):
            now = measure(names)
            worst = max(worst, now, key=lambda row: sum(row.values()))
            await asyncio.sleep(0.2)
    return worst


async def run(
    project: Path, *, embed: bool, together: bool, rest: int
) -> dict[str, dict[str, float]]:
    """Connect to all, measure, ask, measure again, also idle; with `embed` also at work."""
    async with AsyncExitStack() as stack:
        clients = {}
        environment = dict(os.environ) | {"CODE_INTEL_IDLE_MINUTES": "1"}
        environment["CODE_INTEL_ONE_PROCESS"] = str(int(together))
        for name, (command, arguments) in SERVERS.items():
            parameters = StdioServerParameters(
                command=str(BIN / command), args=arguments, cwd=project, env=environment
            )
            transport = stdio_client(parameters, errlog=sys.stderr)
            clients[name] = await stack.enter_async_context(Client(transport, mode="legacy"))
            await clients[name].list_tools()
        await asyncio.sleep(3)
        names = servers()
        stages = {"connected": measure(names)}
        for question in QUESTIONS:
            answer = await clients["code-intel"].call_tool("search_smart", {"query": question})
            assert not answer.is_error, answer
        stages["after questions"] = measure(names)
        await asyncio.sleep(rest)
        stages["idle"] = measure(names)
        stages["idle, anonymous"] = measure(names, "Pss_Anon")
        if embed:
            stages["embedding, highest"] = await highest(names, project, clients["devrag-forest"])
            await asyncio.sleep(rest)
            stages["idle after it"] = measure(names)
        return stages


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--rest", type=int, default=75)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = {}
    for together in (True, False):
        found["one process" if together else "apart"] = in_project(args, together=together)
    for name, stages in found.items():
        print(f"{name + ', PSS in MB':<24}" + "".join(f"{each:>15}" for each in (*SERVERS, "all")))
        for stage, row in stages.items():
            values = (*(row[server] for server in SERVERS), sum(row.values()))
            print(f"{stage:<24}" + "".join(f"{value:>15.1f}" for value in values))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def in_project(args: argparse.Namespace, *, together: bool) -> dict[str, dict[str, float]]:
    """Measure in the project that was named, or in a new copy of the shop."""
    with tempfile.TemporaryDirectory() as folder:
        project = args.project
        os.environ["CODE_INTEL_CACHE_DIR"] = str(Path(folder) / "cache")
        os.environ["CODE_INTEL_STATE_DIR"] = str(Path(folder) / "state")
        if project is None:
            project = Path(folder) / "shop"
            shutil.copytree(SHOP, project)
            for words in (
                ["git", "init", "-q"],
                [str(BIN / "code-intel"), "init"],
                [str(BIN / "code-intel"), "sync"],
            ):
                subprocess.run(words, cwd=project, check=True, stdout=subprocess.DEVNULL)
        embed = args.project is None
        return asyncio.run(run(project, embed=embed, together=together, rest=args.rest))


if __name__ == "__main__":
    main()
