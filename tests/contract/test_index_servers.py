"""Check the fields of the tools of both index servers."""

from datetime import datetime
from pathlib import Path

import pytest

from planted import planted
from served import AGREEMENTS, gateway, index_server, unbegun

pytestmark = pytest.mark.anyio

WORDS_ONLY = ["embedding: No embedding model: embedding is switched off in the settings."]
GUIDE = "# Guide\n\nHow the ferry sails.\n"
SHIPPING = "src/cart/shipping.py"


def written(root: Path, name: str, text: str = GUIDE) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.covers(
    "tool.search",
    "field.search: query top_k directory file_pattern",
    "answer.search: query count results truncated index",
    "row.hit: document chunk similarity position score symbol start_line end_line why",
)
async def test_a_search_answers_with_places_text_and_why(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        answer = await call("search", query="shipping fee", top_k=1)
        (hit,) = answer["results"]
        assert answer == answer | {
            "query": "shipping fee",
            "count": 1,
            "results": [hit],
            "truncated": False,
        }
        assert hit == hit | {
            "document": SHIPPING,
            "similarity": 0.0,
            "position": 0,
            "score": 1.0,
            "symbol": "ZONES",
            "start_line": 1,
            "end_line": 11,
            "why": ["words", "coverage", "names", "stem"],
        }
        assert hit["chunk"] == (shop / SHIPPING).read_text(encoding="utf-8")
        other = (await call("search", query="logout", top_k=1))["results"][0]
        assert (other["symbol"], other["position"]) == ("AuthService", 2)
        below = await call("search", query="cart", directory="web")
        assert {hit["document"].split("/")[0] for hit in below["results"]} == {"web"}
        named = await call("search", query="cart", file_pattern="*.tsx")
        assert {hit["document"] for hit in named["results"]} == {"web/src/CartView.tsx"}


@pytest.mark.covers(
    "row.hit.agreement",
    "row.agreement: nl_term symbol status files reasons learned_at evidence",
)
async def test_hit_of_the_map_has_its_agreement_and_status(shop: Path) -> None:
    async with gateway(shop) as call:
        added = {"nl_term": "送料", "symbol": "shipping_fee", "code_evidence": "it is the fee"}
        await call("add_agreement", **added)
    async with index_server(shop, "map") as call:
        await call("sync")
        (hit,) = (await call("search", query="送料"))["results"]
        assert hit["agreement"] == {
            "nl_term": "送料",
            "symbol": "shipping_fee",
            "status": "unconfirmed",
            "files": [f"{SHIPPING}:9"],
            "reasons": hit["agreement"]["reasons"],
            "learned_at": hit["agreement"]["learned_at"],
            "digest": hit["agreement"]["digest"],
            "evidence": ["it is the fee"],
        }
        assert hit["agreement"]["reasons"]
        assert datetime.fromisoformat(hit["agreement"]["learned_at"]).tzinfo
        assert not hit.keys() & {"symbol", "start_line", "end_line"}


@pytest.mark.covers(
    "tool.list_documents",
    "field.list_documents: limit after",
    "answer.list_documents: documents total truncated next_after index",
    "row.document: filename modified_at",
)
async def test_documents_are_listed_page_by_page_with_their_times(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        every = await call("list_documents")
        page = await call("list_documents", limit=5)
        rest = await call("list_documents", after=page["next_after"])
    assert (every["total"], every["truncated"], every["index"]["files"]) == (19, False, 19)
    assert (page["total"], page["truncated"]) == (19, True)
    assert page["next_after"] == page["documents"][-1]["filename"]
    assert page["documents"] + rest["documents"] == every["documents"]
    assert SHIPPING in {row["filename"] for row in every["documents"]}
    assert all(row["modified_at"].endswith("Z") for row in every["documents"])


@pytest.mark.covers(
    "tool.index_markdown",
    "field.index_markdown.filepath",
    "answer.index_markdown: success message file",
    "error.index_failed",
    "error.index_failed.field",
)
async def test_file_is_indexed_by_name_or_refused_with_a_reason(shop: Path) -> None:
    written(shop, "docs/ferry.md")
    (shop / "docs" / "ferry.bin").write_bytes(b"\x00\x01")
    async with index_server(shop, "forest") as call:
        assert await call("index_markdown", filepath="docs/ferry.md") == {
            "success": True,
            "message": "docs/ferry.md was indexed.",
            "file": "docs/ferry.md",
            "warnings": WORDS_ONLY,
        }
        assert (await call("search", query="ferry"))["results"][0]["document"] == "docs/ferry.md"
        error = await call.refused("index_markdown", filepath="docs/ferry.bin")
        assert (error["error"], error["field"]) == ("index_failed", "path")


@pytest.mark.covers(
    "tool.index_code",
    "field.index_code: filepath directory filepaths force",
    "answer.index_code: message success file directory failures files_indexed files_added",
    "answer.index_code: files_updated files_skipped files_failed success_count error_count",
    "answer.index_code: results",
    "row.indexed_file: file success error",
    "error.missing_argument.field",
)
async def test_source_is_indexed_by_file_by_list_or_by_folder_with_counts(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbegun(monkeypatch)
    written(shop, "lib/a.py", "def a():\n    return 1\n")
    written(shop, "lib/b.py", "def b():\n    return 2\n")
    async with index_server(shop, "forest") as call:
        assert await call("index_code", filepath="lib/a.py") == {
            "success": True,
            "message": "lib/a.py was indexed.",
            "file": "lib/a.py",
            "warnings": WORDS_ONLY,
        }
        listed = await call("index_code", filepaths="lib/a.py, lib/b.py, lib/gone.py")
        assert listed == {
            "message": "1 file added, 0 updated, 1 failed.",
            "files_indexed": 1,
            "files_added": 1,
            "files_updated": 0,
            "files_skipped": 1,
            "files_failed": 1,
            "success_count": 2,
            "error_count": 1,
            "results": [
                {"file": "lib/a.py", "success": True},
                {"file": "lib/b.py", "success": True},
                {"file": "lib/gone.py", "success": False, "error": listed["results"][2]["error"]},
            ],
        }
        assert "gone.py" in listed["results"][2]["error"]
        folder = {
            "message": "0 files added, 0 updated, 0 failed.",
            "files_indexed": 0,
            "files_added": 0,
            "files_updated": 0,
            "files_skipped": 2,
            "files_failed": 0,
            "directory": "lib",
            "failures": {},
        }
        assert await call("index_code", directory="lib") == folder
        again = await call("index_code", directory="lib", force=True)
        assert (again["files_updated"], again["files_skipped"]) == (2, 0)
        none = await call.refused("index_code")
        assert (none["error"], none["field"]) == ("missing_argument", "filepath")


@pytest.mark.covers(
    "tool.reindex_document",
    "field.reindex_document: filename filepath",
    "answer.reindex_document: success message filename",
    "error.not_found.field",
)
async def test_a_document_is_parsed_again_by_either_name(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        for name in ("filename", "filepath"):
            assert await call("reindex_document", **{name: SHIPPING}) == {
                "success": True,
                "message": f"{SHIPPING} was indexed again.",
                "filename": SHIPPING,
                "warnings": WORDS_ONLY,
            }
        missing = await call.refused("reindex_document", filename="gone.py")
        assert (missing["error"], missing["field"]) == ("not_found", "path")


@pytest.mark.covers(
    "tool.delete_document",
    "field.delete_document: filename filepath remove_file",
    "answer.delete_document: success message filename file_deleted",
)
async def test_delete_removes_the_document_and_on_request_the_file(
    shop: Path,
) -> None:
    async with index_server(shop, "forest") as call:
        assert await call("delete_document", filename=SHIPPING) == {
            "success": True,
            "message": f"{SHIPPING} was deleted from the index; the file was kept.",
            "filename": SHIPPING,
            "file_deleted": False,
        }
        assert (shop / SHIPPING).exists()
        missing = await call("delete_document", filepath="README.md", remove_file=True)
        assert (missing["filename"], missing["file_deleted"]) == ("README.md", True)
        assert not (shop / "README.md").exists()
        left = {row["filename"] for row in (await call("list_documents"))["documents"]}
        assert not left & {SHIPPING, "README.md"}


@pytest.mark.covers(
    "tool.add_frontmatter",
    "tool.update_frontmatter",
    "field.add_frontmatter: filepath domain docType language tags project",
    "field.update_frontmatter: filepath domain docType language tags project",
    "answer.add_frontmatter: success message file indexed",
    "answer.update_frontmatter: success message file indexed",
    "error.frontmatter_failed",
    "error.missing_argument",
)
async def test_front_matter_is_written_field_by_field_and_merged(shop: Path) -> None:
    path = written(shop, "docs/guide.md")
    async with index_server(shop, "forest") as call:
        fields = {
            "domain": "backend",
            "docType": "guide",
            "language": "go",
            "tags": "ferry, 航海",
            "project": "Shop",
        }
        assert await call("add_frontmatter", filepath="docs/guide.md", **fields) == {
            "success": True,
            "message": "The front matter of docs/guide.md was added.",
            "file": "docs/guide.md",
            "indexed": True,
        }
        assert path.read_text(encoding="utf-8").splitlines()[:7] == [
            "---",
            "domain: backend",
            "docType: guide",
            "language: go",
            "tags: [ferry, 航海]",
            "project: Shop",
            "---",
        ]
        twice = await call.refused("add_frontmatter", filepath="docs/guide.md", **fields)
        assert twice["error"] == "frontmatter_failed"
        changed = {
            "domain": "other",
            "docType": "note",
            "language": "rust",
            "tags": "航海",
            "project": "S",
        }
        assert await call("update_frontmatter", filepath="docs/guide.md", **changed) == {
            "success": True,
            "message": "The front matter of docs/guide.md was updated.",
            "file": "docs/guide.md",
            "indexed": True,
        }
        assert path.read_text(encoding="utf-8").splitlines()[1:6] == [
            "domain: other",
            "docType: note",
            "language: rust",
            "tags: [航海]",
            "project: S",
        ]
        nothing = await call.refused("update_frontmatter", filepath="docs/guide.md")
        assert nothing["error"] == "missing_argument"


@pytest.mark.covers("error.read_failed", "error.read_failed.field", "error.path_outside_root.field")
async def test_missing_or_outside_file_is_named_by_its_argument(shop: Path) -> None:
    async with index_server(shop, "forest") as call:
        missing = await call.refused("update_frontmatter", filepath="docs/no.md", domain="other")
        assert (missing["error"], missing["field"]) == ("read_failed", "path")
        outside = await call.refused("index_markdown", filepath="../x.md")
        assert (outside["error"], outside["field"]) == ("path_outside_root", "path")


@pytest.mark.covers(
    "tool.sync",
    "answer.sync: added updated deleted unchanged failed skipped masked failures warnings index",
)
async def test_a_sync_counts_what_it_did(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unbegun(monkeypatch)
    written(shop, "docs/ferry.md", f"{GUIDE}\n{planted()['AWS secret'].text}\n")
    (shop / "README.md").write_text("# Changed\n", encoding="utf-8")
    (shop / SHIPPING).unlink()
    async with index_server(shop, "forest") as call:
        answer = await call("sync")
        again = await call("sync")
    assert answer == {
        "added": 1,
        "updated": 1,
        "deleted": 1,
        "unchanged": 17,
        "failed": 0,
        "skipped": 0,
        "masked": 1,
        "failures": {},
        "warnings": [],
        "index": {**answer["index"], "state": "fresh", "files": 19},
    }
    assert again | {"skipped": 0, "warnings": [], "index": {}} == {
        **answer,
        "added": 0,
        "updated": 0,
        "deleted": 0,
        "unchanged": 19,
        "skipped": 0,
        "masked": 0,
        "warnings": [],
        "index": {},
    }


@pytest.mark.covers("tool.sync", "answer.any.warnings")
async def test_unknown_arguments_are_ignored_with_a_warning(shop: Path) -> None:
    async with index_server(shop, "map") as call:
        answer = await call("list_documents", zeta=1, alpha=2)
        assert answer["warnings"] == ["Ignored unknown arguments: alpha, zeta."]
    assert (shop / AGREEMENTS).exists()
