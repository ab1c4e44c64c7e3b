"""The structure of files as clients see it: names, outlines, the function around a line."""

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


@pytest.mark.covers(
    "tool.get_symbols",
    "field.get_symbols.path",
    "field.get_symbols.kind",
    "field.get_symbols.language",
    "answer.get_symbols.path",
    "answer.get_symbols.symbols",
    "answer.get_symbols.total",
)
@both_eras
async def test_the_symbols_of_a_file_and_of_a_folder(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        file = await call("get_symbols", path=SERVICE)
        login = next(row for row in file["symbols"] if row["name"] == "AuthService.login")
        assert login.pop("line") > 1
        assert login == {
            "name": "AuthService.login",
            "file": SERVICE,
            "kind": "method",
            "scope": "AuthService",
            "language": "python",
        }
        assert file["total"] == len(file["symbols"])
        assert (file["truncated"], file["next_cursor"]) == (False, None)
        folder = await call("get_symbols", path="src/auth", kind="class", language="py")
        names = {(row["file"], row["kind"], row["language"]) for row in folder["symbols"]}
        assert (SERVICE, "class", "python") in names
        assert {kind for _, kind, _ in names} == {"class"}
        nothing = await call("get_symbols", path="src/auth", language="go")
        assert (nothing["symbols"], nothing["total"]) == ([], 0)
        assert "python" in nothing["message"]


async def test_symbols_just_written_are_listed_at_once(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("get_symbols", path="src/auth")
        (shop / SERVICE).write_text("def changed_now():\n    pass\n", encoding="utf-8")
        (shop / "src" / "auth" / "fresh.py").write_text("def just_made():\n    pass\n", "utf-8")
        found = await call("get_symbols", path="./src/auth/")
        names = [row["name"] for row in found["symbols"]]
        assert {"changed_now", "just_made"} <= set(names)
        assert "AuthService.login" not in names


@pytest.mark.covers(
    "field.get_symbols.cursor", "answer.get_symbols.next_cursor", "answer.get_symbols.truncated"
)
async def test_every_symbol_is_on_exactly_one_page(shop: Path) -> None:
    many = "".join(f"def function_number_{n}():\n    pass\n\n\n" for n in range(300))
    (shop / "src" / "many.py").write_text(many, encoding="utf-8")
    async with gateway(shop) as call:
        seen: list[str] = []
        cursor = ""
        pages = 0
        while pages == 0 or cursor:
            page = await call("get_symbols", path="src/many.py", cursor=cursor)
            assert page["total"] == 300
            assert page["truncated"] == (page["next_cursor"] is not None)
            seen += [row["name"] for row in page["symbols"]]
            cursor, pages = page["next_cursor"] or "", pages + 1
        assert seen == [f"function_number_{n}" for n in range(300)]
        assert pages > 2
        first = (await call("get_symbols", path="src/many.py"))["next_cursor"]
        error = await call.refused("get_symbols", path=SERVICE, cursor=first)
        assert error["field"] == "cursor"


@pytest.mark.covers(
    "tool.analyze_structure",
    "field.analyze_structure.file_path",
    "answer.analyze_structure.functions",
    "answer.analyze_structure.classes",
    "answer.analyze_structure.imports",
    "answer.analyze_structure.exports",
    "answer.analyze_structure.other",
    "answer.analyze_structure.summary",
    "answer.analyze_structure.language",
    "answer.analyze_structure.file_path",
)
@both_eras
async def test_a_file_in_japanese_is_outlined_by_its_right_names(shop: Path, era: str) -> None:
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


@pytest.mark.covers("field.analyze_structure.code", "field.analyze_structure.language")
async def test_code_is_outlined_as_a_file_is(shop: Path) -> None:
    code = "export const 送る = (a, ...b) => a;\nexport { 送る as send };\nimport x from './y';\n"
    async with gateway(shop) as call:
        found = await call("analyze_structure", code=code, language="ts")
        assert (found["language"], found["file_path"]) == ("typescript", None)
        assert found["functions"][0]["parameters"] == ["a", "...b"]
        assert found["exports"] == ["送る", "send"]
        assert found["imports"] == ["./y"]
        other = await call("analyze_structure", file_path="README.md", language="python")
        assert other["language"] == "python"
        shell = await call("analyze_structure", code="#!/bin/bash\nf() { :; }\n")
        assert shell["functions"][0]["name"] == "f"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "file_path"),
        ({"file_path": SERVICE, "code": "x = 1", "language": "python"}, "file_path"),
        ({"file_path": "  ", "code": "\n"}, "file_path"),
        ({"code": "def f(): pass"}, "language"),
        ({"code": "def f(): pass", "language": "klingon"}, "language"),
        ({"file_path": "src"}, "file_path"),
        ({"file_path": "no/such.py"}, "file_path"),
    ],
)
async def test_a_wrong_question_about_structure_names_its_field(
    shop: Path, arguments: dict[str, Any], field: str
) -> None:
    async with gateway(shop) as call:
        error = await call.refused("analyze_structure", **arguments)
        assert error["field"] == field
        assert error["hint"]


