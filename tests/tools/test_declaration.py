"""The signature of a tool determines its schema and the arguments that it accepts."""

import importlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import Field

from code_intel.errors import UsageError
from code_intel.tools.declaration import MAX_CALL_BYTES, MAX_ITEMS, Answer, Tool
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, INDEX_TOOLS
from example_calls import EXAMPLE_CALLS

validators = importlib.import_module("jsonschema")  # comes with mcp, without types
TOOLS = {f"{group}.{tool.name}": tool for group, tools in (
    ("gateway", GATEWAY_TOOLS), ("index", INDEX_TOOLS)) for tool in tools}  # fmt: skip
BY_NAME = {tool.name: tool for tool in (*GATEWAY_TOOLS, *INDEX_TOOLS)}
every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())


async def sample(
    state: object,
    words: Annotated[str, Field(min_length=1)],
    names: list[str] = [],  # noqa: B006 - pydantic copies defaults
    count: Annotated[int, Field(ge=1, le=9)] = 5,
    ratio: float = 0.5,
    strict: bool = False,  # noqa: FBT001, FBT002 - a tool's parameters are named on the wire
    note: str | None = None,
) -> Answer:
    """Do nothing."""
    return Answer({"state": state}, f"{words}{names}{count}{ratio}{strict}{note}")


SAMPLE = Tool(sample)


def nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from nodes(item)


def refusal(tool: Tool, **given: Any) -> dict[str, Any]:
    with pytest.raises(UsageError) as caught:
        tool.arguments(given)
    return caught.value.as_dict()


@every_tool
def test_a_schema_is_a_plain_object_without_references_or_titles(tool: Tool) -> None:
    schema = tool.schema
    validators.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert set(schema.get("required", [])) <= schema["properties"].keys()
    for node in nodes(schema):
        assert not node.keys() & {"$ref", "$defs"}
        assert not isinstance(node.get("title"), str)


@pytest.mark.covers("rule.answer.descriptions")
@every_tool
def test_every_tool_has_a_name_and_description_within_the_limits_of_clients(tool: Tool) -> None:
    assert tool.name.isidentifier()
    assert len(tool.name) <= 32
    assert 15 <= len(tool.description) <= 400


def test_no_two_tools_of_a_server_have_the_same_name() -> None:
    for tools in (GATEWAY_TOOLS, INDEX_TOOLS, COMMAND_TOOLS):
        assert len({tool.name for tool in tools}) == len(tools)


@every_tool
def test_a_missing_argument_is_named(tool: Tool) -> None:
    for field in tool.schema.get("required", []):
        error = refusal(tool, **{k: v for k, v in EXAMPLE_CALLS[tool.name].items() if k != field})
        assert error["error"] == "invalid_argument"
        assert error["field"] == field
        assert field in error["message"]
        assert error["hint"]


@every_tool
def test_an_argument_of_the_wrong_type_is_named(tool: Tool) -> None:
    for field, schema in tool.schema["properties"].items():
        kinds = {schema.get("type"), *(option.get("type") for option in schema.get("anyOf", ()))}
        wrong: object = 7 if kinds & {"string", "object"} else {"no": "such"}
        error = refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: wrong})
        assert error["error"] == "invalid_argument"
        assert str(error["field"]).split(".")[0] in {field, *tool.schema.get("required", [])}


@pytest.mark.covers("rule.argument.unknown")
@every_tool
def test_unknown_arguments_are_ignored_and_named(tool: Tool) -> None:
    arguments, unknown = tool.arguments(EXAMPLE_CALLS[tool.name] | {"zeta": 1, "alpha": None})
    assert unknown == ("alpha", "zeta")
    assert not arguments.keys() & {"alpha", "zeta"}


@pytest.mark.covers("rule.argument.json_strings")
@every_tool
def test_every_argument_may_arrive_as_a_json_string(tool: Tool) -> None:
    good = EXAMPLE_CALLS[tool.name]
    as_text = {k: v if isinstance(v, str) else json.dumps(v) for k, v in good.items()}
    assert tool.arguments(as_text) == tool.arguments(good)


@pytest.mark.covers("rule.argument.json_strings")
@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"names": '["a", "b"]'}, "names", ["a", "b"]),
        ({"names": "[]"}, "names", []),
        ({"count": "7"}, "count", 7),
        ({"ratio": "0.25"}, "ratio", 0.25),
        ({"strict": "true"}, "strict", True),
        ({"words": '["a"]'}, "words", '["a"]'),
        ({"words": "12"}, "words", "12"),
        ({"words": "null"}, "words", "null"),
        ({"note": "null"}, "note", "null"),
        ({"note": '{"a": 1}'}, "note", '{"a": 1}'),
        ({"note": None}, "note", None),
    ],
)  # fmt: skip
def test_json_strings_are_parsed_unless_the_parameter_is_a_string(
    given: dict[str, Any], field: str, value: object
) -> None:
    arguments, unknown = SAMPLE.arguments({"words": "w"} | given)
    assert arguments[field] == value
    assert unknown == ()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"names": '["1'}, "names"),
        ({"names": "[1"}, "names"),
        ({"names": "a, b"}, "names"),
        ({"names": [1]}, "names.0"),
        ({"count": "0"}, "count"),
        ({"count": 10}, "count"),
        ({"count": -(10**30)}, "count"),
        ({"count": "NaN"}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": "9" * 5000}, "count"),
        ({"words": ""}, "words"),
        ({"words": 5}, "words"),
        ({"words": "a\x00b"}, "words"),
        ({"words": "a\ud800"}, "words"),
        ({"names": ["ok", "\udfff"]}, "names"),
        ({"names": ["a"] * (MAX_ITEMS + 1)}, "names"),
        ({"names": json.dumps(["a"] * (MAX_ITEMS + 1))}, "names"),
        ({"names": "[" * 100_000}, "names"),
    ],
)
def test_an_invalid_argument_is_refused_by_name(given: dict[str, Any], field: str) -> None:
    error = refusal(SAMPLE, **{"words": "w"} | given)
    assert error["field"] == field
    assert field.partition(".")[0] in error["message"]
    assert "Traceback" not in json.dumps(error)


