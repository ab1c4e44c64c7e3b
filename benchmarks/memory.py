"""Memory of the three servers on one project, all connected, questions asked through code-intel.

    python benchmarks/memory.py [--project FOLDER] [--json OUT]

Proportional set size from /proc (Linux): shared pages are divided among those who share them, so the
sum is what the three together really take. Without --project: a set-up copy of the tests' small shop.
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
}
QUESTIONS = ("ログイン機能", "where is the shipping fee computed", "在庫を減らす処理")


def servers_below(pid: int) -> dict[int, str]:
    """Return the command line of every child of a process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int(
                    (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
                )
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if parent == pid:
                found[int(folder.name)] = b" ".join(words).decode()
    return found


def pss(pid: int) -> float:
    """Return a process's proportional set size in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def measure(names: dict[int, str]) -> dict[str, float]:
    """Return PSS in MB by server."""
    return {
        name: round(pss(next(pid for pid, line in names.items() if marks in line)), 1)
        for name, marks in (
            ("code-intel", "code-intel serve"),
            ("devrag-map", "devrag-map.json"),
            ("devrag-forest", "devrag-forest.json"),
        )
    }


async def run(project: Path) -> dict[str, dict[str, float]]:
    """Connect to all three, measure, ask, measure again."""
    async with AsyncExitStack() as stack:
        clients = {}
        for name, (command, arguments) in SERVERS.items():
            parameters = StdioServerParameters(
                command=str(BIN / command), args=arguments, cwd=project
            )
            transport = stdio_client(parameters, errlog=sys.stderr)
            clients[name] = await stack.enter_async_context(Client(transport, mode="legacy"))
            await clients[name].list_tools()
        await asyncio.sleep(3)
        names = servers_below(os.getpid())
        stages = {"connected": measure(names)}
        for question in QUESTIONS:
            answer = await clients["code-intel"].call_tool("search_smart", {"query": question})
            assert not answer.is_error, answer
        stages["after questions"] = measure(names)
        return stages


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = args.project
        if project is None:
            project = Path(folder) / "shop"
            shutil.copytree(SHOP, project)
            for words in (
                ["git", "init", "-q"],
                [str(BIN / "code-intel"), "init"],
                [str(BIN / "code-intel"), "sync"],
            ):
                subprocess.run(words, cwd=project, check=True, stdout=subprocess.DEVNULL)
        stages = asyncio.run(run(project))
    print(f"{'PSS in MB':<18}" + "".join(f"{name:>15}" for name in SERVERS) + f"{'together':>12}")
    for stage, row in stages.items():
        print(
            f"{stage:<18}"
            + "".join(f"{row[name]:>15.1f}" for name in SERVERS)
            + f"{sum(row.values()):>12.1f}"
        )
    if args.json:
        args.json.write_text(json.dumps(stages, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
