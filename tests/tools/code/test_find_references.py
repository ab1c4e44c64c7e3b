"""find_references finds whole names in any file, without definitions."""

from pathlib import Path

import pytest

from projects import places_of
from served import gateway

pytestmark = pytest.mark.anyio


async def test_definition_is_no_reference_wherever_the_search_begins(shop: Path) -> None:
    (shop / "src" / "auth" / "caller.py").write_text("service.login(a, b)\n", encoding="utf-8")
    async with gateway(shop) as call:
        (defined,) = (await call("find_definitions", symbol="AuthService.login"))["definitions"]
        for arguments in (
            {},
            {"language": "py"},
            {"path": "src"},
            {"path": "./src/auth/"},
            {"path": "src/../src/auth/service.py"},
        ):
            found = await call("find_references", symbol="AuthService.login", **arguments)
            places = places_of(found["references"])
            assert (defined["file"], defined["line"]) not in places, arguments
            if not arguments.get("path", "").endswith(".py"):
                assert "src/auth/caller.py" in [file for file, _ in places], arguments


async def test_name_is_not_a_regular_expression(shop: Path) -> None:
    async with gateway(shop) as call:
        for symbol in ("log*n", "log[i]n", "login|total", "(login", "log+in", "\\w+"):
            found = await call("find_references", symbol=symbol)
            assert (found["references"], found["total"]) == ([], 0), symbol


async def test_longer_name_is_not_a_reference(shop: Path) -> None:
    (shop / "src" / "names.py").write_text(
        "loginable = relogin = log_in\nlogin()\n", encoding="utf-8"
    )
    async with gateway(shop) as call:
        found = await call("find_references", symbol="login", path="src/names.py")
        assert places_of(found["references"]) == [("src/names.py", 2)]


async def test_line_in_another_encoding_does_not_hide_other_lines(shop: Path) -> None:
    (shop / "src" / "latin.py").write_bytes(b"caf\xe9 = login()\nlogin('ok')\n")
    (shop / "src" / "sjis.py").write_bytes("# ログイン\nlogin()\n".encode("cp932"))
    async with gateway(shop) as call:
        found = await call("find_references", symbol="login")
        files = {row["file"] for row in found["references"]}
        assert {"src/latin.py", "src/sjis.py"} <= files
        assert len(files) > 2
        text = await call("search_text", pattern="login\\('ok'\\)")
        assert places_of(text["matches"]) == [("src/latin.py", 2)]


async def test_language_narrows_definitions_and_references_alike(shop: Path) -> None:
    (shop / "src" / "twin.py").write_text("def twin_of():\n    twin_of()\n", "utf-8")
    (shop / "src" / "twin.go").write_text("package a\nfunc twin_of() {\n twin_of()\n}\n", "utf-8")
    (shop / "web/src/twin.ts").write_text("function twin_of() {\n  twin_of()\n}\n", "utf-8")
    (shop / "src" / "twin.rs").write_text("fn twin_of() {\n  twin_of()\n}\n", "utf-8")
    expected = {
        "python": {"src/twin.py"},
        "Go": {"src/twin.go"},
        "ts": {"web/src/twin.ts"},
        ".rs": {"src/twin.rs"},
        "": {"src/twin.py", "src/twin.go", "web/src/twin.ts", "src/twin.rs"},
    }
    async with gateway(shop) as call:
        for language, files in expected.items():
            for tool, rows in (
                ("find_definitions", "definitions"),
                ("find_references", "references"),
            ):
                found = await call(tool, symbol="twin_of", language=language)
                assert {row["file"] for row in found[rows]} == files, (tool, language)


async def test_inherited_method_is_found_by_the_name_of_the_class(shop: Path) -> None:
    (shop / "src" / "base.py").write_text(
        "class Base:\n    def run(self): ...\n\n\nclass Derived(Base): ...\n\n\n"
        "class Other:\n    def run(self): ...\n",
        "utf-8",
    )
    (shop / "src" / "use.py").write_text(
        "from base import Derived, Other\n\nDerived().run()\nOther().run()\n", "utf-8"
    )
    async with gateway(shop) as call:
        await call("find_definitions", symbol="Derived")
        found = await call("find_references", symbol="Derived.run", path="src/use.py")
        assert [(row["certainty"], row["lines"]) for row in found["references"]] == [
            ("resolved", ["3: Derived().run()"]),
            ("text", ["4: Other().run()"]),
        ]


async def test_unknown_class_finds_every_method_of_the_name(shop: Path) -> None:
    (shop / "src" / "base.py").write_text(
        "class Base:\n    def run(self): ...\n\n\nBase().run()\n", "utf-8"
    )
    async with gateway(shop) as call:
        await call("find_definitions", symbol="Base")
        found = await call("find_references", symbol="Unknown.run")
        assert [row["certainty"] for row in found["references"]] == ["resolved"]


async def test_constructor_is_used_by_the_name_of_its_class(shop: Path) -> None:
    (shop / "src" / "use.py").write_text(
        "from auth.service import AuthService\n\nAuthService(None, None)\n", "utf-8"
    )
    async with gateway(shop) as call:
        (row,) = (await call("find_references", symbol="AuthService.__init__"))["references"]
        assert row["certainty"] == "resolved"
        assert row["lines"][1:] == ["3: AuthService(None, None)"]
