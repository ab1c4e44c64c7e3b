"""Where a symbol is used: its very name, in any file, its definitions left out."""

from pathlib import Path

import pytest

from served import gateway

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"language": "py"},
        {"path": "src"},
        {"path": "./src/auth/"},
        {"path": "src/../src/auth/service.py"},
    ],
)
async def test_a_definition_is_no_use_of_itself_however_the_search_is_narrowed(
    shop: Path, arguments: dict[str, str]
) -> None:
    async with gateway(shop) as call:
        (defined,) = (await call("find_definitions", symbol="AuthService.login"))["definitions"]
        place = (defined["file"], defined["line"])
        (shop / "src" / "auth" / "caller.py").write_text("service.login(a, b)\n", encoding="utf-8")
        uses = (await call("find_references", symbol="AuthService.login", **arguments))[
            "references"
        ]
        assert place not in [(row["file"], row["line"]) for row in uses]
        if not arguments.get("path", "").endswith(".py"):
            assert "src/auth/caller.py" in [row["file"] for row in uses]


@pytest.mark.parametrize("symbol", ["log*n", "log[i]n", "login|total", "(login", "log+in", "\\w+"])
async def test_a_name_is_no_regular_expression(shop: Path, symbol: str) -> None:
    async with gateway(shop) as call:
        found = await call("find_references", symbol=symbol)
        assert found["references"] == []
        assert found["total"] == 0


async def test_a_name_within_another_is_no_use_of_it(shop: Path) -> None:
    (shop / "src" / "names.py").write_text(
        "loginable = relogin = log_in\nlogin()\n", encoding="utf-8"
    )
    async with gateway(shop) as call:
        found = await call("find_references", symbol="login", path="src/names.py")
        assert [row["line"] for row in found["references"]] == [2]


async def test_a_line_that_is_no_utf_8_costs_no_other_its_place(shop: Path) -> None:
    (shop / "src" / "latin.py").write_bytes(b"caf\xe9 = login()\nlogin('ok')\n")
    (shop / "src" / "sjis.py").write_bytes("# ログイン\nlogin()\n".encode("cp932"))
    async with gateway(shop) as call:
        found = await call("find_references", symbol="login")
        files = {row["file"] for row in found["references"]}
        assert {"src/latin.py", "src/sjis.py"} <= files
        assert len(files) > 2
        text = await call("search_text", pattern="login\\('ok'\\)")
        assert [(row["file"], row["line_number"]) for row in text["matches"]] == [
            ("src/latin.py", 2)
        ]


@pytest.mark.covers("field.find_definitions.language", "field.find_references.language")
@pytest.mark.parametrize(
    ("language", "files"),
    [
        ("python", {"src/twin.py"}),
        ("Go", {"src/twin.go"}),
        ("ts", {"web/src/twin.ts"}),
        (".rs", {"src/twin.rs"}),
        ("", {"src/twin.py", "src/twin.go", "web/src/twin.ts", "src/twin.rs"}),
    ],
)
async def test_a_language_narrows_definitions_and_uses_alike(
    shop: Path, language: str, files: set[str]
) -> None:
    (shop / "src" / "twin.py").write_text("def twin_of():\n    twin_of()\n", "utf-8")
    (shop / "src" / "twin.go").write_text("package a\nfunc twin_of() {\n twin_of()\n}\n", "utf-8")
    (shop / "web/src/twin.ts").write_text("function twin_of() {\n  twin_of()\n}\n", "utf-8")
    (shop / "src" / "twin.rs").write_text("fn twin_of() {\n  twin_of()\n}\n", "utf-8")
    async with gateway(shop) as call:
        every = await call("find_definitions", symbol="twin_of")
        assert every["total"] == 4
        defined = await call("find_definitions", symbol="twin_of", language=language)
        assert {row["file"] for row in defined["definitions"]} == files
        used = await call("find_references", symbol="twin_of", language=language)
        assert {row["file"] for row in used["references"]} == files
