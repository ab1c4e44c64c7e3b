"""Every tool answers any arguments without a defect and without Python text."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.tools.declaration import Tool
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, INDEX_TOOLS
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS, tokens
from command_projects import command_server, stocked
from projects import Caller, both_eras
from sampling import sampled
from served import gateway, index_server

pytestmark = pytest.mark.usefixtures("empty_home")

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "login",
        "AuthService.login",
        "ログイン",
        "..",
        "../x",
        "/etc/passwd",
        "~",
        "-o",
        "--pre=x",
        "[",
        "(a+)+$",
        "a" * 300,
        "a/" * 200,
        "x" * 5000,
        "\u202e\u200b",
        "🦀",
        "null",
        "[1",
        '["a"]',
        "{}",
        "NaN",
        "src/auth/service.py",
        "\x07\t",
        "%s%n",
        "*",
        "**/**",
        ".",
        "\\",
        "session_20250101_000000_00000000",
        "loop",
        "valid",
        "success",
        "MODIFY",
    ]
) | st.text(max_size=30)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values inside, at and outside the bounds of a schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*map(values, schema["anyOf"]))
    if schema.get("type") == "integer":
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        return st.sampled_from([low - 1, low, high, high + 1, 10**20])
    if schema.get("type") == "array":
        return st.lists(values(schema["items"]), max_size=3)
    if schema.get("type") == "object":
        return objects(schema)
    simple = {"string": TEXTS, "boolean": st.booleans(), "null": st.none()}
    return simple.get(schema.get("type", ""), ANYTHING)


def objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: values(field) for name, field in schema.get("properties", {}).items()}
    wanted = {name: fields[name] for name in schema.get("required", [])}
    rest = {name: field for name, field in fields.items() if name not in wanted}
    return st.fixed_dictionaries(wanted, optional=rest)


def calls(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Return valid arguments, arguments with one wrong value, or arbitrary ones."""
    one_wrong = st.tuples(
        objects(tool.schema), st.sampled_from([*tool.schema["properties"], "odd"])
    )
    return (
        objects(tool.schema)
        | st.builds(lambda pair, value: pair[0] | {pair[1]: value}, one_wrong, ANYTHING)
        | st.dictionaries(TEXTS, ANYTHING, max_size=3)
    )


async def check(call: Caller, tool: Tool, arguments: dict[str, Any]) -> None:
    result = await call.client.call_tool(tool.name, arguments)
    data = result.structured_content
    assert isinstance(data, dict)
    assert tokens(json.dumps(data, allow_nan=False, ensure_ascii=False)) <= MAX_ANSWER_TOKENS
    text = "".join(part.text for part in result.content if part.type == "text")
    assert "Traceback" not in text
    if result.is_error:
        assert data.keys() >= {"error", "message", "hint"}, data
        assert data["error"] != "unexpected", (tool.name, arguments, data)
        assert data["message"]
        assert data["hint"]
        assert "pydantic" not in text


def fuzz(tools: tuple[Tool, ...], connect: Any) -> None:
    """Send examples of every tool over one connection, all in one event loop."""

    @settings(
        max_examples=settings.default.max_examples // 4,  # type: ignore[union-attr]  # there is one
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        batch = [(tool, data.draw(calls(tool), label=tool.name)) for tool in tools]

        async def send() -> None:
            async with connect() as call:
                for tool, arguments in batch:
                    await check(call, tool, arguments)

        anyio.run(send)

    run()


@both_eras
def test_tools_of_the_gateway_survive_any_arguments(shop: Path, era: str) -> None:
    (shop / "loop").symlink_to("loop")
    fuzz(GATEWAY_TOOLS, lambda: gateway(shop, era))


@pytest.mark.parametrize("corpus", sampled(["map", "forest"], "forest"))
def test_tools_of_an_index_server_survive_any_arguments(shop: Path, corpus: str) -> None:
    fuzz(INDEX_TOOLS, lambda: index_server(shop, corpus))


def test_tools_of_the_command_server_survive_any_arguments(tmp_path: Path) -> None:
    stock = stocked(tmp_path / "stock")
    fuzz(COMMAND_TOOLS, lambda: command_server(stock))
