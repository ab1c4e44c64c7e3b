"""The tools of the index servers: names, paths, and changes of files."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from projects import both_eras
from served import AGREEMENTS, gateway, index_server, unbegun

pytestmark = pytest.mark.anyio

GUIDE = "# Guide\n\nHow the ferry sails.\n"
AGREED = """---
# how we call it
doc_type: agreement
nl_term: 送料計算
symbol: shipping_fee
custom: kept  # by us
learned_at: 2025-01-12T14:35:00
---

# 送料計算 → shipping_fee

## 根拠 (Code Evidence)

- `shipping_fee` returns the fee
"""


def written(root: Path, name: str, text: str = GUIDE) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def patterns(root: Path, *texts: str) -> None:
    file = root / "devrag-forest.json"
    raw = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(raw | {"document_patterns": list(texts)}), encoding="utf-8")


async def names(call: Any) -> list[str]:
    return [row["filename"] for row in (await call("list_documents"))["documents"]]


@both_eras
@pytest.mark.parametrize("corpus", ["map", "forest"])
async def test_both_index_servers_offer_the_tools_of_devrag(
    shop: Path, corpus: str, era: str
) -> None:
    async with index_server(shop, corpus, era) as call:
        tools = {tool.name: tool for tool in (await call.client.list_tools()).tools}
    assert list(tools) == [
        "search", "list_documents", "index_markdown", "index_code", "reindex_document",
        "delete_document", "add_frontmatter", "update_frontmatter", "sync",
    ]  # fmt: skip
    hints = {name: tool.annotations for name, tool in tools.items() if tool.annotations}
    assert [name for name, hint in hints.items() if hint.destructive_hint] == ["delete_document"]
    reading = ["search", "list_documents"]
    assert [name for name, hint in hints.items() if hint.read_only_hint] == reading


async def test_file_outside_the_patterns_is_indexed_by_name_and_stays(shop: Path) -> None:
    patterns(shop, "src/**/*.md")
    written(shop, "src/guide.md")
    async with index_server(shop, "forest") as call:
        await call("sync")
        assert await names(call) == ["src/guide.md"]
        done = await call("index_code", filepath="src/cart/shipping.py")
        assert (done["success"], done["file"]) == (True, "src/cart/shipping.py")
        assert done["message"]
        assert (await call("sync"))["deleted"] == 0
    async with index_server(shop, "forest") as call:
        assert (await call("sync"))["deleted"] == 0
        assert await names(call) == ["src/cart/shipping.py", "src/guide.md"]
        found = await call("search", query="shipping_fee")
        assert found["results"][0]["document"] == "src/cart/shipping.py"


async def test_exactly_one_way_to_name_files_is_accepted(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        for tool in ("index_code", "delete_document", "reindex_document"):
            error = await call.refused(tool)
            assert error["error"] == "missing_argument"
            assert "is required" in error["message"]
        error = await call.refused("index_code", filepath="a.py", directory="src")
        assert (error["error"], error["field"]) == ("invalid_argument", "filepath")
        assert "query is required" in (await call.refused("search"))["message"]


async def test_deleted_document_stays_out_until_indexed_by_name(shop: Path) -> None:
    name = "src/cart/shipping.py"
    async with index_server(shop, "forest") as call:
        done = await call("delete_document", filename=name)
        assert (done["success"], done["filename"], done["file_deleted"]) == (True, name, False)
        assert (shop / name).is_file()
        (shop / name).write_text("def shipping_fee():\n    return 2\n", encoding="utf-8")
        assert (await call("sync"))["added"] == 0
    async with index_server(shop, "forest") as call:
        await call("sync")
        assert name not in await names(call)
        assert (await call("reindex_document", filepath=name))["success"]
        assert (await call("sync"))["deleted"] == 0
        assert name in await names(call)
        await call("delete_document", filepath=str(shop / name))
        await call("index_markdown", filepath=name)
        assert name in await names(call)


async def test_removed_file_is_indexed_again_when_it_returns(shop: Path) -> None:
    path = written(shop, "docs/guide.md")
    async with index_server(shop, "forest") as call:
        await call("sync")
        done = await call("delete_document", filename="docs/guide.md", remove_file=True)
        assert done["file_deleted"]
        assert not path.exists()
        written(shop, "docs/guide.md")
        await call("sync")
        assert "docs/guide.md" in await names(call)


async def test_removed_agreement_goes_to_the_trash(shop: Path) -> None:
    path = written(shop, str(AGREEMENTS / "fee.md"), AGREED)
    name = path.relative_to(shop).as_posix()
    async with index_server(shop, "map") as call:
        await call("sync")
        await call("delete_document", filename=name, remove_file=True)
        assert not path.exists()
        kept = list((shop / ".code-intel" / "trash").iterdir())
        assert [file.read_text(encoding="utf-8") for file in kept] == [AGREED]


OUTSIDE = (
    "../outside.md", "src/../../outside.md", "/etc/passwd", "escape/x.md", "link.md",
    "docs/../../o",
)  # fmt: skip


@pytest.mark.parametrize("corpus", ["forest", "map"])
async def test_no_tool_reaches_a_file_outside_the_folders(shop: Path, corpus: str) -> None:
    outside = written(shop.parent, "outside.md")
    written(shop.parent, "elsewhere/x.md")
    (shop / "escape").symlink_to(shop.parent / "elsewhere")
    (shop / "link.md").symlink_to(outside)
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("index_markdown", "filepath", {}),
        ("index_code", "filepath", {}),
        ("index_code", "directory", {}),
        ("reindex_document", "filename", {}),
        ("delete_document", "filename", {"remove_file": True}),
        ("add_frontmatter", "filepath", {"domain": "backend"}),
        ("update_frontmatter", "filepath", {"domain": "backend"}),
    )
    async with index_server(shop, corpus) as call:
        for path in OUTSIDE:
            message = f"path not within any configured document directory: {path}"
            for tool, field, others in calls:
                error = await call.refused(tool, **others, **{field: path})
                assert error["error"] == "path_outside_root", (tool, path)
                assert error["message"] == message, (tool, path)
    assert outside.read_text(encoding="utf-8") == GUIDE


async def test_names_with_dots_inside_the_folders_are_accepted(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        for name in ("docs/.hidden.md", "docs/a..b.md", "docs/..c.md", "docs/日本 語.md"):
            written(shop, name)
            await call("index_markdown", filepath=name)
            assert name in await names(call)
            await call("delete_document", filename=name, remove_file=True)
            assert not (shop / name).exists()


async def test_only_documents_are_removed(shop: Path) -> None:
    secret = written(shop, ".env", "TOKEN=x\n")
    inside = written(shop, "docs/real.md")
    (shop / "docs" / "alias.md").symlink_to(inside)
    async with index_server(shop, "forest") as call:
        await call("sync")
        for name in (".env", "docs", ".git/config", "devrag-forest.json/x"):
            await call.refused("delete_document", filename=name, remove_file=True)
        error = await call.refused("delete_document", filename="docs/alias.md", remove_file=True)
        assert "is a link" in error["message"]
    assert secret.exists()
    assert inside.exists()


async def test_missing_document_is_not_found(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        for tool, field in (("index_markdown", "filepath"), ("reindex_document", "filename"),
                            ("delete_document", "filename")):  # fmt: skip
            error = await call.refused(tool, **{field: "docs/none.md"})
            assert error["error"] == "not_found", tool
        (shop / "src/cart/shipping.py").unlink()
        await call.refused("reindex_document", filename="src/cart/shipping.py")
        assert "src/cart/shipping.py" in await names(call)


async def test_map_refuses_source_files(shop: Path) -> None:
    written(shop, str(AGREEMENTS / "x.py"), "def x(): pass\n")
    async with index_server(shop, "map") as call:
        error = await call.refused("index_code", filepath=str(AGREEMENTS / "x.py"))
        assert "covers no such files" in error["message"]


async def test_updated_front_matter_keeps_the_agreement(shop: Path) -> None:
    path = written(shop, str(AGREEMENTS / "fee.md"), AGREED)
    async with index_server(shop, "map") as call:
        done = await call(
            "update_frontmatter", filepath=str(AGREEMENTS / "fee.md"), domain="backend"
        )
        assert done["indexed"]
        expected = AGREED.replace("14:35:00\n", "14:35:00\ndomain: backend\n")
        assert path.read_text(encoding="utf-8") == expected
        hit = (await call("search", query="送料計算"))["results"][0]
        assert hit["agreement"]["symbol"] == "shipping_fee"


UNSAFE: tuple[tuple[str, bytes | None, str], ...] = (
    ("docs/a.md", b"\xff\xfe\x00", "UTF-8"),
    ("docs/a.py", b"x = 1\n", "not Markdown"),
    ("docs/b.md", b"---\na: &x 1\nb: *x\n---\n", "anchors"),
    ("docs/c.md", b"---\n{domain: web, a: 1}\n---\n", "braces"),
    ("docs/d.md", None, "does not exist"),
)
"""(file, content, reason in the message)."""


async def test_file_that_cannot_be_changed_safely_is_unchanged(shop: Path) -> None:
    (shop / "docs").mkdir(exist_ok=True)
    async with index_server(shop, "forest") as call:
        for name, data, reason in UNSAFE:
            if data is not None:
                (shop / name).write_bytes(data)
            error = await call.refused("update_frontmatter", filepath=name, domain="backend")
            assert reason in error["message"]
            wrong = await call.refused("update_frontmatter", filepath=name, domain="sea")
            assert wrong["field"] == "domain"
            assert data is None or (shop / name).read_bytes() == data


@pytest.mark.parametrize("corpus", ["map", "forest"])
async def test_concurrent_updates_of_front_matter_all_count(shop: Path, corpus: str) -> None:
    name = str(AGREEMENTS / "fee.md") if corpus == "map" else "docs/fee.md"
    given = [{"domain": "backend"}, {"project": "shop"}, {"tags": "a, b"}, {"language": "python"}]
    for _ in range(3):
        path = written(shop, name, AGREED)
        async with index_server(shop, corpus) as call, anyio.create_task_group() as group:
            for fields in given:
                arguments = {"filepath": name, **fields}
                group.start_soon(call.client.call_tool, "update_frontmatter", arguments)
        text = path.read_text(encoding="utf-8")
        expected = "domain: backend", "project: shop", "tags: [a, b]", "language: python"
        assert [line for line in expected if line not in text] == []


async def test_null_and_empty_arguments_count_as_omitted(shop: Path) -> None:
    path = written(shop, "docs/a.md")
    async with index_server(shop, "forest") as call:
        await call("sync")
        found = await call("search", query="ferry sails", top_k=None, directory=None)
        assert found["count"]
        fields = {"domain": "", "docType": None, "language": "", "tags": ["a", "b c"]}
        await call("update_frontmatter", filepath="docs/a.md", project="", **fields)
        missing = await call.refused("search", query=None)
        assert missing["field"] == "query"
    assert path.read_text(encoding="utf-8") == f"---\ntags: [a, b c]\n---\n\n{GUIDE}"


async def test_index_is_stale_before_the_first_scan(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbegun(monkeypatch)
    written(shop, "docs/a.md")
    async with index_server(shop, "forest") as call:
        assert (await call("list_documents"))["index"]["state"] == "stale"
        await call("sync")
        assert (await call("list_documents"))["index"]["state"] == "fresh"


async def test_filters_are_literal_on_both_servers(shop: Path) -> None:
    for name in ("docs/api_a.md", "docs/apixa.md", "do%s/api_b.md", "docs/API_c.md"):
        written(shop, name)
        agreed = AGREED.replace("送料計算", f"ferry sails {name}")
        written(shop, str(AGREEMENTS / name), agreed)
    for corpus, below in (("forest", ""), ("map", f"{AGREEMENTS.as_posix()}/")):
        async with index_server(shop, corpus) as call:
            await call("sync")

            async def found(call: Any = call, below: str = below, **only: str) -> list[str]:
                rows = (await call("search", query="ferry sails", top_k=50, **only))["results"]
                return sorted(row["document"].removeprefix(below) for row in rows)

            everything = ["do%s/api_b.md", "docs/API_c.md", "docs/api_a.md", "docs/apixa.md"]
            assert await found(file_pattern="*.md") == everything, corpus
            assert await found(file_pattern="api_*.md") == ["do%s/api_b.md", "docs/api_a.md"]
            assert await found(directory=f"{below}do%s") == ["do%s/api_b.md"]
            assert len(await found(directory=f"./{below}docs/")) == 3
            assert await found(directory=f"{below}doc_") == []


async def test_modification_times_are_utc(shop: Path) -> None:
    path = written(shop, "docs/guide.md")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    async with index_server(shop, "forest") as call:
        await call("sync")
        rows = {row["filename"]: row for row in (await call("list_documents"))["documents"]}
        assert rows["docs/guide.md"]["modified_at"] == "2023-11-14T22:13:20Z"


async def test_deleted_agreement_is_found_after_it_is_learned_again(shop: Path) -> None:
    async with gateway(shop) as call:
        agreed = {"nl_term": "送料", "symbol": "shipping_fee", "code_evidence": "returns the fee"}
        file = (await call("add_agreement", **agreed))["agreement_file"]
        async with index_server(shop, "map") as other:
            await other("delete_document", filename=str(AGREEMENTS / Path(file).name))
            assert await names(other) == []
        await call("add_agreement", **agreed | {"code_evidence": "and rounds it"})
        async with index_server(shop, "map") as other:
            assert len(await names(other)) == 1
