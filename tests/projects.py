"""A real project and real processes, as end-to-end tests drive them."""

import asyncio
import io
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client, types

from code_intel.tools.table import CORE, GATEWAY_TOOLS
from contract.manifest import completed, faults_of_answer, faults_of_error
from programs import git
from sampling import sampled

SHOP = Path(__file__).resolve().parent / "repos" / "shop"
BIN = Path(sys.executable).parent
GATEWAY_NAMES = frozenset(tool.name for tool in GATEWAY_TOOLS)
CORE_NAMES = frozenset(tool.name for tool in CORE.tools)
_NAMES = re.compile(rf"\b(?:{'|'.join(name for name in GATEWAY_NAMES if '_' in name)})\b")
ERAS = ("legacy", "2026-07-28")
both_eras = pytest.mark.parametrize("era", sampled(ERAS, ERAS[0]))
"""Mark a test to run in both protocol eras; in the second one with `--all` only."""


def file_tree(root: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its path, git's own files excluded."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def files_of_own_agreements() -> list[str]:
    """Return the modules of this repository that define a symbol of its own agreements."""
    root = SHOP.parents[2]
    agreements = (root / ".code-intel" / "agreements").glob("*.md")
    texts = "\n".join(path.read_text(encoding="utf-8") for path in agreements)
    names = "|".join(re.findall(r'^symbol: "?(?:\w+\.)*(\w+)', texts, re.MULTILINE))
    defines = re.compile(rf"^ *(?:(?:async )?def|class) (?:{names})\b", re.MULTILINE)
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / "code_intel").rglob("*.py"))
        if defines.search(path.read_text(encoding="utf-8"))
    ]


def processes(field: int, value: int) -> set[int]:
    """Return the running processes whose /proc/PID/stat has `value` in one field, counted from the
    state.
    """
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[field]) == value and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def complete_answer(tool: str, result: types.CallToolResult) -> dict[str, Any]:
    """Return the data of an answer of the gateway, with its empty fields."""
    return completed(f"answer.{tool}", result.structured_content or {})


def code_of(row: Mapping[str, Any]) -> str:
    """Return the code of a row of an answer of the gateway."""
    return "".join(f"{line}\n" for line in row["lines"])


def places_of(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return the files and numbers of found lines, without the lines around them."""
    return [
        (row["file"], int(number))
        for row in rows
        for line in row["lines"]
        if (number := line.partition(":")[0]).isdigit()
    ]


@dataclass(frozen=True)
class Project:
    """A set-up project, and the environment in which its programs run."""

    root: Path
    env: Mapping[str, str]

    def run(
        self, program: str, *arguments: str, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line in this process, as its program would: starting one costs a second.

        An asynchronous test has an event loop already; there the program is started.
        """
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            return self.spawn(program, *arguments, check=check)
        return self.call(program, *arguments, check=check)

    def call(
        self, program: str, *arguments: str, check: bool = True, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line in this process, where starting a program is not the point."""
        from code_intel.cli.devrag import main as devrag
        from code_intel.cli.main import main

        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            patch.chdir(self.root)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            for name in os.environ.keys() - self.env.keys():
                patch.delenv(name)
            for name, value in self.env.items():
                patch.setenv(name, value)
            try:
                code = devrag(arguments) if program == "devrag" else main(arguments)
            except SystemExit as end:
                code = int(end.code or 0)
        if check and code:
            raise subprocess.CalledProcessError(code, program, out.getvalue(), err.getvalue())
        return subprocess.CompletedProcess(
            [program, *arguments], code, out.getvalue(), err.getvalue()
        )

    def spawn(
        self, program: str, *arguments: str, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line in a process of its own."""
        return subprocess.run(
            [str(BIN / program), *arguments],
            cwd=self.root,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=check,
            timeout=240,
        )

    def git(self, *arguments: str) -> None:
        git(self.root, *arguments)

    @asynccontextmanager
    async def connect(
        self, program: str, *arguments: str, era: str = ERAS[0]
    ) -> AsyncIterator["Caller"]:
        parameters = StdioServerParameters(
            command=str(BIN / program), args=list(arguments), cwd=self.root, env=dict(self.env)
        )
        with (
            anyio.fail_after(240),
            (self.root.parent / "stderr.log").open("a", encoding="utf-8") as log,
        ):
            async with Client(stdio_client(parameters, errlog=log), mode=era) as client:
                yield Caller(client)


@dataclass(frozen=True)
class Caller:
    """A connected client that reads structured answers, each of which keeps the contract.

    It adds the empty fields that the gateway leaves out, so that tests can compare them. An answer
    of a tool of the core must not name an unlisted one (docs/decisions/0034).
    `names` is the prefix of its tools in the contract, if two servers have a tool of the same name.
    `session_id` is sent with every call. Without it, servers of the older protocol use the
    connection's last session.
    """

    client: Client
    names: str = ""
    session_id: str | None = None
    listed: set[str] = field(default_factory=set)

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        if self.session_id is not None:
            arguments.setdefault("session_id", self.session_id)
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.structured_content)
        assert result.structured_content is not None
        answer = dict(result.structured_content)
        if not self.names and tool in GATEWAY_NAMES:
            answer = complete_answer(tool, result)
            await self.check_names(tool, result)
        assert not (faults := faults_of_answer(f"{self.names}{tool}", answer)), faults
        return answer

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, (tool, result.structured_content)
        assert result.structured_content is not None
        error = dict(result.structured_content)
        assert not (faults := faults_of_error(error)), faults
        if not self.names and tool in GATEWAY_NAMES:
            await self.check_names(tool, result)
        return error

    async def check_names(self, tool: str, result: types.CallToolResult) -> None:
        """Check that an answer of a tool of the core names no unlisted one."""
        if not self.listed:
            self.listed.update(tool.name for tool in (await self.client.list_tools()).tools)
        named = set(_NAMES.findall(result.model_dump_json(exclude={"meta"})))
        assert tool not in CORE_NAMES or named <= self.listed, (tool, named - self.listed)
