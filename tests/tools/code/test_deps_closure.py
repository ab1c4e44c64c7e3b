"""deps_closure and snippets_get return facts about the current code."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.wire.answers import MAX_ROW_TOKENS, tokens
from programs import git
from projects import code_of
from served import gateway

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"


def paths(answer: dict[str, Any]) -> list[str]:
    return [node["path"] for node in answer["nodes"]]


async def test_new_import_is_followed_at_once_and_cycles_are_reported(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("deps_closure", path=SERVICE)
        file = shop / "src" / "auth" / "tokens.py"
        file.write_text(f"from auth.service import AuthService\n{file.read_text('utf-8')}", "utf-8")
        found = await call("deps_closure", path=SERVICE)
        assert found["cycles"] == [[SERVICE, "src/auth/tokens.py"]]
        (shop / "src" / "auth" / "fresh.py").write_text("import auth.service\n", encoding="utf-8")
        fresh = await call("deps_closure", path="src/auth/fresh.py", max_depth=1)
        assert paths(fresh) == [SERVICE]


async def test_language_without_import_support_gets_a_warning(shop: Path) -> None:
    (shop / "App.cs").write_text("using Shop.Cart;\nclass App {}\n", encoding="utf-8")
    git(shop, "add", "-A")
    async with gateway(shop) as call:
        found = await call("deps_closure", path="App.cs")
        assert found["nodes"] == []
        assert found["packages"] == ["Shop.Cart"]
        assert "csharp" in found["warnings"][0]
        assert "warnings" not in await call("deps_closure", path=SERVICE)


async def test_long_file_is_read_in_pieces(shop: Path) -> None:
    code = "".join(f"def f{n}():\n    return '{'長い ' * 9}'\n\n\n" for n in range(300))
    (shop / "src" / "long.py").write_text(code, encoding="utf-8")
    async with gateway(shop) as call:
        pieces, line = [], 0
        while True:
            piece = await call(
                "snippets_get", path="src/long.py", start_line=line, token_budget=MAX_ROW_TOKENS
            )
            assert tokens(json.dumps(piece, ensure_ascii=False)) <= MAX_ROW_TOKENS * 1.25
            pieces.append(code_of(piece))
            assert piece["truncated"] == ("next_line" in piece)
            if not piece["truncated"]:
                break
            line = piece["next_line"]
        assert len(pieces) > 1
        assert "".join(pieces) == code


async def test_file_changed_since_indexing_gets_a_warning(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("snippets_get", path=SERVICE)
        file = shop / SERVICE
        file.write_text("# new\n" + file.read_text("utf-8"), encoding="utf-8")
        stale = await call("snippets_get", path=SERVICE, start_line=1, end_line=1)
        assert code_of(stale).startswith("# new\n")
        assert "changed" in stale["warnings"][0]
        assert "warnings" not in await call("snippets_get", path=SERVICE)
        (shop / "ignored.log").write_text("one\ntwo\n", encoding="utf-8")
        (shop / ".gitignore").write_text("*.log\n", encoding="utf-8")
        unknown = await call("snippets_get", path="ignored.log")
        assert code_of(unknown) == "one\ntwo\n"
        assert "not in the index" in unknown["warnings"][0]


async def test_secrets_are_masked_and_secret_files_refused(shop: Path) -> None:
    token = "ghp_" + "1234567890abcdefghijklmnopqrstuvwxyz"[:36]
    (shop / ".env").write_text(f"TOKEN={token}\n", encoding="utf-8")
    (shop / "plain.txt").symlink_to(".env")
    (shop / "src" / "deploy.py").write_text(f'TOKEN = "{token}"\n', encoding="utf-8")
    async with gateway(shop) as call:
        for path in (".env", "plain.txt"):
            error = await call.refused("snippets_get", path=path)
            assert "secrets" in error["message"]
        shown = await call("snippets_get", path="src/deploy.py")
        assert code_of(shown).startswith("TOKEN = ")
        assert token not in json.dumps(shown)
