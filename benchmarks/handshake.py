"""How long a cold `initialize` takes, against a bare SDK server with one tool, in one run.

    python benchmarks/handshake.py [--rounds 7] [--json OUT]

Each round starts every server once, in turn, on a project that was never indexed. It takes the time
from the start of the process to the answer. The result is the quotient of medians: limit 1.3. The
last row is a server that starts beside another one of its project, and so is a relay.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.3
HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SHOP = HERE.parent / "tests" / "repos" / "shop"
BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    "Echo."
    return text
server.run()
"""
SERVERS = {
    "bare SDK, one tool": [sys.executable, "-c", BARE],
    "code-intel": [str(BIN / "code-intel"), "serve"],
    "devrag-map": [str(BIN / "devrag"), "--config", "devrag-map.json"],
    "devrag-forest": [str(BIN / "devrag"), "--config", "devrag-forest.json"],
    "code-intel commands": [str(BIN / "code-intel"), "commands"],
}
RELAY = "code-intel, a relay"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "0"},
    },
}


def handshake(command: list[str], project: Path, *, again: bool = False) -> float:
    """Start a server in a copy of a project and return the seconds until it answers.

    With `again`, a second one is started and timed while the first one runs.
    """
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        seconds = time.perf_counter() - started
        assert "result" in answer, answer
        if again:
            seconds = handshake(command, project)
        server.stdin.close()
        server.kill()
    return seconds


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    commands = SERVERS | {RELAY: SERVERS["code-intel"]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(args.rounds + 1):
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as folder:
                project = Path(folder) / "shop"
                shutil.copytree(SHOP, project)
                subprocess.run(["git", "init", "-q", str(project)], check=True)
                init = [str(BIN / "code-intel"), "init", str(project)]
                subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
                os.sync()
                seconds = handshake(command, project, again=name == RELAY)
            if turn:  # the first round warms the disk cache
                times[name].append(seconds)
    bare = statistics.median(times["bare SDK, one tool"])
    print(f"{'server':<22}{'min':>8}{'median':>8}{'max':>8}{'ratio':>8}   limit {LIMIT}")
    rows = []
    for name, values in times.items():
        median = statistics.median(values)
        rows.append({"server": name, "seconds": values, "ratio": median / bare})
        print(
            f"{name:<22}{min(values):>8.3f}{median:>8.3f}{max(values):>8.3f}{median / bare:>8.2f}"
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
