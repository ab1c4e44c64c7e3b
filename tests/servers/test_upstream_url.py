"""An upstream behind a URL: tokens, refusals, lost connections and endless answers."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from code_intel.errors import UpstreamError
from code_intel.tools.context.searchers import ProjectSearcher
from hurry import late
from sampling import sampled
from team import Team, team
from upstreams import point, supervised, until

pytestmark = pytest.mark.anyio
FILE = "token_file"
GOOD = "a-token-of-some-length"


def pointed(root: Path, team: Team, **more: object) -> Path:
    """Configure the team's server as the forest."""
    return point(root, forest={"url": team.url, **more})


async def ask(upstreams: ProjectSearcher) -> list[str]:
    return [hit.document for hit in (await upstreams.search_forest("login", 5)).hits]


async def recovered(upstreams: ProjectSearcher) -> list[str]:
    """Ask until it answers; questions fail at once during a pause."""
    while True:
        await until(lambda: upstreams.states()[1].retry_in is None)
        with suppress(UpstreamError):
            return await ask(upstreams)


async def refused(upstreams: ProjectSearcher) -> str:
    with pytest.raises(UpstreamError) as caught:
        await ask(upstreams)
    return caught.value.message


async def test_url_answers_and_receives_the_headers(tmp_path: Path) -> None:
    with team() as server:
        pointed(tmp_path, server, headers={"X-Team": "blue"})
        async with supervised(tmp_path) as upstreams:
            assert await ask(upstreams) == ["a.md"]
            status = upstreams.states()[1]
            assert status.state == "ready"
            assert status.where == f"http://127.0.0.1:{server.server.server_port}/mcp"
    assert server.seen[-1]["x-team"] == "blue"


async def test_refused_token_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("an-old-token-of-ours\n", encoding="ascii")
    with team() as server:
        server.accepts = GOOD
        pointed(tmp_path, server, **{FILE: "token"})
        async with supervised(tmp_path) as upstreams:
            message = await refused(upstreams)
            assert "401" in message
            assert "old-token" not in message + repr(upstreams.states())
            file.write_text(GOOD, encoding="ascii")
            assert await recovered(upstreams) == ["a.md"]
            server.accepts = "another-one-since-today"
            assert "401" in await refused(upstreams)
            file.write_text(server.accepts, encoding="ascii")
            assert await recovered(upstreams) == ["a.md"]


async def test_forgotten_session_is_replaced_by_a_new_one(
    tmp_path: Path,
) -> None:
    with team() as server:
        pointed(tmp_path, server)
        async with supervised(tmp_path) as upstreams:
            assert await ask(upstreams) == ["a.md"]
            server.session = "second"
            assert await ask(upstreams) == ["a.md"]
            status = upstreams.states()[1]
            assert (status.restarts, status.error) == (1, "it has forgotten our session")


async def test_missing_token_file_is_the_reason(tmp_path: Path) -> None:
    with team() as server:
        pointed(tmp_path, server, **{FILE: "no/such/file"})
        async with supervised(tmp_path) as upstreams:
            assert "token_file cannot be read" in await refused(upstreams)
        assert server.seen == []


USELESS = {
    "refuses": "it answered HTTP 503",
    "page": "is not MCP but, for example, a web page",
    "packed": "it compressed its answer",
    "babbles": "it sent more than 8 MiB",
    "hangs": "did not answer within 20 s",
    "endless": "more than 8 MiB",
}


@pytest.mark.parametrize("mode", sampled(USELESS, "refuses", "packed", "hangs", "endless"))
async def test_unusable_server_is_reported_and_recovers(tmp_path: Path, mode: str) -> None:
    with team(mode) as server:
        pointed(tmp_path, server, call_seconds=20)
        async with supervised(tmp_path) as upstreams:
            if mode == "hangs":
                message = await late(refused(upstreams), server.waiting.is_set, seconds=20)
            else:
                message = await refused(upstreams)
            assert USELESS[mode] in message
            assert "RULES" not in message
            server.mode = "good"
            server.end.set()
            assert await recovered(upstreams) == ["a.md"]


async def test_unreachable_server_is_noticed_by_the_next_question(
    tmp_path: Path,
) -> None:
    with team() as server:
        server.url = server.url.replace("//", "//user:pass-word@")
        pointed(tmp_path, server)
        async with supervised(tmp_path) as upstreams:
            assert await ask(upstreams) == ["a.md"]
            server.die()
            message = await refused(upstreams)
            assert "cannot be reached" in message
            assert upstreams.states()[1].state != "ready"
            assert "pass-word" not in message + repr(upstreams.states())


async def test_token_does_not_follow_a_redirect(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(GOOD, encoding="ascii")
    with team("moved") as server, team() as other:
        server.elsewhere = other.url.replace("127.0.0.1", "localhost")
        pointed(tmp_path, server, **{FILE: "token"})
        async with supervised(tmp_path) as upstreams:
            assert "HTTP 307, a redirect" in await refused(upstreams)
        assert server.seen[0]["authorization"] == f"Bearer {GOOD}"
        assert other.seen == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names")
async def test_token_file_that_is_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    with team() as server:
        pointed(tmp_path, server, **{FILE: "token"})
        async with supervised(tmp_path) as upstreams:
            assert "is not a file" in await refused(upstreams)
