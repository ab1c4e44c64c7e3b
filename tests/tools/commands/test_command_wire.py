"""Check the command server over stdio and HTTP in both protocol eras."""

import json
import os
import sys
from pathlib import Path

import pytest

from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS
from command_projects import (
    GROUP,
    PROMPT,
    command_server,
    executable,
    prompted,
    stocked,
    text_of,
)
from projects import ERAS, Caller, Project, both_eras
from sampling import sampled
from servers.http_processes import client, serving

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("empty_home")]

SERVER = ("code-intel", "commands")


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    return stocked(tmp_path / "stock")


def environment(home: Path) -> dict[str, str]:
    env = {**os.environ, "HOME": str(home), "USERPROFILE": str(home)}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    return env | {"CODE_INTEL_EMBEDDING": "off", "CODE_INTEL_COMMAND_RUNNER": "prompts"}


@both_eras
async def test_four_tools_work_over_stdio(stock: Path, empty_home: Path, era: str) -> None:
    project = Project(stock, environment(empty_home))
    async with project.connect(*SERVER, era=era) as connected:
        call = Caller(connected.client, names="command_")
        (found,) = (await call("search", query="commit file changes", limit=1))["results"]
        assert {name: found[name] for name in GROUP} == GROUP
        assert (await call("describe", **GROUP))["usage"]
        assert await text_of(call, "execute", options={"stdin": "x"}, **GROUP) == PROMPT.replace(
            "{input_text}", "x"
        )
        assert (await call("reload"))["commandCount"] == 7
        assert (await call.refused("describe", c1="a", c2="b", c3="c"))["error"] == (
            "Command not found"
        )


PROGRAM = """
import json, os, sys, time
end = next((each.partition("=")[2] for each in sys.argv if each.startswith("--uv-end=")), "")
print("it is over", file=sys.stderr, flush=True)
if end == "exit":
    sys.exit(3)
if end == "signal":
    os.kill(os.getpid(), 9)
if end == "hang":
    time.sleep(600)
print(json.dumps(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its first line names the interpreter")
@pytest.mark.covers("error.Execution failed: command stderr runner exit_code signal timeout")
async def test_program_gets_the_arguments_of_the_seed_and_its_failure_is_reported(
    stock: Path,
) -> None:
    runner = executable(stock.parent, f"#!{sys.executable}{PROGRAM}")
    async with command_server(stock, command_runner=runner) as call:
        answer = await call("execute", options={"adaptation": "strict"}, **GROUP)
        assert json.loads(answer["prompt"]) == [
            "--config=climpt-git",
            "group-commit",
            "unstaged-changes",
            "--adaptation=strict",
        ]
        failed = {
            end: await call.refused("execute", options={"uv-end": end}, **GROUP)
            for end in ("exit", "signal")
        }
    async with command_server(stock, command_runner=runner, command_timeout=1) as call:
        failed["hang"] = await call.refused("execute", options={"uv-end": "hang"}, **GROUP)
    for error in failed.values():
        assert error["error"] == "Execution failed"
        assert error["command"] == " ".join(GROUP.values())
        assert error["runner"] == answer["runner"] == "prompter"
    assert "it is over" in failed["exit"]["stderr"]
    assert failed["exit"]["exit_code"] == 3
    assert failed["signal"]["signal"] == 9
    assert failed["hang"]["timeout"] == 1


UNBEGUN = """
import code_intel.cli.main as cli
import code_intel.servers.protocol as protocol
protocol.CALM = 3600
cli.run()
"""
"""The program without background work after the handshake."""


async def test_handshake_opens_no_registry(stock: Path, empty_home: Path) -> None:
    env = environment(empty_home) | {"PYTHONPROFILEIMPORTTIME": "1"}
    async with Project(stock, env).connect("python", "-c", UNBEGUN, *SERVER[1:]) as connected:
        assert connected.client.server_info is not None
        assert connected.client.server_info.name == "climpt"
        log = (stock.parent / "stderr.log").read_text(encoding="utf-8")
    assert "code_intel.servers.commands" in log
    early = [line.rpartition("|")[2].strip() for line in log.splitlines() if "|" in line]
    assert not {"numpy", "apsw", "code_intel.tools.table", "code_intel.registry.loading"} & {*early}


def test_only_execute_may_start_programs() -> None:
    reaching = {tool.name for tool in (*COMMAND_TOOLS, *GATEWAY_TOOLS) if tool.open_world}
    assert reaching == {"execute", "command_execute"}


@pytest.mark.covers("rule.commands.http")
@pytest.mark.parametrize(
    "program",
    sampled([SERVER, ("code-intel", "serve")], SERVER),
    ids=["commands", "gateway"],
)
async def test_execute_is_refused_over_http_by_default(
    stock: Path, program: tuple[str, ...]
) -> None:
    names = "command_" if program == SERVER else ""
    tool = "command_{}" if not names else "{}"
    with serving(stock, program=program, word=()) as served:
        for era in ERAS:
            async with client(served.port, era) as connected:
                call = Caller(connected.client, names=names)
                assert (await call(tool.format("search"), query="merge branch"))["count"] == 3
                assert (await call(tool.format("describe"), **GROUP))["c1"] == GROUP["c1"]
                error = await call.refused(tool.format("execute"), **GROUP)
                assert error["error"] == "writes_not_allowed"
                assert "--allow-writes" in error["hint"]


@pytest.mark.parametrize(
    "line", ["look at it.", '"""\\"\\"', "一つずつ見る。"], ids=["en", "signs", "ja"]
)
async def test_long_prompt_is_cut_at_a_line(stock: Path, line: str) -> None:
    prompted(stock, GROUP, "".join(f"Step {n}: {line}\n" for n in range(4000)))
    async with command_server(stock) as call:
        answer = await call("execute", **GROUP)
        text = await text_of(call, "execute", **GROUP)
    assert answer["truncated"]
    assert text == answer["prompt"]
    assert text.endswith(f"{line}\n")
    assert len(text) > 5000
    assert "code-intel commands execute" in answer["warnings"][-1]
