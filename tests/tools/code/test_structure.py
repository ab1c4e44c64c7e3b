"""Tools that outline files, find them by name and find the function around a line."""

from pathlib import Path
from typing import Any

import pytest

from projects import both_eras
from served import gateway

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"
JAPANESE = '''"""ログインの処理"""
import os
from auth.service import AuthService

__all__ = ["認証する", "Kind"]


def 認証する(名前: str, *, 期限: int = 3) -> bool:
    """利用者を確かめる。"""
    内側 = lambda x: x

    def check(value):
        return 内側(value)

    return check(名前)


class Kind:
    値 = "日本語の文字列" * 3

    async def after(self, first, second=None):
        return first
'''


async def test_new_symbols_are_listed_at_once(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("get_symbols", path="src/auth")
        (shop / SERVICE).write_text("def changed_now():\n    pass\n", encoding="utf-8")
        (shop / "src" / "auth" / "fresh.py").write_text("def just_made():\n    pass\n", "utf-8")
        found = await call("get_symbols", path="./src/auth/")
        names = [row["name"] for row in found["symbols"]]
        assert {"changed_now", "just_made"} <= set(names)
        assert "AuthService.login" not in names


@both_eras
async def test_japanese_file_is_outlined(shop: Path, era: str) -> None:
    (shop / "src" / "日本語.py").write_text(JAPANESE, encoding="utf-8")
    async with gateway(shop, era) as call:
        found = await call("analyze_structure", file_path="src/日本語.py")
        assert (found["language"], found["file_path"]) == ("python", "src/日本語.py")
        functions = {row["name"]: row for row in found["functions"]}
        assert [*functions] == ["認証する", "認証する.check", "Kind.after"]
        assert functions["認証する"]["parameters"] == ["名前: str", "*", "期限: int = 3"]
        assert functions["認証する"]["start_line"] == 8
        assert functions["Kind.after"]["type"] == "method"
        assert functions["Kind.after"]["parameters"] == ["self", "first", "second=None"]
        assert [row["name"] for row in found["classes"]] == ["Kind"]
        assert found["imports"] == ["os", "auth.service.AuthService"]
        assert found["exports"] == ["認証する", "Kind"]
        assert [row["name"] for row in found["other"]] == ["__all__"]
        assert found["summary"] == {
            "total_functions": 3,
            "total_classes": 1,
            "total_imports": 2,
            "total_exports": 2,
            "total_other": 1,
            "total_lines": 22,
        }


async def test_unsupported_file_gets_a_warning(shop: Path) -> None:
    (shop / "notes.xyz").write_text("def f(): pass\n", encoding="utf-8")
    (shop / "Makefile").write_text("all:\n\techo\n", encoding="utf-8")
    (shop / "deep.py").write_text("[\n" * 5_000 + "]\n" * 5_000, encoding="utf-8")
    (shop / "nested.py").write_text(
        "".join(" " * n + f"def f{n}():\n" for n in range(400)) + " " * 400 + "pass\n",
        "utf-8",
    )
    async with gateway(shop) as call:
        for name in ("notes.xyz", "Makefile"):
            found = await call("analyze_structure", file_path=name)
            assert found["summary"]["total_functions"] == 0
            assert "python" in found["warnings"][0]
        deep = await call("analyze_structure", file_path="deep.py")
        assert deep["functions"] == []
        nested = await call("analyze_structure", file_path="nested.py")
        assert nested["functions"][0]["name"] == "f0"


@both_eras
async def test_innermost_function_around_a_line_is_named(shop: Path, era: str) -> None:
    (shop / "src" / "日本語.py").write_text(JAPANESE, encoding="utf-8")
    async with gateway(shop, era) as call:
        lines = {8: "認証する", 13: "check", 15: "認証する", 22: "Kind.after"}
        for line, name in lines.items():
            found = await call("get_function_at_line", file_path="src/日本語.py", line_number=line)
            assert found["name"].endswith(name)
            assert found["start_line"] <= line <= found["end_line"]
        found = await call("get_function_at_line", file_path="src/日本語.py", line_number=22)
        assert found["type"] == "method"
        assert found["parameters"] == ["self", "first", "second=None"]
        none = await call.refused("get_function_at_line", file_path="src/日本語.py", line_number=19)
        assert none["error"] == "not_found"
        assert [row["name"] for row in none["nearest"]] == ["認証する", "Kind.after"]
        assert "nearest" in none["hint"]
        beyond = await call.refused("get_function_at_line", file_path=SERVICE, line_number=10**6)
        assert beyond["field"] == "line_number"
        prose = await call.refused("get_function_at_line", file_path="README.md", line_number=1)
        assert "snippets_get" in prose["hint"]


@both_eras
async def test_files_are_found_by_name_in_order(shop: Path, era: str) -> None:
    (shop / ".gitignore").write_text("*.log\nbuild/\n", encoding="utf-8")
    (shop / "x.log").write_text("x", encoding="utf-8")
    (shop / ".env").write_text("TOKEN=1", encoding="utf-8")
    (shop / "build").mkdir()
    (shop / "build" / "made.py").write_text("x", encoding="utf-8")
    async with gateway(shop, era) as call:
        every = await call("search_files", pattern="*.py")
        assert every["files"] == sorted(every["files"])
        assert SERVICE in every["files"]
        assert "build/made.py" not in every["files"]
        assert every["total_files"] == len(every["files"])
        for pattern, path, expected in (
            ("src/auth/*.py", ".", ["src/auth/passwords.py", SERVICE, "src/auth/tokens.py"]),
            ("*.py", "src/auth", ["src/auth/passwords.py", SERVICE, "src/auth/tokens.py"]),
            ("src/*.py", ".", []),
            ("**/{service,tokens}.py", ".", [SERVICE, "src/auth/tokens.py"]),
            ("auth/", "src", ["src/auth/passwords.py", SERVICE, "src/auth/tokens.py"]),
            ("service.py", SERVICE, [SERVICE]),
            ("*.log", ".", []),
            (".env", ".", []),
            ("!*.py", ".", []),
            ("[", ".", []),
        ):
            found = await call("search_files", pattern=pattern, path=path)
            assert found["files"] == expected, (pattern, path)
            assert expected or found["message"]
        go = await call("search_files", pattern="**", file_type="go")
        assert go["files"] == ["src/inventory/stock.go"]


async def test_exponential_glob_is_bounded(shop: Path) -> None:
    deep = shop / "/".join(["a"] * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("x", encoding="utf-8")
    async with gateway(shop) as call:
        bombs = ("**/" * 90 + "*", "**/a/" * 50 + "z", "*a" * 140 + "z", "[" * 300)
        for bomb in (*bombs, "{a,b}" * 6 + "z"):
            assert "files" in await call("search_files", pattern=bomb)


LOOKS: tuple[tuple[str, dict[str, Any], list[str]], ...] = (
    ("search_files", {"pattern": "service*.py"}, [SERVICE]),
    ("get_symbols", {"path": "src/auth"}, [SERVICE]),
    ("analyze_structure", {"code": "class AuthService: pass", "language": "python"}, [SERVICE]),
    ("analyze_impact", {"target_files": ["src/auth/tokens.py"]}, [SERVICE]),
    ("get_symbols", {"path": SERVICE}, []),
    ("analyze_structure", {"file_path": SERVICE}, []),
    ("get_function_at_line", {"file_path": SERVICE, "line_number": 30}, []),
    ("repo_pack", {"path": "src/auth"}, []),
)
"""(tool, arguments, the files that the session has not looked at yet)."""


@pytest.mark.counts("only its refusals name files that were not seen")
async def test_file_counts_as_seen_when_its_content_was_shown(shop: Path) -> None:
    understood = {"symbols_identified": ["AuthService"], "files_analyzed": [SERVICE]}
    async with gateway(shop) as call:
        for tool, arguments, unseen in LOOKS:
            await call("start_session", intent="MODIFY", query="fix the login")
            await call(tool, **arguments)
            refused = await call.refused("submit_understanding", **understood)
            assert refused["unseen_files"] == unseen, (tool, arguments)


async def test_code_from_the_caller_is_no_evidence(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("start_session", intent="INVESTIGATE", query="what does the login do")
        await call("analyze_structure", code="def invented(): pass", language="python")
        status = await call("get_session_status")
        assert "invented" not in str(status)
