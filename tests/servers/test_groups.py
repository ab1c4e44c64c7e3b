"""Groups of tools decide what is listed; every tool answers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from mcp import Client, types

from code_intel.config.table import ToolGroup
from code_intel.servers.gateway import build_gateway
from code_intel.tools.table import CORE, GROUPS, MEANING, SESSION, listed_tools
from served import gateway, index_server, settings_of

pytestmark = pytest.mark.anyio


def test_setting_lists_every_group_except_the_core() -> None:
    assert get_args(ToolGroup) == tuple(group.name for group in GROUPS if group is not CORE)


async def test_configured_group_is_listed_after_the_core(shop: Path) -> None:
    settings = replace(settings_of(shop, demands="evidence"), tool_groups=("meaning",))
    async with Client(build_gateway(settings)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
    assert listed == [tool.name for tool in listed_tools(("meaning",))]
    assert listed[-1] == MEANING.tools[0].name


COUNTED = {"entry_points", "files_analyzed", "existing_patterns"}


def characters(tools: Sequence[types.Tool]) -> int:
    """Return the length of `tools/list` as JSON."""
    rows = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return len(json.dumps(rows, ensure_ascii=False))


@pytest.mark.covers("rule.answer.core")
async def test_core_is_twelve_tools_in_12000_characters(shop: Path) -> None:
    async with gateway(shop, demands="evidence") as call:
        listed = (await call.client.list_tools()).tools
    assert [tool.name for tool in listed] == [
        "start_session", "search_smart", "search_text", "find_definitions", "find_references",
        "snippets_get", "submit_understanding", "submit_semantic", "submit_verification",
        "check_write_target", "revert_to_exploration", "record_outcome",
    ]  # fmt: skip
    assert characters(listed) <= 12_000


async def test_the_demands_of_counts_list_the_group_that_their_hints_name(shop: Path) -> None:
    async with gateway(shop, demands="counts") as call:
        listed = (await call.client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in (*CORE.tools, *SESSION.tools)]
    understanding = next(tool for tool in listed if tool.name == "submit_understanding")
    assert understanding.input_schema["properties"].keys() >= COUNTED


async def test_parameters_that_decide_nothing_are_not_listed(shop: Path) -> None:
    async with gateway(shop, demands="evidence") as call:
        listed = (await call.client.list_tools()).tools
    understanding = next(tool for tool in listed if tool.name == "submit_understanding")
    assert not understanding.input_schema["properties"].keys() & COUNTED


@pytest.mark.covers("rule.answer.index_list")
@pytest.mark.parametrize("corpus", ["map", "forest"])
async def test_list_of_an_index_server_takes_4000_characters(shop: Path, corpus: str) -> None:
    async with index_server(shop, corpus) as call:
        assert characters((await call.client.list_tools()).tools) <= 4_000


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
