"""The gateway uses no upstream of a repository that its user has not approved."""

import sys
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import load_settings
from code_intel.errors import UpstreamError
from projects import both_eras
from served import gateway
from team import team
from upstreams import approve_all, command, point, propose, supervised

pytestmark = pytest.mark.anyio
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links are POSIX's")


def unavailable(answer: dict[str, Any]) -> str:
    (row,) = answer["unavailable"]
    assert "not approved" in row["error"]
    assert "upstreams approve" in row["hint"]
    return str(row["name"])


@both_eras
@pytest.mark.covers("rule.upstreams.approval")
async def test_the_program_of_a_repository_is_not_started(
    shop: Path, tmp_path: Path, era: str
) -> None:
    log = tmp_path / "log"
    propose(shop, map=command("good", "--log", str(log)))
    async with gateway(shop, era, groups=("search", "session")) as call:
        started = await call("start_session", intent="MODIFY", query="login is broken")
        assert unavailable(started) == "devrag-map"
        session = str(started["session_id"])
        for tool in ("search_smart", "search_map"):
            answer = await call(tool, query="login", session_id=session)
            assert unavailable(answer) == "devrag-map"
            assert answer["source"] == "forest"
        status = await call("get_session_status", session_id=session)
        state = status["upstreams"][0]
        assert state["state"] == "failed"
        assert "upstreams approve" in state["hint"]
    assert not log.exists()
    approve_all(load_settings(shop))
    async with gateway(shop, era, groups=("search",)) as call:
        await call("start_session", intent="MODIFY", query="login is broken")
    assert log.exists()


async def test_an_address_is_asked_after_the_approval_only(tmp_path: Path) -> None:
    with team() as server:
        propose(tmp_path, forest={"url": server.url})
        async with supervised(tmp_path) as upstreams:
            with pytest.raises(UpstreamError) as caught:
                await upstreams.search_forest("login", 5)
            assert "not approved" in caught.value.message
        assert not server.seen
        approve_all(load_settings(tmp_path))
        async with supervised(tmp_path) as upstreams:
            assert (await upstreams.search_forest("login", 5)).hits
        assert server.seen


@POSIX
async def test_a_commit_cannot_send_another_file_as_the_token(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    key = tmp_path / "id_secret"
    key.write_text("a-secret-key-of-the-user", encoding="ascii")
    token = project / "token"
    token.write_text("a-token-of-some-length", encoding="ascii")
    with team() as server:
        point(project, forest={"url": server.url, "token_file": "token"})
        token.unlink()
        token.symlink_to(key)
        async with supervised(project) as upstreams:
            with pytest.raises(UpstreamError) as caught:
                await upstreams.search_forest("login", 5)
        assert "a link in the project" in caught.value.message
        assert "a-secret-key-of-the-user" not in str(server.seen)
        link = tmp_path / "link"  # the user's own link
        link.symlink_to(key)
        point(project, forest={"url": server.url, "token_file": str(link)})
        async with supervised(project) as upstreams:
            assert (await upstreams.search_forest("login", 5)).hits
