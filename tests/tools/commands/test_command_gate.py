"""Check commands on the gateway: phases and records."""

import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from code_intel.session import journal
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext, sessions_of
from code_intel.tools.table import COMMAND_GROUP, listed_tools
from command_projects import (
    DECIDE,
    GROUP,
    SEVEN,
    command_gateway,
    executable,
    prompted,
    rendering,
    stocked,
)
from contract.journeys import begin, framed, to_ready, to_semantic, to_verification
from projects import Caller, both_eras
from served import settings_of

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("empty_home")]

NAMES = tuple(tool.name for tool in COMMAND_GROUP.tools)


@pytest.fixture
def stock(shop: Path) -> Path:
    return stocked(shop)


async def stays(_call: Caller) -> None:
    """Do nothing."""


JOURNEYS: dict[str, Callable[[Caller], Awaitable[Any]]] = {
    "EXPLORATION": stays,
    "SEMANTIC": to_semantic,
    "VERIFICATION": to_verification,
}


@pytest.mark.covers("rule.commands.ready", "field.command_execute.session_id")
@pytest.mark.parametrize("phase", JOURNEYS)
async def test_commands_are_executed_only_in_ready(stock: Path, phase: str) -> None:
    async with command_gateway(stock) as call:
        session = await framed(call)
        await JOURNEYS[phase](call)
        error = await call.refused("command_execute", session_id=session, **GROUP)
        assert (error["error"], error["current_phase"]) == ("phase_blocked", phase)
        assert "command_execute" not in error["allowed_tools"]
        assert (await call("command_search", query="commit"))["count"] == 3
        assert (await call("command_describe", **GROUP))["c2"] == GROUP["c2"]
        assert (await call("command_reload"))["commandCount"] == len(SEVEN)
        status = await call("get_session_status", session_id=session)
    assert status["current_phase"] == phase


@pytest.mark.covers("answer.command_execute.prompt")
async def test_execution_in_ready_is_recorded(stock: Path) -> None:
    prompted(stock, DECIDE, "Decide.\n")
    async with command_gateway(stock) as call:
        session = await framed(call)
        await to_ready(call)
        answer = await call("command_execute", session_id=session, **DECIDE)
        assert answer["prompt"].strip() == "Decide."
        stored = journal.load(sessions_of(rendering(stock)), session)
        last = stored.calls[-1]
        assert (last.tool, last.target, last.ok) == (
            "command_execute",
            " ".join(DECIDE.values()),
            True,
        )
        assert (last.files, last.symbols, last.is_evidence) == ((), (), False)


async def test_failed_execution_is_recorded(stock: Path) -> None:
    async with command_gateway(stock) as call:
        session = await framed(call)
        await to_ready(call)
        error = await call.refused("command_execute", session_id=session, **DECIDE)
        assert error["error"] == "Execution failed"
        last = journal.load(sessions_of(rendering(stock)), session).calls[-1]
        assert (last.tool, last.ok) == ("command_execute", False)


async def test_question_may_execute_commands_but_not_write(
    stock: Path,
) -> None:
    async with command_gateway(stock) as call:
        session = await begin(call, "QUESTION")
        assert (await call("command_execute", session_id=session, **GROUP))["runner"] == "prompts"
        gate = await call("check_write_target", session_id=session, file_path="src/auth/service.py")
    assert gate["error"] == "read_only_intent"


@pytest.mark.covers("error.no_active_session")
@both_eras
async def test_without_a_session_commands_are_found_but_not_executed(stock: Path, era: str) -> None:
    async with command_gateway(stock, era) as call:
        error = await call.refused("command_execute", **GROUP)
        assert error["error"] == "no_active_session"
        assert "start_session" in error["hint"]
        assert (await call("command_search", query="merge branch"))["count"] == 3
        assert (await call("command_describe", **GROUP))["usage"]