NO_NUMBERS: tuple[object, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    1.5,
    10**400,
    "NaN",
    "1e999",
    "0x10",
    "",
    "many",
    [],
    {},
)
BLANKS = ("", " ", "\n\t", "\u3000", "\u200b", "\u202e\u2066", "\ufeff \u2028")


def branch(schema: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """Return what a field takes of one type, if it takes that."""
    options = [schema, *schema.get("anyOf", ())]
    return next((option for option in options if option.get("type") == kind), None)


@every_tool
def test_every_number_has_bounds(tool: Tool) -> None:
    for field, schema in tool.schema["properties"].items():
        if (number := branch(schema, "integer")) is None:
            continue
        low, high = number["minimum"], number["maximum"]
        for value in (low, high):
            assert tool.arguments(EXAMPLE_CALLS[tool.name] | {field: value})[0][field] == value
        for value in (low - 1, high + 1, -(10**30), 10**30, *NO_NUMBERS):
            error = refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: value})
            assert error["field"] == field, value
            assert field in error["message"]


@every_tool
def test_a_required_text_without_visible_characters_is_refused_by_name(tool: Tool) -> None:
    for field in tool.schema.get("required", []):
        texts = branch(tool.schema["properties"][field], "string")
        if texts is None or "enum" in texts or field in tool.verbatim:
            continue
        for blank in BLANKS[0 if texts.get("minLength") else 1 :]:
            assert refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: blank})["field"] == field, (
                blank
            )
        if "maxLength" in texts:
            long = "長" * (texts["maxLength"] + 1)
            assert refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: long})["field"] == field


@pytest.mark.covers("rule.argument.bounded")
@every_tool
def test_long_lists_and_invalid_characters_are_refused(tool: Tool) -> None:
    for field, schema in tool.schema["properties"].items():
        if branch(schema, "array"):
            error = refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: ["a"] * (MAX_ITEMS + 1)})
            assert error["field"] == field
        if branch(schema, "string"):
            for spoilt in ("a\x00b", "a\ud800", "\udfff"):
                assert refusal(tool, **EXAMPLE_CALLS[tool.name] | {field: spoilt})["field"] == field


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [60, 900, 970, 985, 995, 100_000])
def test_deeply_nested_arguments_are_refused_before_any_work(depth: int) -> None:
    assert refusal(SAMPLE, words="w", names=nested(depth))["field"] in {"names", "arguments"}


def test_a_message_escapes_and_cuts_the_keys_of_an_argument() -> None:
    tool = next(tool for tool in GATEWAY_TOOLS if tool.name == "command_execute")
    with pytest.raises(UsageError) as error:
        tool.arguments({"options": {"\u202e\x1b[2J" + "k" * 100_000: "a\x00b"}})
    assert error.value.message.startswith(r"options.\u202e\x1b[2Jkkk")
    assert len(error.value.message) < 200


@pytest.mark.covers("rule.argument.bounded")
def test_the_size_of_a_call_is_limited_in_bytes() -> None:
    assert SAMPLE.arguments({"words": "あ" * (MAX_CALL_BYTES // 4)})
    assert "1 MiB" in refusal(SAMPLE, words="あ" * (MAX_CALL_BYTES // 2))["message"]
    assert "1 MiB" in refusal(SAMPLE, words="w", unknown="x" * MAX_CALL_BYTES)["message"]


def test_every_tool_has_an_example_call() -> None:
    assert EXAMPLE_CALLS.keys() == BY_NAME.keys()


@every_tool
def test_the_list_omits_only_what_is_marked(tool: Tool) -> None:
    listed = tool.listed_schema["properties"]
    assert list(listed) == [
        name for name, field in tool.schema["properties"].items() if "unlisted" not in field
    ]
    for name, shown in listed.items():
        field = tool.schema["properties"][name]
        assert ("description" in shown) == ("description" in field and "by_name" not in field)
        assert not shown.keys() & {"unlisted", "by_name"}
        assert shown.get("default", 1) not in (None, "", ".", [], {}, False)


def test_the_list_of_all_parameters_shows_those_that_are_not_listed_otherwise() -> None:
    tool = BY_NAME["submit_understanding"]
    assert "entry_points" not in tool.listed_schema["properties"]
    assert "entry_points" in replace(tool, lists_all=True).listed_schema["properties"]
