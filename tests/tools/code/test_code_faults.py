"""Tools that read code withstand strange names, options, expressions and swapped folders."""

import os
import signal
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


async def test_text_like_an_option_is_not_an_option(shop: Path) -> None:
    canary = shop / "canary"
    async with gateway(shop) as call:
        for option in ("--pre=touch", "-o", "-rf", "--files", "--", "-e", "-f/etc/passwd"):
            name = option.replace("/", "_")
            (shop / "src" / name).write_text(f"x {option} y\n", encoding="utf-8")
            found = await call("search_text", pattern=f"x {option} y")
            assert found["total_matches"] == 1, option
            await call("find_references", symbol=option)
            await call("find_definitions", symbol=option)
            assert (await call("search_files", pattern=name))["files"] == [f"src/{name}"]
            packed = await call("repo_pack", path=f"src/{name}")
            assert option in packed["content"]
            for tool, field, arguments in (
                ("search_text", "file_type", {"pattern": "x"}),
                ("search_files", "file_type", {"pattern": "x"}),
                ("find_references", "language", {"symbol": "x"}),
                ("find_definitions", "language", {"symbol": "x"}),
                ("get_symbols", "language", {"path": "src"}),
                ("analyze_structure", "language", {"file_path": SERVICE}),
            ):
                error = await call.refused(tool, **arguments, **{field: option})
                assert error["field"] == field, (tool, option)
        await call("search_text", pattern=f"--pre=touch {canary}")
        assert not canary.exists()


async def test_expressions_and_other_encodings_are_bounded(shop: Path) -> None:
    (shop / "src" / "long.txt").write_text("a" * 50_000 + "\n", encoding="utf-8")
    (shop / "src" / "latin.txt").write_bytes(b"caf\xe9 needle\n\xff\xfe\n")
    (shop / "src" / "japanese.txt").write_bytes("日本語のneedle\n".encode("shift_jis"))
    async with gateway(shop) as call:
        for bomb in ("(a+)+$", "(.*)*x", "(a|aa)+$", "(.*.*.*.*)*y"):
            assert "matches" in await call("search_text", pattern=bomb, path="src/long.txt")
        latin = await call("search_text", pattern="needle", path="src/latin.txt")
        assert [row["lines"] for row in latin["matches"]] == [["1: café needle"]]
        japanese = await call("search_text", pattern="needle", path="src/japanese.txt")
        assert [row["lines"] for row in japanese["matches"]] == [["1: 日本語のneedle"]]


@both_eras
async def test_unusual_names_are_exact_in_data_and_escaped_in_text(shop: Path, era: str) -> None:
    names = [
        "a\nb.py",
        "tab\tx.py",
        'q"u.py',
        "-dash.py",
        "絵文字🦀.py",
        "bi\u202edi.py",
        "[id].py",
    ]
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
        assert found["total_matches"] == 8
        assert {row["file"] for row in found["matches"]} >= {f"odd/{name}" for name in names}
        (folder / "big.bin").write_bytes(b"\0" * 2_000_000)
        listed = await call("search_files", pattern="**", path="odd")
        assert {*(f"odd/{name}" for name in (*names, "big.bin"))} < set(listed["files"])
        assert listed["total_files"] == 9
        assert (await call("search_files", pattern="[id].py", path="odd"))["total_files"] == 1
        assert (await call("search_files", pattern="caf*", path="odd"))["total_files"] == 1
        assert (await call("repo_pack", path="odd", include=["*.py"]))["total_files"] == 8


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
    "deps_closure": {"path": "src/swap/a.py"},
    "query": {"question": "marked", "path": "src/swap"},
}
ROUNDS = 10


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


async def test_link_swapped_in_during_a_read_shows_nothing_from_outside(shop: Path) -> None:
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
