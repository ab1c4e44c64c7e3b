"""repo_pack returns a whole folder in pages whose format no file can break."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.pack_formats import WRITERS, Piece
from programs import git
from projects import Caller, both_eras
from served import gateway

pytestmark = pytest.mark.anyio

HOSTILE = (
    "# title\n````\n```python\n</file>\n]]>\n==== src/auth/service.py ====\n<&>\x1b[31m\u202e\n"
)


async def pages(call: Caller, **arguments: Any) -> list[dict[str, Any]]:
    found = [await call("repo_pack", **arguments)]
    while found[-1]["next_cursor"]:
        found.append(await call("repo_pack", cursor=found[-1]["next_cursor"], **arguments))
    return found


def lines_of(text: str) -> list[str]:
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")


@both_eras
async def test_xml_pages_contain_every_file(shop: Path, era: str) -> None:
    long = "".join(f"line {n} of a long file\n" for n in range(3000))
    (shop / "src" / "long.txt").write_text(long, encoding="utf-8")
    (shop / "src" / "hostile.md").write_text(HOSTILE, encoding="utf-8")
    (shop / "src" / "empty.py").write_text("", encoding="utf-8")
    async with gateway(shop, era) as call:
        every = await pages(call, path="src", format="xml")
    rejoined: dict[str, list[str]] = {}
    for page in every:
        for file in ET.fromstring(page["content"]).iter("file"):  # noqa: S314 - our own
            text = (file.text or "")[1:-1]
            rejoined.setdefault(file.attrib["path"], []).append(text)
        assert page["truncated"] == (page["next_cursor"] is not None)
    assert len(every) > 3
    assert len(rejoined) == every[0]["total_files"]
    assert "\n".join(rejoined["src/long.txt"]) == long.rstrip("\n")
    assert rejoined["src/empty.py"] == [""]
    assert "</file>" in rejoined["src/hostile.md"][0]
    service = (shop / "src" / "auth" / "service.py").read_text("utf-8")
    assert "\n".join(rejoined["src/auth/service.py"]).strip() == service.strip()
    sizes = [file.stat().st_size for file in (shop / "src").rglob("*") if file.is_file()]
    assert every[0]["size_bytes"] == sum(sizes)
    assert "<contents>" in every[0]["content"]
    assert "<contents>" not in every[1]["content"]


@pytest.mark.parametrize("form", ["markdown", "plain"])
async def test_no_file_breaks_out_of_its_fence(shop: Path, form: str) -> None:
    (shop / "src" / "aa.md").write_text(HOSTILE, encoding="utf-8")
    async with gateway(shop) as call:
        page = await call("repo_pack", path="src", format=form, include=["aa.md"])
    content = page["content"]
    assert "\x1b" not in content
    assert "\u202e" not in content
    assert "\\u202e" in content
    if form == "markdown":
        fences = [line for line in content.split("\n") if line.startswith("`````")]
        assert fences == ["`````markdown", "`````"]
    else:
        ours = [line for line in content.split("\n") if line and not line.startswith("    ")]
        assert ours == ["==== src ====", "==== src/aa.md ===="]


@given(
    st.text(max_size=200),
    st.sampled_from(["markdown", "xml", "plain"]),
    st.text(min_size=1, max_size=20),
)
def test_no_text_breaks_the_format_of_a_page(text: str, form: Any, name: str) -> None:
    writer = WRITERS[form]
    page = writer.page(
        "x", [writer.piece(Piece(name, 1, 1, 1, text)), writer.piece(Piece("z", 0, 0, 0, ""))]
    )
    if form == "xml":
        assert len(ET.fromstring(page)) == 2  # noqa: S314 - our own
    elif form == "plain":
        ours = [line for line in page.split("\n") if line and not line.startswith("    ")]
        assert len(ours) == 2
    else:
        opened = ""
        heads = 0
        for line in page.split("\n"):
            fence = re.match(r"`{3,}", line)
            if opened:
                opened = "" if line.strip() == opened else opened
            elif fence:
                opened = fence[0]
            else:
                heads += line.startswith("## ")
        assert heads == 2
        assert not opened


async def test_packed_files_are_chosen_by_globs_without_secrets(shop: Path) -> None:
    (shop / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (shop / "src" / "x.log").write_text("ignored", encoding="utf-8")
    (shop / "src" / "id_rsa").write_text("SECRET", encoding="utf-8")
    (shop / "src" / "yarn.lock").write_text("generated", encoding="utf-8")
    (shop / "src" / "image.png").write_bytes(b"\x89PNG\0\0" * 10)
    (shop / "src" / "big.txt").write_text("x\n" * 600_000, encoding="utf-8")
    (shop / "src" / "conf.py").write_text("password = 'Tr0ub4dor&3zQ9'\n", encoding="utf-8")
    git(shop, "add", "-A")
    async with gateway(shop) as call:
        every = await pages(call, path="src")
        names = {row["file"] for page in every for row in page["files"]}
        content = "".join(page["content"] for page in every)
        assert names.isdisjoint(
            {"src/x.log", "src/id_rsa", "src/yarn.lock", "src/image.png", "src/big.txt"}
        )
        assert "SECRET" not in content
        assert "Tr0ub4dor" not in content
        skipped = {row["file"]: row["reason"] for page in every for row in page.get("skipped", [])}
        assert set(skipped) == {"src/image.png", "src/big.txt"}
        assert "1 generated" in str(every[0]["warnings"])
        chosen = await call(
            "repo_pack", path="src", include=["*.py", "*.go"], exclude=["auth/", "**/repository.py"]
        )
        packed = {row["file"] for row in chosen["files"]}
        assert "src/inventory/stock.go" in packed
        assert not any(name.startswith("src/auth") or "repository" in name for name in packed)
        as_text = await call("repo_pack", path="src", include='["*.go"]')
        assert [row["file"] for row in as_text["files"]] == ["src/inventory/stock.go"]
        one = await call("repo_pack", path="src/auth/service.py")
        assert [row["file"] for row in one["files"]] == ["src/auth/service.py"]


async def test_contents_of_many_files_list_folders(shop: Path) -> None:
    for number in range(120):
        (shop / "many" / f"d{number % 7}").mkdir(parents=True, exist_ok=True)
        (shop / "many" / f"d{number % 7}" / f"{number}.py").write_text("x = 1\n", encoding="utf-8")
    async with gateway(shop) as call:
        every = await pages(call, path="many")
        assert "- `many/d0/ (18 files)`" in every[0]["content"]
        seen = [row["file"] for page in every for row in page["files"]]
        assert len(seen) == len(set(seen)) == 120


async def test_contents_with_long_names_fit_and_appear_once(shop: Path) -> None:
    for number in range(75):
        name = f"{number:02}_{'長い名前' * 15}.py"
        (shop / "long").mkdir(exist_ok=True)
        (shop / "long" / name).write_text("x = 1\n" * 3, encoding="utf-8")
    for number in range(250):
        (shop / "long" / f"z{number:03}.bin").write_bytes(b"\0\1")
    async with gateway(shop) as call:
        every = await pages(call, path="long")
        assert sum("# `long`" in page["content"] for page in every) == 1
        seen = [row["file"] for page in every for row in page["files"]]
        assert len(seen) == len(set(seen)) == 75
        warnings = "".join(warning for page in every for warning in page.get("warnings", []))
        assert "cannot be shown" in warnings
        for page in every:
            assert tokens(json.dumps(page, ensure_ascii=False)) < 8000
