"""Processor time of one `code-intel search` in a terminal: alone, through a gateway, and ripgrep.

    python -m benchmarks.terminal_search [--source FOLDER] [--rounds 20] [--words-only] [--json OUT]

Copies a project, indexes it, and runs each command as a process, in turn, first without a gateway
and then with one. The peer is ripgrep with one word of the question. The table has medians and 95th
percentiles in milliseconds: processor time of the process and its children, and elapsed time.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.hook_latency import BIN, SHOP, gateway, put_into_git
from code_intel.foundation.gateway_socket import socket_path

LIMITS = {"alone": 600, "through the gateway": 100}
"""Milliseconds of processor time."""
SEARCHED = (0, 1)
"""Exit codes of a search."""
Times = dict[str, list[tuple[float, float]]]


def milliseconds(
    command: Sequence[str], project: Path, environ: Mapping[str, str]
) -> tuple[float, float]:
    """Run a command; return its processor time and the elapsed time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=project, env=dict(environ), capture_output=True, check=False)
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in SEARCHED, done.stderr
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * used, 1000 * elapsed


def race(
    commands: Mapping[str, Sequence[str]],
    project: Path,
    environ: Mapping[str, str],
    rounds: int,
) -> Times:
    """Run the commands in turn; the first round warms the disk cache."""
    found: Times = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            times = milliseconds(command, project, environ)
            if turn:
                found[name].append(times)
    return found


def measure(
    project: Path, environ: Mapping[str, str], question: str, word: str, rounds: int
) -> Times:
    """Return the times of each command."""
    search = [str(BIN / "code-intel"), "search", question]
    peers = {
        "bare interpreter": [sys.executable, "-c", "pass"],
        f"rg {word}": [str(BIN / "rg"), "--no-config", word, "."],
    }
    found = race({"alone": search} | peers, project, environ, rounds)
    with gateway(project, environ):
        while not Path(socket_path(project)).exists():  # it listens soon after its first answer
            time.sleep(0.1)
        return found | race({"through the gateway": search}, project, environ, rounds)


def prepare(source: Path, home: Path, *, words_only: bool) -> tuple[Path, dict[str, str]]:
    """Copy, commit and index a project; return it and the environment of its programs."""
    project = home / "project"
    shutil.copytree(source, project, ignore=shutil.ignore_patterns(".venv", ".git", "*.db*"))
    put_into_git(project)
    environ = dict(os.environ) | {
        "CODE_INTEL_CACHE_DIR": str(home / "cache"),
        "CODE_INTEL_STATE_DIR": str(home / "state"),
    }
    sync = ["sync", str(project), *(["--words-only"] if words_only else [])]
    for command in (["init", str(project)], sync):
        subprocess.run(
            [str(BIN / "code-intel"), *command], env=environ, check=True, capture_output=True
        )
    return project, environ


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=SHOP)
    parser.add_argument("--question", default="where is the stock reserved")
    parser.add_argument("--word", default="reserve", help="what ripgrep searches for")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--words-only", action="store_true", help="index without vectors")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project, environ = prepare(args.source, Path(folder), words_only=args.words_only)
        found = measure(project, environ, args.question, args.word, args.rounds)
    print(f"{'ms':<22}{'CPU p50':>9}{'limit':>7}{'CPU p95':>9}{'elapsed p50':>13}")
    for name, times in found.items():
        used, elapsed = zip(*times, strict=True)
        late = statistics.quantiles(used, n=20)[-1]
        print(
            f"{name:<22}{statistics.median(used):>9.0f}{LIMITS.get(name, ''):>7}{late:>9.0f}"
            f"{statistics.median(elapsed):>13.0f}"
        )
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