@pytest.mark.covers(
    "field.command_search.session_id",
    "field.command_describe.session_id",
    "field.command_reload.session_id",
)
async def test_unknown_session_is_refused_by_every_command_tool(stock: Path) -> None:
    async with command_gateway(stock) as call:
        for tool, arguments in (
            ("command_search", {"query": "commit"}),
            ("command_describe", GROUP),
            ("command_reload", {}),
        ):
            error = await call.refused(
                tool, session_id="session_20250101_000000_00000000", **arguments
            )
            assert error["error"] == "no_active_session"


async def test_command_tools_are_listed_by_setting_only(
    stock: Path,
) -> None:
    async with command_gateway(stock) as call:
        names = {tool.name for tool in (await call.client.list_tools()).tools}
        assert names.isdisjoint(NAMES)
        await framed(call)
        error = await call.refused("submit_verification", verified=[])
        assert set(error["allowed_tools"]).isdisjoint(NAMES)
    async with command_gateway(stock, tool_groups=("commands",)) as call:
        listed = [tool.name for tool in (await call.client.list_tools()).tools]
        tools = listed_tools(("commands",), demands=settings_of(stock).demands)
        assert listed == [tool.name for tool in tools]
        await framed(call)
        error = await call.refused("submit_verification", verified=[])
        assert "command_search" in error["allowed_tools"]
        assert "command_execute" not in error["allowed_tools"]


async def test_commands_do_not_count_as_exploration(stock: Path) -> None:
    async with command_gateway(stock) as call:
        session = await framed(call)
        await call("command_search", query="login")
        await call("command_describe", **GROUP)
        claim = {"symbol": "shipping_fee", "explanation": "the fee", "quote": "return Decimal(0)"}
        error = await call.refused(
            "submit_understanding", session_id=session, symbols_identified=[claim]
        )
        assert error["message"] == "shipping_fee was never printed in this session."
        stored = journal.load(sessions_of(rendering(stock)), session)
    assert not {call.tool for call in stored.calls} & set(NAMES)


async def test_gateway_opens_commands_on_first_use_and_shares_its_model(
    stock: Path,
) -> None:
    def opened() -> dict[int, CommandContext]:
        # Each call has a copy of the context, and the last one may not have been freed yet.
        gc.collect()
        found = (thing for thing in gc.get_objects() if isinstance(thing, CommandContext))
        return {id(context.vectors): context for context in found}

    before = opened()
    async with command_gateway(stock) as call:
        await call.client.list_tools()
        await framed(call)
        assert opened().keys() == before.keys()
        await call("command_search", query="commit")
        await call("command_reload")
        (own,) = [context for key, context in opened().items() if key not in before]
        (gateway,) = {
            id(thing.forest): thing
            for thing in gc.get_objects()
            if isinstance(thing, GatewayContext) and thing.root == own.settings.root
        }.values()
        assert own.embedder is gateway.forest.embedder


WAITING = """
import pathlib, sys, time
here = pathlib.Path(sys.argv[0]).parent
(here / "begun").touch()
while not (here / "go on").exists():
    time.sleep(0.01)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its first line names who reads it")
async def test_execution_does_not_block_the_session(stock: Path) -> None:
    runner = executable(stock.parent, f"#!{sys.executable}{WAITING}")
    answers: list[dict[str, Any]] = []
    async with command_gateway(stock, command_runner=runner) as call:
        session = await framed(call)
        await to_ready(call)

        async def execute() -> None:
            answers.append(await call("command_execute", session_id=session, **GROUP))

        async with anyio.create_task_group() as group:
            group.start_soon(execute)
            while not (stock.parent / "begun").exists():
                await call("get_session_status", session_id=session)
            await call("revert_to_exploration", reason="something else")
            (stock.parent / "go on").touch()
        assert answers[0]["prompt"].strip() == "done"
        assert any("not recorded" in warning for warning in answers[0]["warnings"])
        stored = journal.load(sessions_of(rendering(stock)), session)
    assert stored.phase == "EXPLORATION"
    assert "command_execute" not in {each.tool for each in stored.calls}
