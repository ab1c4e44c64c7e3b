"""deps_closure and snippets_get as clients see them: facts about the code as it is now."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.wire.answers import MAX_ROW_TOKENS, tokens
from programs import git
from projects import both_eras
from served import gateway

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"


def paths(answer: dict[str, Any]) -> list[str]:
    return [node["path"] for node in answer["nodes"]]


@both_eras
async def test_what_a_file_rests_on_and_what_rests_on_it(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        found = await call("deps_closure", path=SERVICE)
        assert paths(found) == [
            "src/auth/passwords.py",
            "src/auth/tokens.py",
            "src/users/repository.py",
        ]
        assert {"dataclasses", "hashlib", "sqlite3"} <= set(found["packages"])
        assert found["nodes"][0] == {
            "path": "src/auth/passwords.py",
            "depth": 1,
            "direction": "outbound",
            "via": SERVICE,
        }
        who = await call(
            "deps_closure", path="src/auth/passwords.py", direction="inbound", max_depth=1
        )
        assert paths(who) == [SERVICE, "src/users/registration.py"]
        assert who["packages"] == []
        assert not who["truncated"]
        few = await call("deps_closure", path=SERVICE, limit=1)
        assert (len(few["nodes"]), few["truncated"]) == (1, True)


async def test_an_import_just_written_is_followed_at_once_and_a_cycle_told(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("deps_closure", path=SERVICE)
        file = shop / "src" / "auth" / "tokens.py"
        file.write_text(f"from auth.service import AuthService\n{file.read_text('utf-8')}", "utf-8")
        found = await call("deps_closure", path=SERVICE)
        assert found["cycles"] == [[SERVICE, "src/auth/tokens.py"]]
        (shop / "src" / "auth" / "fresh.py").write_text("import auth.service\n", encoding="utf-8")
        fresh = await call("deps_closure", path="src/auth/fresh.py", max_depth=1)
        assert paths(fresh) == [SERVICE]


async def test_a_language_whose_imports_are_not_followed_says_so(shop: Path) -> None:
    (shop / "App.cs").write_text("using Shop.Cart;\nclass App {}\n", encoding="utf-8")
    git(shop, "add", "-A")
    async with gateway(shop) as call:
        found = await call("deps_closure", path="App.cs")
        assert found["nodes"] == []
        assert found["packages"] == ["Shop.Cart"]
        assert "csharp" in found["warnings"][0]
        assert "warnings" not in await call("deps_closure", path=SERVICE)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"path": "../outside.py"}, "path"),
        ({"path": "no/such.py"}, "path"),
        ({"path": "src"}, "path"),
        ({"path": ""}, "path"),
        ({"path": SERVICE, "max_depth": 10**9}, "max_depth"),
        ({"path": SERVICE, "direction": "up"}, "direction"),
    ],
)
async def test_a_wrong_question_about_dependencies_names_its_field(
    shop: Path, arguments: dict[str, Any], field: str
) -> None:
    async with gateway(shop) as call:
        error = await call.refused("deps_closure", **arguments)
        assert error["field"] == field
        assert error["hint"]


async def test_a_symbol_is_shown_whole_and_lines_with_what_they_are_in(shop: Path) -> None:
    text = (shop / SERVICE).read_text("utf-8")
    async with gateway(shop) as call:
        whole = await call("snippets_get", symbol="AuthService.login")
        assert (whole["path"], whole["symbol"]) == (SERVICE, "AuthService.login")
        assert whole["text"] in text
        assert whole["text"].lstrip().startswith("def login")
        line = whole["start_line"] + 1
        wide = await call("snippets_get", path=f"{SERVICE}:{line}", start_line=line, end_line=line)
        assert wide["text"] == whole["text"]
        exact = await call(
            "snippets_get", path=SERVICE, start_line=line, end_line=line, exact_lines=True
        )
        assert exact["text"] == text.splitlines(keepends=True)[line - 1]
        assert "warnings" not in exact


async def test_a_long_file_is_read_in_pieces_that_rejoin(shop: Path) -> None:
    code = "".join(f"def f{n}():\n    return '{'長い ' * 9}'\n\n\n" for n in range(300))
    (shop / "src" / "long.py").write_text(code, encoding="utf-8")
    async with gateway(shop) as call:
        pieces, line = [], 0
        while True:
            piece = await call(
                "snippets_get", path="src/long.py", start_line=line, token_budget=MAX_ROW_TOKENS
            )
            assert tokens(json.dumps(piece, ensure_ascii=False)) <= MAX_ROW_TOKENS * 1.25
            pieces.append(piece["text"])
            assert piece["truncated"] == ("next_line" in piece)
            if not piece["truncated"]:
                break
            line = piece["next_line"]
        assert len(pieces) > 1
        assert "".join(pieces) == code


async def test_a_file_that_changed_since_it_was_indexed_says_so(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("snippets_get", path=SERVICE)
        file = shop / SERVICE
        file.write_text("# new\n" + file.read_text("utf-8"), encoding="utf-8")
        stale = await call("snippets_get", path=SERVICE, start_line=1, end_line=1)
        assert stale["text"].startswith("# new\n")
        assert "changed" in stale["warnings"][0]
        assert "warnings" not in await call("snippets_get", path=SERVICE)
        (shop / "ignored.log").write_text("one\ntwo\n", encoding="utf-8")
        (shop / ".gitignore").write_text("*.log\n", encoding="utf-8")
        unknown = await call("snippets_get", path="ignored.log")
        assert unknown["text"] == "one\ntwo\n"
        assert "not in the index" in unknown["warnings"][0]


async def test_secrets_are_masked_and_files_that_may_hold_them_stay_closed(shop: Path) -> None:
    token = "ghp_" + "1234567890abcdefghijklmnopqrstuvwxyz"[:36]
    (shop / ".env").write_text(f"TOKEN={token}\n", encoding="utf-8")
    (shop / "plain.txt").symlink_to(".env")
    (shop / "src" / "deploy.py").write_text(f'TOKEN = "{token}"\n', encoding="utf-8")
    async with gateway(shop) as call:
        for path in (".env", "plain.txt"):
            error = await call.refused("snippets_get", path=path)
            assert "secrets" in error["message"]
        shown = await call("snippets_get", path="src/deploy.py")
        assert shown["text"].startswith("TOKEN = ")
        assert token not in json.dumps(shown)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "path"),
        ({"path": "../outside.py"}, "path"),
        ({"path": "/etc/passwd"}, "path"),
        ({"path": "no/such.py"}, "path"),
        ({"path": "src"}, "path"),
        ({"path": "image.bin"}, "path"),
        ({"path": SERVICE, "start_line": 10**9}, "start_line"),
        ({"path": SERVICE, "start_line": 5, "end_line": 4}, "end_line"),
        ({"path": SERVICE, "symbol": "login", "start_line": 1}, "symbol"),
        ({"path": SERVICE, "symbol": "gone"}, "symbol"),
        ({"symbol": "nowhere_defined"}, "symbol"),
        ({"path": SERVICE, "token_budget": 10**9}, "token_budget"),
    ],
)
async def test_a_wrong_question_about_lines_names_its_field(
    shop: Path, arguments: dict[str, Any], field: str
) -> None:
    (shop / "image.bin").write_bytes(b"\0\1\2")
    async with gateway(shop) as call:
        error = await call.refused("snippets_get", **arguments)
        assert error["field"] == field
        assert error["hint"]


async def test_both_are_facts_that_belong_to_a_session_in_its_phase(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("start_session", intent="MODIFY", query="fix the login")
        await call("deps_closure", path=SERVICE)
        await call("snippets_get", symbol="AuthService.login")
        status = await call("get_session_status")
        assert {"deps_closure", "snippets_get"} <= set(status["allowed_tools"])
        await call("search_smart")
        for tool in ("find_definitions", "find_references"):
            await call(tool, symbol="AuthService.login")
        await call("submit_understanding", symbols_identified=["AuthService.login"])
        assert (await call("get_session_status"))["current_phase"] == "SEMANTIC"
        for tool, arguments in (
            ("deps_closure", {"path": SERVICE}),
            ("snippets_get", {"path": SERVICE}),
        ):
            assert (await call.refused(tool, **arguments))["error"] == "phase_blocked"


async def test_a_link_that_leads_out_is_not_followed(shop: Path) -> None:
    (shop.parent / "outside.py").write_text("import os\n", encoding="utf-8")
    (shop / "escape.py").symlink_to(shop.parent / "outside.py")
    (shop / "loop.py").symlink_to("loop.py")
    async with gateway(shop) as call:
        for tool in ("deps_closure", "snippets_get"):
            error = await call.refused(tool, path="escape.py")
            assert (error["error"], error["field"]) == ("path_outside_root", "path"), tool
            for path in ("loop.py", "n" * 300, "~", "-rf", "a\tb", "src/auth/service.py/"):
                answer = await call.client.call_tool(tool, {"path": path})
                assert answer.structured_content is not None
                assert answer.structured_content.get("error") in {None, "invalid_argument"}, path
