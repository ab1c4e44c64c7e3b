"""Every tool that takes a path, and every path that leads out of the project or nowhere."""

from pathlib import Path
from typing import Any

import pytest

from projects import Caller
from served import gateway

pytestmark = pytest.mark.anyio

OUTSIDE = (
    "../",
    "../../etc/passwd",
    "/etc",
    "/etc/passwd",
    "src/../../outside",
    "escape",
    "escape/x",
)
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


@pytest.fixture
def trapped(shop: Path) -> Path:
    """The shop with links that lead out and links that lead nowhere."""
    outside = shop.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("def login(): secret\n", encoding="utf-8")
    (shop / "escape").symlink_to(outside)
    (shop / "loop").symlink_to("loop")
    return shop


@pytest.mark.parametrize("path", OUTSIDE)
async def test_finders_refuse_a_path_outside_the_project(trapped: Path, path: str) -> None:
    async with gateway(trapped) as call:
        for tool, arguments in FINDERS.items():
            error = await call.refused(tool, path=path, **arguments)
            assert (error["error"], error["field"]) == ("path_outside_root", "path"), tool
            assert "secret" not in str(error)


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
