"""Every tool that takes a path refuses paths that lead out of the project or nowhere."""

from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.table import GATEWAY_TOOLS
from path_tools import PATH_TOOLS, arguments_for
from served import gateway

pytestmark = pytest.mark.anyio

CANARY = "kanariya"
OUTSIDE = (
    "../", "../../etc/passwd", "/etc", "/etc/passwd", "src/../../outside", "src/../../outside/x",
    "escape", "escape/x", "escape.py",
)  # fmt: skip
FOREIGN = ("file:///etc/passwd", "//etc/passwd", "\\\\server\\share", "~root/.ssh", "C:\\Windows")
"""Other ways to name a path outside. Here they are absolute, or names of nothing."""
NOWHERE = (
    "no/such", "no/such.py", "n" * 300, "d/" * 3000, "loop", "loop/x", "~", "~nobody/x",
    "~/.bashrc", "-rf", "--pre=x", "a\tb",
)  # fmt: skip
FINDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "search_text": ("matches", {"pattern": "login"}),
    "find_references": ("references", {"symbol": "login"}),
    "find_definitions": ("definitions", {"symbol": "login"}),
}
"""Tool -> the field with its rows, and its arguments."""
FIELDS = {
    "path", "file_path", "directory", "file_pattern", "repo_path", "files_analyzed", "files",
    "related_files", "target_files", "candidates", "include", "exclude", "artifacts",
}  # fmt: skip
FILTERS = {"search_forest": "directory", "files_search": "directory"}
"""Tools whose paths choose among what is indexed, and open nothing."""
CLAIMS = {"start_session", "submit_understanding", "add_explored_files", "check_write_target",
          "add_agreement", "context_bundle", "semantic_rerank"}  # fmt: skip
"""Tools with other parameters for files; each has tests of its own."""


@pytest.fixture
def trapped(shop: Path) -> Path:
    """Add links that lead out of the shop, and links that lead nowhere."""
    outside = shop.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text(f"def login(): {CANARY}\n", encoding="utf-8")
    (shop / "escape").symlink_to(outside)
    (shop / "escape.py").symlink_to(outside / "x")
    (shop / "loop").symlink_to("loop")
    return shop


def test_every_tool_with_a_path_is_tested() -> None:
    with_path = {tool.name for tool in GATEWAY_TOOLS if tool.schema["properties"].keys() & FIELDS}
    assert with_path == {*PATH_TOOLS, *FILTERS, *CLAIMS}


@pytest.mark.covers("rule.argument.project_paths")
async def test_no_tool_reads_outside_the_project(trapped: Path) -> None:
    async with gateway(trapped) as call:
        for path in (*OUTSIDE, *FOREIGN):
            for tool, (field, _) in PATH_TOOLS.items():
                error = await call.refused(tool, **arguments_for(tool, path))
                codes = {"path_outside_root"}
                codes |= {"invalid_argument", "not_found"} if path in FOREIGN else set()
                assert error["error"] in codes, (tool, path)
                assert error["field"] == field, (tool, path)
                assert error["hint"], (tool, path)
                assert CANARY not in str(error), (tool, path)
            for tool, field in FILTERS.items():
                found = await call(tool, query="login", **{field: path})
                assert CANARY not in str(found), (tool, path)
        for tool in ("search_files", "repo_pack", "get_symbols"):
            answer = str(await call(tool, **arguments_for(tool, ".")))
            assert CANARY not in answer, tool
            assert "escape" not in answer, tool


async def test_path_that_leads_nowhere_is_named(trapped: Path) -> None:
    async with gateway(trapped) as call:
        for path in NOWHERE:
            for tool, (field, _) in PATH_TOOLS.items():
                error = await call.refused(tool, **arguments_for(tool, path))
                assert error["error"] in {"invalid_argument", "not_found"}, (tool, path)
                assert error["field"].startswith(field), (tool, path)


async def test_finders_search_only_below_the_path(shop: Path) -> None:
    async with gateway(shop) as call:
        for path in (".", "", "./", "src", "src/", "./src/auth", "src/auth/service.py"):
            below = path.strip("/").removeprefix("./").removeprefix(".")
            for tool, (rows, arguments) in FINDERS.items():
                answer = await call(tool, path=path, **arguments)
                assert all(row["file"].startswith(below) for row in answer[rows]), (tool, path)
            found = await call("find_definitions", symbol="AuthService.login", path=path)
            assert found["total"] == 1, path


def new_symbol(file: str, beside: str) -> dict[str, str]:
    return {"name": "sign_up", "file": file, "beside": beside}


async def test_session_neither_explores_nor_writes_outside(trapped: Path) -> None:
    async with gateway(trapped) as call:
        for path in (*OUTSIDE, *NOWHERE):
            await call("start_session", intent="MODIFY", query="fix the login of the shop")
            claim = {"symbol": "login", "explanation": "it logs in", "quote": "def login():"}
            for submission in (
                {"symbols_identified": [claim | {"file": path}]},
                {"symbols_identified": [claim], "new_symbols": [new_symbol(path, "src")]},
                {"symbols_identified": [claim], "new_symbols": [new_symbol("src/x.py", path)]},
            ):
                submitted = await call.refused("submit_understanding", **submission)
                assert submitted["error"] in {"requirements_missing", "invalid_argument"}, path
                assert CANARY not in str(submitted), path
            target = await call("check_write_target", file_path=path)
            assert target["allowed"] is False, path
            assert target["hint"], path
            status = await call("get_session_status")
            assert path not in status["exploration"]["explored_files"]


async def test_session_belongs_to_the_project_of_its_server(trapped: Path) -> None:
    async with gateway(trapped) as call:
        for path in (*OUTSIDE, *NOWHERE, "src/auth/service.py"):
            error = await call.refused("start_session", intent="MODIFY", query="x", repo_path=path)
            assert (error["error"], error["field"]) == ("invalid_argument", "repo_path"), path
        same = await call("start_session", intent="MODIFY", query="x", repo_path=str(trapped))
        assert same["current_phase"] == "EXPLORATION"


async def test_agreement_names_no_file_outside_the_project(trapped: Path) -> None:
    claim = {"nl_term": "x", "symbol": "AuthService", "code_evidence": "e"}
    async with gateway(trapped) as call:
        for path in OUTSIDE:
            error = await call.refused("add_agreement", **claim, related_files=[path])
            assert error["field"] == "related_files", path
        assert (await call("list_agreements"))["total"] == 0
