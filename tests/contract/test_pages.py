"""Answers of several pages: put together, the pages are the list, and a cursor fits its own question alone."""

from pathlib import Path
from typing import Any

import pytest

from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

LOTS = 260


async def pages_of(call: Caller, tool: str, rows: str, **asked: Any) -> list[Any]:
    """Return all rows of an answer, page by page; there must be several pages."""
    found: list[Any] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        page = await call(tool, cursor=cursor, **asked)
        assert page["truncated"] is (page["next_cursor"] is not None)
        assert page[rows]
        found += page[rows]
        cursor = page["next_cursor"]
        pages += 1
    assert pages > 1
    return found


@pytest.mark.covers(
    "rule.answer.pages",
    "field.search_text.cursor",
    "field.find_definitions.cursor",
    "field.find_references.cursor",
    "field.search_files.cursor",
    "field.files_search.cursor",
    "field.deps_closure.cursor",
    "answer.search_text.next_cursor",
    "answer.find_definitions.next_cursor",
    "answer.find_references.next_cursor",
    "answer.files_search.next_cursor",
    "answer.deps_closure.next_cursor",
)
async def test_pages_put_together_are_all_there_is_each_once(shop: Path) -> None:
    folder = shop / "src" / "lots"
    folder.mkdir()
    for place in range(LOTS):
        text = f"def lots_{place:03}():\n    return {place}\n\n\nvalue = lots_all({place})\n"
        name = f"a_rather_long_name_of_a_file_{place:03}_so_that_a_page_has_an_end.py"
        (folder / name).write_text(text, encoding="utf-8")
    async with gateway(shop) as call:
        for file in sorted(folder.iterdir())[:60]:
            await call("deps_closure", path=file.relative_to(shop).as_posix())  # indexes it
        texts = await pages_of(
            call, "search_text", "matches", pattern="def lots_", max_results=LOTS
        )
        files = await pages_of(call, "search_files", "files", pattern="src/lots/*.py")
        defined = await pages_of(call, "find_definitions", "definitions", symbol="lots_")
        used = await pages_of(call, "find_references", "references", symbol="lots_all")
        worded = await pages_of(call, "files_search", "results", query="lots all")
        hub = "".join(f"import lots.{file.stem}\n" for file in sorted(folder.iterdir())[:60])
        (shop / "src" / "hub.py").write_text(hub, encoding="utf-8")
        nodes = await pages_of(call, "deps_closure", "nodes", path="src/hub.py")
        first = await call("search_files", pattern="src/lots/*.py")
        foreign = await call.refused("search_files", pattern="*.md", cursor=first["next_cursor"])
    assert len({row["file"] for row in texts}) == len(texts) == LOTS
    assert len(set(files)) == len(files) == LOTS
    assert len({row["name"] for row in defined}) == len(defined) >= 60
    assert len({row["file"] for row in used}) == len(used)
    assert len({row["file"] for row in worded}) == len(worded) >= 60
    assert len({row["path"] for row in nodes}) == len(nodes) == 60
    assert (foreign["error"], foreign["field"]) == ("invalid_argument", "cursor")


@pytest.mark.covers(
    "tool.list_agreements",
    "field.list_agreements: nl_term symbol status limit cursor",
    "answer.list_agreements: agreements total next_cursor",
    "row.agreement_row: file status reasons confirmed nl_term symbol evidence files aliases learned_at",
)
async def test_agreements_are_listed_page_by_page_and_narrowed(shop: Path) -> None:
    async with gateway(shop) as call:
        for place in range(5):
            await call(
                "add_agreement",
                nl_term=f"login {place}",
                symbol="AuthService.login" if place else "gone_symbol",
                code_evidence="it logs in",
            )
        every = await call("list_agreements")
        page = await call("list_agreements", limit=2)
        rest = await call("list_agreements", cursor=page["next_cursor"])
        broken = await call("list_agreements", status="broken")
        term = await call("list_agreements", nl_term="GIN 3")
        symbol = await call("list_agreements", symbol="authservice")
    assert (every["total"], every["next_cursor"]) == (5, None)
    assert len(page["agreements"]) == 2
    assert page["agreements"] + rest["agreements"] == every["agreements"]
    assert [row["symbol"] for row in broken["agreements"]] == ["gone_symbol"]
    assert symbol["total"] == 4
    (row,) = term["agreements"]
    assert row == {
        "file": row["file"],
        "status": "unconfirmed",
        "reasons": row["reasons"],
        "confirmed": False,
        "nl_term": "login 3",
        "symbol": "AuthService.login",
        "evidence": ["it logs in"],
        "files": ["src/auth/service.py:29"],
        "aliases": [],
        "learned_at": row["learned_at"],
    }
    assert row["file"].startswith("login_3_AuthService.login-")
    assert row["reasons"]
    assert row["learned_at"][:3] == "202"
