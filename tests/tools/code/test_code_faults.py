"""Faults for tools that read code.

The faults are names, options, links, pipes, and folders swapped while they read.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from projects import both_eras
from served import gateway

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"
PATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "search_files": ("path", {"pattern": "*"}),
    "get_symbols": ("path", {}),
    "analyze_structure": ("file_path", {}),
    "get_function_at_line": ("file_path", {"line_number": 1}),
    "repo_pack": ("path", {}),
    "analyze_impact": ("target_files", {}),
    "deps_closure": ("path", {}),
    "snippets_get": ("path", {}),
}
"""Tools that take a path: what the parameter is called, and what else they need."""
OUTSIDE = (
    "../", "../../etc/passwd", "/etc/passwd", "src/../../outside/x.py", "escape/x.py", "escape",
    "escape.py",
)  # fmt: skip
NOWHERE = (
    "no/such.py", "~/.bashrc", "~root", "-rf", "--pre=x", "file:///etc/passwd", "\\\\host\\share",
    "n" * 300, "loop", "loop/x", "a\tb",
)  # fmt: skip


def arguments(tool: str, path: str) -> dict[str, Any]:
    field, others = PATHS[tool]
    return {field: [path] if field == "target_files" else path, **others}


@pytest.fixture
def trapped(shop: Path) -> Path:
    """The shop with links that lead out and links that lead nowhere."""
    outside = shop.parent / "outside"
    outside.mkdir()
    (outside / "x.py").write_text("def login(): SECRET\n", encoding="utf-8")
    (shop / "escape").symlink_to(outside)
    (shop / "escape.py").symlink_to(outside / "x.py")
    (shop / "loop").symlink_to("loop")
    return shop


@pytest.mark.covers("error.path_outside_root")
async def test_no_path_leads_out_of_the_project(trapped: Path) -> None:
    async with gateway(trapped) as call:
        for tool, (field, _) in PATHS.items():
            for path in OUTSIDE:
                error = await call.refused(tool, **arguments(tool, path))
                assert (error["error"], error["field"]) == ("path_outside_root", field), (
                    tool,
                    path,
                )
                assert error["hint"]
                assert "SECRET" not in str(error)
            for path in NOWHERE:
                error = await call.refused(tool, **arguments(tool, path))
                assert error["error"] in {"invalid_argument", "not_found"}, (tool, path)
                assert error["field"] == field
        for tool, more in {
            "search_files": {"pattern": "**"},
            "repo_pack": {},
            "get_symbols": {},
        }.items():
            answer = await call(tool, path=".", **more)
            assert "SECRET" not in str(answer)
            assert "escape" not in str(answer)


@pytest.mark.parametrize(
    "option", ["--pre=touch", "-o", "-rf", "--files", "--", "-e", "-f/etc/passwd"]
)
async def test_what_looks_like_an_option_is_text(shop: Path, option: str) -> None:
    canary = shop / "canary"
    (shop / "src" / option.replace("/", "_")).write_text(f"x {option} y\n", encoding="utf-8")
    async with gateway(shop) as call:
        found = await call("search_text", pattern=f"x {option} y")
        assert found["total_matches"] == 1
        await call("search_text", pattern=f"--pre=touch {canary}")
        await call("find_references", symbol=option)
        await call("find_definitions", symbol=option)
        listed = await call("search_files", pattern=option.replace("/", "_"))
        assert listed["files"] == [f"src/{option.replace('/', '_')}"]
        packed = await call("repo_pack", path=f"src/{option.replace('/', '_')}")
        assert option in packed["content"]
        for tool, field in (("search_text", "file_type"), ("find_references", "language")):
            needed = {"pattern": "x"} if tool == "search_text" else {"symbol": "x"}
            error = await call.refused(tool, **needed, **{field: option})
            assert error["field"] == field
            assert field in error["message"]
        for tool, field, value in (
            ("find_definitions", "symbol", "x"),
            ("get_symbols", "path", "src"),
            ("analyze_structure", "file_path", SERVICE),
        ):
            error = await call.refused(tool, **{field: value, "language": option})
            assert error["field"] == "language"
        assert not canary.exists()


async def test_expressions_and_odd_texts_are_bounded(shop: Path) -> None:
    (shop / "src" / "long.txt").write_text("a" * 50_000 + "\n", encoding="utf-8")
    (shop / "src" / "latin.txt").write_bytes(b"caf\xe9 needle\n\xff\xfe\n")
    (shop / "src" / "japanese.txt").write_bytes("日本語のneedle\n".encode("shift_jis"))
    async with gateway(shop) as call:
        for bomb in ("(a+)+$", "(.*)*x", "(a|aa)+$", "(.*.*.*.*)*y"):
            answer = await call("search_text", pattern=bomb, path="src/long.txt")
            assert "matches" in answer
        for broken, field in (
            ("(", "pattern"),
            ("", "pattern"),
            ("x" * 10_000, "pattern"),
            ("a\nb", "pattern"),
        ):
            assert (await call.refused("search_text", pattern=broken))["field"] == field
        odd = await call("search_text", pattern="needle", path="src/latin.txt")
        assert [row["line_content"] for row in odd["matches"]] == ["caf\ufffd needle"]
        assert odd["matches"][0]["submatches"] == [{"match": "needle", "start": 5, "end": 11}]
        assert (await call("find_references", symbol="needle", path="src/latin.txt"))["total"] == 1
        assert (await call("search_text", pattern="needle", path="src/japanese.txt"))[
            "total_matches"
        ] == 1
        assert (await call.refused("find_references", symbol="a\nb"))["field"] == "symbol"


async def test_a_text_that_looks_like_json_is_text(shop: Path) -> None:
    (shop / "src" / "j.txt").write_text('x = ["a"]\ny = {"k": 12}\n', encoding="utf-8")
    async with gateway(shop) as call:
        assert (await call("search_text", pattern=r'\["a"\]'))["total_matches"] == 1
        assert (await call("search_text", pattern="12"))["pattern"] == "12"
        assert (await call("search_files", pattern='["a"].txt'))["pattern"] == '["a"].txt'
        outlined = await call("analyze_structure", code='["a"]', language="json")
        assert outlined["summary"]["total_lines"] == 1
        as_text = await call(
            "search_text",
            pattern="x = ",
            max_results="1",
            case_sensitive="false",
            context_lines="1",
        )
        assert as_text["matches"][0]["after"] == ['y = {"k": 12}']
        line = await call("get_function_at_line", file_path=SERVICE, line_number="30")
        assert line["name"]


async def test_what_is_no_file_is_neither_read_nor_waited_for(shop: Path) -> None:
    os.mkfifo(shop / "src" / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(shop / "src")  # the name of a socket may have a hundred characters
        listening.bind("socket.py")
        os.chdir(here)
        deep = shop / "src" / "/".join(["d"] * 300)
        deep.mkdir(parents=True)
        (shop / "src" / "around").symlink_to(shop / "src")
        async with gateway(shop) as call:
            for name in ("src/pipe.py", "src/socket.py"):
                for tool, (field, _) in PATHS.items():
                    error = await call.client.call_tool(tool, arguments(tool, name))
                    assert error.is_error, tool
                    assert (error.structured_content or {})["field"] == field
                assert (await call.refused("search_text", pattern="x", path=name))[
                    "field"
                ] == "path"
            listed = await call("search_files", pattern="{pipe,socket}.py")
            assert listed["files"] == []
            packed = await call("repo_pack", path="src", include=["*.py"])
            assert "pipe.py" not in packed["content"]
            assert (await call("search_files", pattern="around/**"))["files"] == []
            await call("get_symbols", path="src")
            await call("search_text", pattern="class")


@both_eras
async def test_a_name_is_answered_as_it_is_and_shown_escaped(shop: Path, era: str) -> None:
    names = ["a\nb.py", "tab\tx.py", 'q"u.py', "-dash.py", "絵文字🦀.py", "bi\u202edi.py"]
    folder = shop / "odd"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("def needle_here():\n    return 1\n", encoding="utf-8")
    (folder / os.fsdecode(b"caf\xe9.py")).write_text("needle_here = 1\n", "utf-8")
    async with gateway(shop, era) as call:
        for name in names:
            path = f"odd/{name}"
            assert (await call("get_symbols", path=path))["symbols"][0]["file"] == path
            assert (await call("analyze_structure", file_path=path))["file_path"] == path
            at = await call("get_function_at_line", file_path=path, line_number=2)
            assert at["file_path"] == path
            packed = await call("repo_pack", path=path)
            assert packed["files"][0]["file"] == path
            shown = await call.client.call_tool("analyze_structure", {"file_path": path})
            text = "".join(part.text for part in shown.content if part.type == "text")
            assert name not in text or name.isprintable()
        found = await call("search_text", pattern="needle_here", path="odd")
        assert found["total_matches"] == 7
        assert {row["file"] for row in found["matches"]} >= {f"odd/{name}" for name in names}
        listed = await call("search_files", pattern="caf*", path="odd")
        assert listed["total_files"] == 1
        assert "caf" in listed["files"][0]
        assert (await call("repo_pack", path="odd"))["total_files"] == 7


SWAP = """
import os, sys
folder, link = sys.argv[1:]
away = folder + ".away"
for _ in range(10_000_000):
    os.rename(folder, away); os.rename(link, folder)
    os.rename(folder, link); os.rename(away, folder)