async def test_what_cannot_be_outlined_says_so(shop: Path) -> None:
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


@pytest.mark.covers(
    "tool.get_function_at_line", "field.get_function_at_line.file_path",
    "field.get_function_at_line.line_number", "answer.get_function_at_line.name",
    "answer.get_function_at_line.type", "answer.get_function_at_line.start_line",
    "answer.get_function_at_line.end_line", "answer.get_function_at_line.parameters",
)  # fmt: skip
@both_eras
async def test_the_innermost_function_around_a_line(shop: Path, era: str) -> None:
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


@pytest.mark.covers(
    "tool.search_files", "field.search_files.pattern", "field.search_files.path",
    "field.search_files.file_type", "answer.search_files.pattern", "answer.search_files.path",
    "answer.search_files.files", "answer.search_files.total_files",
)  # fmt: skip
@both_eras
async def test_files_are_found_by_their_names_in_order(shop: Path, era: str) -> None:
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


async def test_names_of_any_kind_are_listed_and_shown_as_text(shop: Path) -> None:
    folder = shop / "odd"
    folder.mkdir()
    for name in ("-rf", "--pre=x.py", "a\nb.py", 'q"u.py', "絵文字🦀.py", "[id].py"):
        (folder / name).write_text("needle = 1\n", encoding="utf-8")
    (shop / "odd" / "big.bin").write_bytes(b"\0" * 2_000_000)
    async with gateway(shop) as call:
        found = await call("search_files", pattern="**", path="odd")
        assert set(found["files"]) == {
            f"odd/{name}"
            for name in (
                "-rf",
                "--pre=x.py",
                "a\nb.py",
                'q"u.py',
                "絵文字🦀.py",
                "[id].py",
                "big.bin",
            )
        }
        assert (await call("search_files", pattern="[id].py", path="odd"))["total_files"] == 1
        answer = await call.client.call_tool("search_files", {"pattern": "a*", "path": "odd"})
        assert "a\\nb.py" in "".join(c.text for c in answer.content if c.type == "text")
        for option in ("--pre=x", "-o", "-rf", "--files", "-g!*"):
            await call("search_files", pattern=option)
            error = await call.refused("search_files", pattern="*", file_type=option)
            assert error["field"] == "file_type"


async def test_a_glob_made_to_explode_is_bounded(shop: Path) -> None:
    deep = shop / "/".join(["a"] * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("x", encoding="utf-8")
    async with gateway(shop) as call:
        for bomb in (
            "**/" * 90 + "*",
            "**/a/" * 50 + "z",
            "*a" * 140 + "z",
            "[" * 300,
            "{a,b}" * 6 + "z",
        ):
            await call("search_files", pattern=bomb)
        error = await call.refused("search_files", pattern="{a,b}" * 20)
        assert error["field"] == "pattern"


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
"""(tool, arguments, the files that the session has still to look at)."""


@pytest.mark.parametrize(("tool", "given", "unseen"), LOOKS)
async def test_a_file_counts_as_looked_at_when_what_is_in_it_was_shown(
    shop: Path, tool: str, given: dict[str, Any], unseen: list[str]
) -> None:
    async with gateway(shop) as call:
        await call("start_session", intent="MODIFY", query="fix the login")
        await call(tool, **given)
        refused = await call.refused(
            "submit_understanding", symbols_identified=["AuthService"], files_analyzed=[SERVICE]
        )
        assert refused["unseen_files"] == unseen


async def test_code_that_a_caller_wrote_is_evidence_of_nothing(shop: Path) -> None:
    async with gateway(shop) as call:
        await call("start_session", intent="INVESTIGATE", query="what does the login do")
        await call("analyze_structure", code="def invented(): pass", language="python")
        status = await call("get_session_status")
        assert "invented" not in str(status)
        for tool in ("search_files", "repo_pack", "get_symbols"):
            given = {"search_files": {"pattern": "*.py"}}.get(tool, {"path": "src"})
            assert tool in status["allowed_tools"] or await call(tool, **given)
