"""Refusals of large arguments name the field and the limit without repeating the value."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.declaration import Tool
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, INDEX_TOOLS
from code_intel.tools.wire.answers import tokens
from command_projects import command_server, stocked
from projects import Caller
from sampling import sampled
from served import gateway, index_server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("empty_home")]

MAX_REFUSAL_TOKENS = 700
"""Tokens of a refusal."""


def nested(depth: int) -> Any:
    value: Any = "語" * 100
    for level in range(depth):
        value = {f"鍵{level}" * 20: value, "list": ["word" * 20] * 3}
    return value


LARGE: dict[str, Any] = {
    "objects within objects": {f"key {number}": nested(12) for number in range(20)},
    "too deep": nested(60),
    "a long text": "語 word" * 20_000,
    "a long list": ["word " * 20] * 1000,
    "too long a list": ["word " * 20] * 1100,
    "a list of objects": [nested(3)] * 60,
    "a long key": {"k" * 100_000: 1, "鍵" * 50_000: {"鍵" * 50_000: "\x00"}},
    "text that is JSON": json.dumps([nested(12)] * 10, ensure_ascii=False),
}


async def refusals(call: Caller, tool: Tool) -> list[tuple[str, str, str]]:
    """Pass each large value as each parameter, known or unknown; return the refusals."""
    found = []
    for parameter in (*tool.schema["properties"], "unknown", "鍵" * 50_000):
        for kind, value in LARGE.items():
            given = dict.fromkeys(tool.schema.get("required", ()), "x") | {parameter: value}
            result = await call.client.call_tool(tool.name, given)
            if result.is_error:
                assert result.content[0].type == "text"
                found.append((parameter, kind, result.content[0].text))
    return found


def check_brief(tool: Tool, refused: list[tuple[str, str, str]]) -> None:
    for parameter, kind, text in refused:
        where = (tool.name, parameter[:40], kind, text[:400])
        assert tokens(text) <= MAX_REFUSAL_TOKENS, (tokens(text), *where)
        error = json.loads(text)
        assert list(error)[:3] == ["error", "message", "hint"], where
        assert error["error"] != "unexpected", where
        assert "truncated" not in error, where
        assert len(error.get("field", "")) <= 200, where


@pytest.mark.parametrize("tool", sampled(GATEWAY_TOOLS, step=9), ids=lambda tool: tool.name)
async def test_gateway_answers_large_arguments_briefly(shop: Path, tool: Tool) -> None:
    async with gateway(shop) as call:
        check_brief(tool, await refusals(call, tool))


@pytest.mark.parametrize("tool", sampled(INDEX_TOOLS, step=4), ids=lambda tool: tool.name)
async def test_index_server_answers_large_arguments_briefly(shop: Path, tool: Tool) -> None:
    async with index_server(shop, "forest") as call:
        check_brief(tool, await refusals(call, tool))


async def test_command_server_answers_large_arguments_briefly(tmp_path: Path) -> None:
    async with command_server(stocked(tmp_path / "stock")) as call:
        for tool in COMMAND_TOOLS:
            check_brief(tool, await refusals(call, tool))