"""
SWAPPED: dict[str, dict[str, Any]] = {
    "search_text": {"pattern": "marked"},
    "find_references": {"symbol": "marked", "path": "src/swap"},
    "find_definitions": {"symbol": "marked_outside"},
    "search_files": {"pattern": "*_outside.py"},
    "get_symbols": {"path": "src/swap"},
    "analyze_structure": {"file_path": "src/swap/a.py"},
    "get_function_at_line": {"file_path": "src/swap/a.py", "line_number": 2},
    "repo_pack": {"path": "src/swap"},
    "snippets_get": {"path": "src/swap/a.py"},
    "analyze_impact": {"target_files": ["src/swap/a.py"]},
}
ROUNDS = 20


@contextmanager
def swapping(folder: Path, link: Path) -> Iterator[None]:
    """Let another process replace the folder with the link and restore it, repeatedly."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", SWAP, str(folder), str(link)], stdin=subprocess.DEVNULL
    )
    try:
        yield
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def test_a_link_swapped_in_while_a_tool_reads_shows_nothing_from_outside(shop: Path) -> None:
    folder, outside = shop / "src" / "swap", shop.parent / "outside"
    for place in (folder, outside):
        place.mkdir()
        inside = "inside" if place == folder else "SECRET"
        (place / "a.py").write_text(
            f"def marked_{inside.lower()}():\n    return '{inside} marked'\n", encoding="utf-8"
        )
    (outside / "only_outside.py").write_text("def marked_outside():\n    pass\n", encoding="utf-8")
    (shop.parent / "link").symlink_to(outside)
    answered = 0
    async with gateway(shop) as call:
        with swapping(folder, shop.parent / "link"):
            for _ in range(ROUNDS):
                for tool, given in SWAPPED.items():
                    result = await call.client.call_tool(tool, given)
                    told = str(result.structured_content) + str(result.content)
                    told = (
                        told.replace("marked_outside", "") if tool == "find_definitions" else told
                    )
                    assert "SECRET" not in told, tool
                    assert "secret" not in told, tool
                    assert "_outside.py" not in told.replace("*_outside.py", ""), tool
                    assert (result.structured_content or {}).get("error") != "unexpected", tool
                    answered += not result.is_error
    assert answered > ROUNDS
