"""Every tool that takes a path, and every path that leads out of the project or nowhere."""

import threading
from pathlib import Path
from typing import Any

import pytest

from code_intel.tools.table import GATEWAY_TOOLS
from path_tools import READERS
from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

CANARY = "kanariya"
OUTSIDE = (
    "../",
    "../../etc/passwd",
    "/etc",
    "/etc/passwd",
    "src/../../outside",
    "escape",
    "escape/x",
)
FOREIGN = ("file:///etc/passwd", "//etc/passwd", "\\\\server\\share", "~root/.ssh", "C:\\Windows")
"""Other ways to name a path outside. Here they are absolute, or names of nothing."""
NOWHERE = (
    "no/such",
    "n" * 300,
    "d/" * 3000,
    "loop",
    "loop/x",
    "~",
    "~nobody/x",
    "-rf",
    "--pre=x",
    "a\tb",
)
FINDERS: dict[str, dict[str, Any]] = {
    "search_text": {"pattern": "login"},
    "find_references": {"symbol": "login"},
    "find_definitions": {"symbol": "login"},
}  # fmt: skip


FIELDS = {
    "path",
    "file_path",
    "directory",
    "file_pattern",
    "repo_path",
    "files_analyzed",
    "files",
    "related_files",
    "target_files",
    "candidates",
    "include",
    "exclude",
    "artifacts",
}
FILTERS = {"search_forest": "directory", "files_search": "directory"}
"""Tools whose paths choose among what is indexed, and open nothing."""
CLAIMS = {"start_session", "submit_understanding", "add_explored_files", "check_write_target",
          "add_agreement", "context_bundle", "semantic_rerank"}  # fmt: skip
"""Tools that are told of files, and are tried one by one elsewhere."""


def test_no_tool_that_takes_a_path_is_forgotten() -> None:
    taking = {tool.name for tool in GATEWAY_TOOLS if tool.schema["properties"].keys() & FIELDS}
    assert taking == {*READERS, *FILTERS, *CLAIMS}


def asked(tool: str, path: str) -> dict[str, Any]:
    """Return the arguments with which a tool is asked about a path."""
    field, others = READERS[tool]
    return {**others, field: [path] if field == "target_files" else path}


@pytest.mark.parametrize("path", [*OUTSIDE, *FOREIGN])
async def test_no_tool_reads_what_is_outside_however_it_is_named(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        for tool, (field, _) in READERS.items():
            error = await call.refused(tool, **asked(tool, path))
            assert error["error"] in {"path_outside_root", "invalid_argument"}, tool
            assert error["error"] == "path_outside_root" or path in FOREIGN, tool
            assert error["field"] == field, tool
            assert CANARY not in str(error), tool
        for tool, field in FILTERS.items():
            found = await call(tool, query="login", **{field: path})
            assert CANARY not in str(found), tool


async def test_a_link_swapped_in_while_tools_look_leads_nowhere(trapped: Path) -> None:
    folder, aside = trapped / "src" / "swap", trapped / "src" / "aside"
    folder.mkdir()
    (folder / "x").write_text("def login(): ours\n", encoding="utf-8")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(aside)
            folder.symlink_to(trapped.parent / "outside")
            stop.wait(0.002)
            folder.unlink()
            aside.rename(folder)
            stop.wait(0.002)

    thread = threading.Thread(target=swap)
    async with gateway(trapped) as call:
        await call("search_text", pattern="login")
        thread.start()
        try:
            for tool in [*READERS] * 10:
                path = "src/swap" if READERS[tool][0] == "path" else "src/swap/x"
                answer = await call.client.call_tool(tool, asked(tool, path))
                assert CANARY not in str(answer.structured_content), tool
        finally:
            stop.set()
            thread.join()


@pytest.fixture
def trapped(shop: Path) -> Path:
    """The shop with links that lead out and links that lead nowhere."""
    outside = shop.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text(f"def login(): {CANARY}\n", encoding="utf-8")
    (shop / "escape").symlink_to(outside)
    (shop / "loop").symlink_to("loop")
    return shop


@pytest.mark.covers("rule.argument.project_paths")
@pytest.mark.parametrize("path", OUTSIDE)
async def test_finders_refuse_a_path_outside_the_project(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        for tool, arguments in FINDERS.items():
            error = await call.refused(tool, path=path, **arguments)
            assert (error["error"], error["field"]) == ("path_outside_root", "path"), tool
            assert CANARY not in str(error)


@pytest.mark.parametrize("path", NOWHERE)
async def test_finders_name_a_path_that_leads_nowhere(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        for tool, arguments in FINDERS.items():
            error = await call.refused(tool, path=path, **arguments)
            assert (error["error"], error["field"]) == ("invalid_argument", "path"), tool


@pytest.mark.parametrize(
    "path", [".", "", "./", "src", "src/", "./src/auth", "src/auth/service.py"]
)
async def test_finders_look_only_below_the_path(shop: Path, path: str) -> None:
    async with gateway(shop) as call:
        for tool, arguments in FINDERS.items():
            answer = await call(tool, path=path, **arguments)
            key = {"search_text": "matches", "find_references": "references"}.get(
                tool, "definitions"
            )
            below = path.strip("/").removeprefix("./").removeprefix(".")
            assert all(row["file"].startswith(below) for row in answer[key]), tool
        assert (await call("find_definitions", symbol="AuthService.login", path=path))["total"] == 1


@pytest.mark.parametrize("path", [*OUTSIDE, *NOWHERE])
async def test_a_session_never_explores_or_writes_outside(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        await start(call)
        submitted = await call.client.call_tool(
            "submit_understanding", {"symbols_identified": ["login"], "files_analyzed": [path]}
        )
        assert submitted.structured_content is not None
        assert submitted.structured_content.get("error") != "unexpected"
        target = await call("check_write_target", file_path=path)
        assert target["allowed"] is False
        assert target["hint"]
        status = await call("get_session_status")
        assert path not in status["exploration"]["explored_files"]


@pytest.mark.parametrize("path", [*OUTSIDE, *NOWHERE, "src/auth/service.py"])
async def test_a_session_is_for_the_project_of_its_server(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        error = await call.refused("start_session", intent="MODIFY", query="x", repo_path=path)
        assert (error["error"], error["field"]) == ("invalid_argument", "repo_path")
        same = await call("start_session", intent="MODIFY", query="x", repo_path=str(trapped))
        assert same["repo_path"] == str(trapped)


@pytest.mark.parametrize("path", OUTSIDE)
async def test_an_agreement_rests_on_files_of_the_project_alone(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        error = await call.refused(
            "add_agreement",
            nl_term="x",
            symbol="AuthService",
            code_evidence="e",
            related_files=[path],
        )
        assert error["field"] == "related_files"
        assert (await call("list_agreements"))["total"] == 0


async def start(call: Caller) -> str:
    session = await call("start_session", intent="MODIFY", query="fix the login of the shop")
    await call("set_query_frame", target_feature={"value": "login", "quote": "login"})
    return str(session["session_id"])
