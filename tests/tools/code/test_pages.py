"""Pages of a long list have every row once, in order."""

from pathlib import Path
from typing import Any

import pytest

from code_intel.index.facade import Index
from code_intel.tools.wire.answers import tokens
from contract.journeys import unsearched
from projects import Caller, both_eras, complete_answer, places_of
from served import gateway, settings_of

pytestmark = pytest.mark.anyio

FILES = 60


@pytest.fixture
def many(shop: Path) -> Path:
    """Add many files that define, use and import one name."""
    folder = shop / "src" / "many"
    folder.mkdir()
    (folder / "hub.py").write_text("def needle_hub():\n    pass\n", encoding="utf-8")
    for number in range(FILES):
        (folder / f"user_{number:02}_of_the_needle.py").write_text(
            "from many.hub import needle_hub\n\n\n"
            f"def needle_{number:02}():\n    '''{'needle 語 ' * 20}'''\n    return needle_hub()\n",
            encoding="utf-8",
        )
    return shop


PAGED: dict[str, tuple[dict[str, Any], str, str]] = {
    "search_text": (
        {"pattern": "needle", "path": "src/many", "max_results": 1000, "context_lines": 2},
        "matches",
        "total_matches",
    ),
    "search_files": ({"pattern": "*needle*", "path": "src/many"}, "files", "total_files"),
    "find_definitions": ({"symbol": "needle", "path": "src/many"}, "definitions", "total"),
    "find_references": ({"symbol": "needle_hub"}, "references", "total"),
    "get_symbols": ({"path": "src/many"}, "symbols", "total"),
    "deps_closure": ({"path": "src/many/hub.py", "direction": "inbound"}, "nodes", "total"),
    "files_search": ({"query": "needle hub", "top_k": 25}, "results", "total"),
}


@pytest.mark.covers(
    "rule.answer.pages",
    "field.search_text.cursor",
    "field.search_files.cursor",
    "field.find_definitions.cursor",
    "field.find_references.cursor",
    "field.deps_closure.cursor",
    "field.files_search.cursor",
    "answer.search_text.next_cursor",
    "answer.find_definitions.next_cursor",
    "answer.find_references.next_cursor",
    "answer.deps_closure.next_cursor",
    "answer.files_search.next_cursor",
)
@both_eras
async def test_pages_have_every_row_once(many: Path, era: str) -> None:
    async with gateway(many, era) as call:
        await call("get_symbols", path="src/many")
        for tool, (given, rows, total) in PAGED.items():
            pages = await every_page(call, tool, given)
            seen = [row for page in pages for row in rows_of(tool, page[rows])]
            assert len(seen) == len(set(seen)) == pages[0][total], tool
            assert all(page["truncated"] for page in pages[:-1]), tool
            if tool in {"search_text", "find_references", "get_symbols", "files_search"}:
                assert len(pages) > 1, tool
            other = {
                **given,
                **({"path": "src"} if "path" in given else {"language": "python"}),
            }
            if pages[0]["next_cursor"]:
                error = await call.refused(tool, **other, cursor=pages[0]["next_cursor"])
                assert error["field"] == "cursor", tool
            for bad in ("x", "-1.00000000", "0.0000", "9" * 50):
                assert (await call.refused(tool, **given, cursor=bad))["field"] == "cursor"


def rows_of(tool: str, rows: list[Any]) -> list[str]:
    """Return the rows of a page; those of a search are its places."""
    if tool in {"search_text", "find_references"}:
        return [str(place) for place in places_of(rows)]
    return [str(row) for row in rows]


async def every_page(call: Caller, tool: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    pages = [await call(tool, **given)]
    while pages[-1]["next_cursor"]:
        assert len(pages) < 50
        answer = await call.client.call_tool(tool, {**given, "cursor": pages[-1]["next_cursor"]})
        pages.append(complete_answer(tool, answer))
        text = "".join(part.text for part in answer.content if part.type == "text")
        assert tokens(text) < 3000
        if pages[-1]["next_cursor"]:
            assert f"cursor={pages[-1]['next_cursor']}" in text
    return pages


async def test_only_files_on_the_page_count_as_seen(many: Path) -> None:
    last = FILES - 1
    given = {"pattern": "return needle_hub", "path": "src/many", "context_lines": 3}
    async with gateway(many) as call:
        await unsearched(call, many, query="fix the needle")
        page = await call("search_text", **given, max_results=25)
        await call("get_symbols", path="src/many")  # indexes the files
        shown = {row["file"] for row in page["matches"]}
        assert f"src/many/user_{last:02}_of_the_needle.py" not in shown
        claims = [
            {"symbol": f"needle_{n:02}", "explanation": "a needle", "quote": "return needle_hub()"}
            for n in (0, last)
        ]
        refused = await call.refused("submit_understanding", symbols_identified=claims)
        assert refused["missing_requirements"] == [
            f"read: needle_{last} was never printed in this session"
        ]


@pytest.mark.counts("only its refusals name files that were not seen")
async def test_frequent_matches_do_not_count_as_seen(many: Path) -> None:
    first = "src/many/user_00_of_the_needle.py"
    with Index(settings_of(many).forest) as index:  # a scan would index the files one by one
        index.complete(words_only=True)
    async with gateway(many) as call:
        for tool, given in (
            ("search_text", {"pattern": "needle", "path": "src/many", "max_results": 1000}),
            ("find_references", {"symbol": "needle_hub"}),
            ("find_definitions", {"symbol": "needle"}),
        ):
            await call("start_session", intent="MODIFY", query="fix the refund")
            await every_page(call, tool, given)
            refused = await call.refused(
                "submit_understanding", symbols_identified=["needle_hub"], files_analyzed=[first]
            )
            assert refused["unseen_files"] == [first], tool
