"""Make a real project for a day's work, connect clients to it, and run its commands."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from benchmarks.workday.samples import COMMAND
from benchmarks.workday.tree import Tree, git

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]
SERVERS = {
    "gateway": ("code-intel", "serve"),
    "forest": ("devrag", "--config", "devrag-forest.json"),
    "map": ("devrag", "--config", "devrag-map.json"),
}
MAX_COMMAND_S = 300
"""No command of the day takes as long, unless it hangs."""
NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", "*.db*", ".venv", ".code-intel")


@dataclass
class Output:
    """How a command ended, and what it said."""

    code: int
    stdout: str
    stderr: str

    @property
    def data(self) -> dict[str, Any]:
        """The answer of a command with --json; {} if it printed none."""
        try:
            data = json.loads(self.stdout)
        except ValueError:
            return {}
        return data if isinstance(data, dict) else {"rows": data}


@dataclass
class Project:
    """A project that is set up, its environment, and what went wrong."""

    root: Path
    home: Path
    env: dict[str, str]
    faults: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """A text in the environment of its servers."""
        return f"CODE_INTEL_CACHE_DIR={self.home / 'cache'}"

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.home / "state"

    def count(self, what: str) -> None:
        """Count something that was done."""
        self.done[what] = self.done.get(what, 0) + 1

    def fault(self, what: str) -> None:
        """Note a fault, and print it at once."""
        self.faults.append(what)
        if len(self.faults) <= 40:
            print(f"FAULT {what[:1500]}", file=sys.stderr, flush=True)

    async def run(self, *words: str, stdin: str = "", program: str = "code-intel") -> Output:
        """Run a command as a person or a client does."""
        command, env = [str(BIN / program), *words], {**self.env, COMMAND: "1"}
        ended = None
        with anyio.move_on_after(MAX_COMMAND_S):
            ended = await anyio.run_process(
                command, input=stdin.encode(), check=False, cwd=self.root, env=env
            )
        if ended is None:
            self.fault(f"{' '.join(words)} did not end within {MAX_COMMAND_S} s")
            return Output(-1, "", "")
        return Output(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def run_now(self, *words: str) -> None:
        """Run a command, which must succeed."""
        _run(self.root, self.env, *words)

    @asynccontextmanager
    async def connect(self, server: str) -> AsyncIterator[Client]:
        """Connect a client to a server over stdio; its log is kept."""
        program, *words = SERVERS[server]
        with (self.home / f"{server}.log").open("a", encoding="utf-8") as log:
            parameters = StdioServerParameters(
                command=str(BIN / program), args=words, cwd=self.root, env=self.env
            )
            async with Client(stdio_client(parameters, errlog=log), mode="legacy") as client:
                yield client


def make(source: Path, home: Path, *, words_only: bool, seed: int) -> tuple[Project, Tree]:
    """Copy real code to a new repository with two branches, set it up and index it."""
    root = home / "project"
    shutil.copytree(source, root, ignore=NOT_COPIED)
    env = {k: v for k, v in os.environ.items() if not k.startswith("CODE_INTEL_")}
    env |= {
        "CODE_INTEL_CACHE_DIR": str(home / "cache"),
        "CODE_INTEL_STATE_DIR": str(home / "state"),
    }
    if words_only:
        env["CODE_INTEL_EMBEDDING"] = "off"
    git(root, "init", "-q", "-b", "main")
    _run(root, env, "init", ".")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "All of it")
    tree = Tree(root, random.Random(seed))
    tree.make_branches()
    tree.switch()
    _run(root, env, "sync", *(["--words-only"] if words_only else []))
    return Project(root, home, env), tree


def _run(root: Path, env: Mapping[str, str], *words: str) -> None:
    command: Sequence[str] = [str(BIN / "code-intel"), *words]
    subprocess.run(
        command, cwd=root, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
