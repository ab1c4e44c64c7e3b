"""Every answer stays below its token limit and says how to get the rest."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.wire.answers import tokens
from projects import both_eras, places_of
from served import AGREEMENTS, gateway, index_server

pytestmark = pytest.mark.anyio
CAP = 10_000


@pytest.fixture
def crowded(shop: Path) -> Path:
    """Add long lines and many matches to the shop."""
    line = "needle = 'x' # " + "語 needle " * 60 + "\n"
    (shop / "src" / "crowded.py").write_text(line * 500, encoding="utf-8")
    (shop / "src" / "min.js").write_text("var needle=1;" * 3000, encoding="utf-8")
    return shop


def size(answer: dict[str, object]) -> int:
    return tokens(json.dumps(answer, ensure_ascii=False))


async def test_many_long_matches_are_cut(crowded: Path) -> None:
    async with gateway(crowded) as call:
        calls: dict[str, dict[str, Any]] = {
            "search_text": {"pattern": "needle", "max_results": 1000, "context_lines": 10},
            "find_references": {"symbol": "needle"},
        }
        for tool, arguments in calls.items():
            answer = await call(tool, **arguments)
            assert size(answer) <= CAP, tool
            assert answer["truncated"], tool
            rows = answer.get("matches") or answer["references"]
            assert len(places_of(rows)) > 5
        minified = await call("search_text", pattern="needle", path="src/min.js")
        assert size(minified) <= CAP


def write_bytes_name(folder: Path, name: bytes, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(text, encoding="utf-8")


@both_eras
async def test_file_name_in_another_encoding_breaks_no_answer(shop: Path, era: str) -> None:
    text = "---\nnl_term: login\nsymbol: AuthService\n---\n\n## Evidence\n\n- it logs in\n"
    write_bytes_name(shop / AGREEMENTS, b"caf\xe9.md", text)
    write_bytes_name(shop / "src", b"caf\xe9.py", "def needle_in_latin():\n    pass\n")
    for corpus in ("map", "forest"):
        async with index_server(shop, corpus, era) as call:
            await call("sync")
            await call("list_documents")
            await call("search", query="needle in latin login")
    async with gateway(shop, era) as call:
        for _ in range(2):
            await call("search_map", query="login")
            assert (await call("list_agreements"))["agreements"][0]["status"] == "invalid"
        await call("find_definitions", symbol="needle_in_latin")
        assert (await call("search_text", pattern="needle_in_latin"))["total_matches"] == 1
        await call("start_session", intent="MODIFY", query="fix the login")
        await call("set_query_frame", target_feature={"value": "login", "quote": "login"})
        await call("search_smart")
        await call("search_forest", query="needle in latin")
        await call("find_definitions", symbol="needle_in_latin")
        await call("find_references", symbol="needle_in_latin")
        await call("get_session_status")
