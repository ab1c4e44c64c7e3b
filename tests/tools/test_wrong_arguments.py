"""Tools refuse wrong arguments; the error names the field and the next step."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from served import gateway

pytestmark = pytest.mark.anyio

SERVICE = "src/auth/service.py"
PYTHON = {"code": "def f(): pass"}
WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    "context_bundle": [
        ({"goal": " \u200b"}, "goal"),
        ({"goal": "x", "limit": 21}, "limit"),
        ({"goal": "x", "token_budget": 9000}, "token_budget"),
        ({"goal": "x", "boost_profile": "tests"}, "boost_profile"),
        ({"goal": "x", "artifacts": {"hints": "no list"}}, "artifacts.hints"),
        ({"goal": "x", "artifacts": {"editing_path": "../a.py"}}, "artifacts.editing_path"),
    ],
    "files_search": [({"query": ""}, "query"), ({"query": "x", "top_k": 0}, "top_k")],
    "semantic_rerank": [
        ({"query": "x", "candidates": []}, "candidates"),
        ({"query": "x", "candidates": ["../a.py"]}, "candidates"),
        ({"query": "x", "candidates": ["  "]}, "candidates"),
        ({"query": "x", "candidates": [3]}, "candidates.0"),
        ({"query": "x", "candidates": [{"start_line": 3}]}, "candidates"),
    ],
    "query": [({"question": "another", "cursor": "12.00000000"}, "cursor")],
    "analyze_structure": [
        ({}, "file_path"),
        ({"file_path": SERVICE, "language": "python", **PYTHON}, "file_path"),
        ({"file_path": "  ", "code": "\n"}, "file_path"),
        (PYTHON, "language"),
        ({"language": "klingon", **PYTHON}, "language"),
        ({"file_path": "src"}, "file_path"),
        ({"file_path": "no/such.py"}, "file_path"),
    ],
    "analyze_impact": [
        ({}, "target_files"),
        ({"target_files": []}, "target_files"),
        ({"target_files": ["src"]}, "target_files"),
        ({"target_files": "[1"}, "target_files"),
        ({"target_files": [SERVICE], "cursor": "7.deadbeef"}, "cursor"),
    ],
    "deps_closure": [
        ({"path": "src"}, "path"),
        ({"path": ""}, "path"),
        ({"path": SERVICE, "max_depth": 10**9}, "max_depth"),
        ({"path": SERVICE, "direction": "up"}, "direction"),
    ],
    "snippets_get": [
        ({}, "path"),
        ({"path": "src"}, "path"),
        ({"path": "image.bin"}, "path"),
        ({"path": SERVICE, "start_line": 10**9}, "start_line"),
        ({"path": SERVICE, "start_line": 5, "end_line": 4}, "end_line"),
        ({"path": SERVICE, "symbol": "login", "start_line": 1}, "symbol"),
        ({"path": SERVICE, "symbol": "gone"}, "symbol"),
        ({"symbol": "nowhere_defined"}, "symbol"),
        ({"path": SERVICE, "token_budget": 10**9}, "token_budget"),
    ],
    "repo_pack": [
        ({"path": "src", "format": "pdf"}, "format"),
        ({"path": "src", "include": ["*.nosuch"]}, "include"),
        ({"path": "src", "include": ["{a,b}" * 20]}, "include"),
        ({"path": "src", "cursor": "1.00000000"}, "cursor"),
        ({"path": "src", "cursor": "x"}, "cursor"),
    ],
    "search_text": [({"pattern": text}, "pattern") for text in ("(", "", "x" * 10_000, "a\nb")],
    "search_files": [({"pattern": "{a,b}" * 20}, "pattern")],
    "find_references": [({"symbol": "a\nb"}, "symbol")],
}


@pytest.fixture(scope="module")
def project(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the shop once for all tools; no call changes it."""
    root = tmp_path_factory.mktemp("wrong") / "shop"
    shutil.copytree(indexed_shop, root, symlinks=True)
    (root / "image.bin").write_bytes(b"\0\1\2")
    return root


@pytest.mark.parametrize("tool", WRONG)
async def test_wrong_argument_is_refused_by_the_name_of_its_field(project: Path, tool: str) -> None:
    async with gateway(project) as call:
        for arguments, field in WRONG[tool]:
            error = await call.refused(tool, **arguments)
            assert error["field"] == field, arguments
            assert error["hint"], arguments
