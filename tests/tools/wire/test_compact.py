"""The gateway's data is short: no empty fields, and code as lines."""

from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.wire.compact import compact, lines_of
from served import gateway, index_server

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"a": None, "b": "", "c": [], "d": {}}, {}),
        ({"no": False, "none": 0, "text": "x"}, {"no": False, "none": 0, "text": "x"}),
        ({"rows": [{"scope": "", "line": 3}]}, {"rows": [{"line": 3}]}),
        ({"names": ["", "a"]}, {"names": ["", "a"]}),
        ({"chunk": "x\n", "similarity": 0.5, "position": 1}, {"chunk": "x\n"}),
        ({"similarity": 0.5}, {"similarity": 0.5}),
        ({"start_line": 0, "text": "x"}, {"start_line": 0, "text": "x"}),
    ],
)
def test_empty_fields_and_those_for_programs_are_left_out(
    data: dict[str, Any], shown: dict[str, Any]
) -> None:
    assert compact(data) == shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\r\n\r\nb", ["a", "", "b"]),
        ("a\u2028b\n\n", ["a\u2028b", ""]),
        ("a\rb\r\n", ["a", "b"]),
        ("", [""]),
    ],
)
def test_code_is_an_array_of_lines(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines
    assert compact({"start_line": 7, "chunk": text})["lines"] == lines


def test_found_lines_are_grouped_by_file_and_shown_once() -> None:
    rows = [
        {"file": "a.py", "line_number": 4, "line_content": "d", "before": ["c"], "after": ["e"]},
        {"file": "a.py", "line_number": 5, "line_content": "e", "before": ["d"], "after": ["f"]},
        {"file": "b.py", "line_number": 1, "line_content": "x", "flags": ["instruction-like text"]},
    ]
    assert compact({"matches": rows}) == {
        "matches": [
            {"file": "a.py", "lines": ["3- c", "4: d", "5: e", "6- f"]},
            {"file": "b.py", "lines": ["1: x"], "flags": ["instruction-like text"]},
        ]
    }


@pytest.mark.covers("rule.answer.compact")
async def test_gateway_leaves_out_empty_fields_and_index_servers_do_not(shop: Path) -> None:
    async with gateway(shop) as call:
        found = (
            await call.client.call_tool("find_definitions", {"symbol": "login"})
        ).structured_content
        assert found is not None
        assert not found.keys() & {"next_cursor", "warnings"}
        assert all(row.get("scope") != "" for row in found["definitions"])
        data = (await call.client.call_tool("search_smart", {"query": "login"})).structured_content
        assert data is not None
        assert not data.keys() & {"guards", "best_map", "next_phase"}
        assert all("lines" in row and "chunk" not in row for row in data["results"])
    async with index_server(shop, "forest") as call:
        await call("sync")
        hit = (await call("search", query="login"))["results"][0]
        assert {"chunk", "similarity", "position"} <= hit.keys()
