"""Groups of tools decide what is listed; every tool answers."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from mcp import Client

from code_intel.config.table import ToolGroup
from code_intel.servers.gateway import build_gateway
from code_intel.tools.table import CORE, GROUPS, MEANING
from served import gateway, settings_of

pytestmark = pytest.mark.anyio


def test_setting_lists_every_group_except_the_core() -> None:
    assert get_args(ToolGroup) == tuple(group.name for group in GROUPS if group is not CORE)


async def test_configured_group_is_listed_after_the_core(shop: Path) -> None:
    settings = replace(settings_of(shop), tool_groups=("meaning",))
    async with Client(build_gateway(settings)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
    assert listed == [tool.name for tool in (*CORE.tools, *MEANING.tools)]


@pytest.mark.covers("rule.answer.unlisted")
async def test_unlisted_tool_answers_by_name(shop: Path) -> None:
    async with gateway(shop) as call:
        names = [tool.name for tool in (await call.client.list_tools()).tools]
        assert "semantic_rerank" not in names
        answer = await call("semantic_rerank", query="cart", candidates=["src/cart/cart.py"])
        assert [hit["file"] for hit in answer["results"]] == ["src/cart/cart.py"]


async def test_unlisted_tool_obeys_the_phases_and_is_not_suggested(
    shop: Path,
) -> None:
    async with gateway(shop) as call:
        await call("start_session", intent="MODIFY", query="the cart total is wrong")
        error = await call.refused("semantic_rerank", query="cart", candidates=["src/cart/cart.py"])
        assert error["error"] == "phase_blocked"
        assert "semantic_rerank" not in error["allowed_tools"]
        unknown = await call.refused("no_such_tool")
        assert "semantic_rerank" not in unknown["hint"]
