"""One half of the gateway is a URL: tokens, refusals, deaths, and answers without end."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from code_intel.errors import UpstreamError
from code_intel.servers.upstreams import Upstreams
from upstreams import point, supervised, until

pytestmark = pytest.mark.anyio
FILE = "token_file"
GOOD = "a-token-of-some-length"
SEARCH = {
    "name": "search",
    "inputSchema": {"type": "object", "properties": {"query": {}, "top_k": {}}},
    "annotations": {"readOnlyHint": True},
}


class Team:
    """A server of the older era, one JSON answer a request; `mode` may change while it runs."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.accepts = ""
        self.seen: list[dict[str, str]] = []
        self.end = threading.Event()
        team = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                team.seen.append({k.lower(): v for k, v in self.headers.items()})
                team.answer(self, body)

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, *_: object) -> None:  # type: ignore[explicit-override]
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"

    def answer(self, request: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        method = message["method"]
        if self.accepts and request.headers["authorization"] != f"Bearer {self.accepts}":
            request.send_error(401)
        elif "id" not in message:
            reply(request, None, 202)
        elif self.mode == "refuses":
            request.send_error(503)
        elif self.mode == "hangs" and method == "tools/call":
            self.end.wait(20)
        elif self.mode == "endless" and method == "tools/call":
            request.send_response(200)
            request.send_header("content-type", "application/json")
            request.end_headers()
            try:
                while not self.end.is_set():
                    request.wfile.write(b"[" * 65536)
            except OSError:
                return
        elif method in RESULTS:
            reply(request, {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]})
        else:
            error = {"code": -32601, "message": "Method not found"}
            reply(request, {"jsonrpc": "2.0", "id": message["id"], "error": error})


RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "team", "version": "1"},
    },
    "tools/list": {"tools": [SEARCH]},
    "tools/call": {
        "content": [{"type": "text", "text": json.dumps({"results": [{"document": "a.md"}]})}]
    },
}


def reply(request: BaseHTTPRequestHandler, message: object, status: int = 200) -> None:
    body = b"" if message is None else json.dumps(message).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@contextmanager
def team(mode: str = "good") -> Iterator[Team]:
    made = Team(mode)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.end.set()
        made.server.shutdown()
        made.server.server_close()
        thread.join()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pointed(root: Path, team: Team, **more: object) -> Path:
    limits = {"start_seconds": 2, "call_seconds": 1}
    return point(root, forest={"url": team.url, **limits, **more})


async def ask(upstreams: Upstreams) -> list[str]:
    return [hit.document for hit in (await upstreams.search_forest("login", 5)).hits]


async def refused(upstreams: Upstreams) -> str:
    with pytest.raises(UpstreamError) as caught:
        await ask(upstreams)
    return caught.value.message


async def test_a_url_answers_with_headers_and_the_depth(tmp_path: Path) -> None:
    with team() as server:
        pointed(tmp_path, server, headers={"X-Team": "blue"})
        async with supervised(tmp_path) as upstreams:
            assert await ask(upstreams) == ["a.md"]
            status = upstreams.states()[1]
            assert status.state == "ready"
            assert status.where == f"http://127.0.0.1:{server.server.server_port}/mcp"
    assert server.seen[-1]["x-team"] == "blue"
    assert server.seen[-1]["x-code-intel-depth"] == "1"


async def test_a_token_is_read_again_when_it_is_no_longer_accepted(tmp_path: Path) -> None:
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
            await until(lambda: upstreams.states()[1].state == "ready")
            assert await ask(upstreams) == ["a.md"]
            server.accepts = "another-one-since-today"
            assert "401" in await refused(upstreams)
            file.write_text(server.accepts, encoding="ascii")
            await until(lambda: upstreams.states()[1].state == "ready")
            assert await ask(upstreams) == ["a.md"]


async def test_a_missing_token_is_a_reason(tmp_path: Path) -> None:
    with team() as server:
        pointed(tmp_path, server, **{FILE: "no/such/file"})
        async with supervised(tmp_path) as upstreams:
            assert "token_file cannot be read" in await refused(upstreams)
        assert server.seen == []


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("refuses", "HTTP 503"),
        ("hangs", "did not answer within 1 s"),
        ("endless", "more than 4 MiB"),
    ],
)
async def test_a_server_of_no_use_is_told_apart(tmp_path: Path, mode: str, reason: str) -> None:
    with team(mode) as server:
        pointed(tmp_path, server)
        async with supervised(tmp_path) as upstreams:
            assert reason in await refused(upstreams)
            server.mode = "good"
            server.end.set()
            await until(lambda: upstreams.states()[1].state == "ready")
            assert await ask(upstreams) == ["a.md"]


async def test_a_server_that_goes_away_is_noticed_by_the_next_question_and_comes_back(
    tmp_path: Path,
) -> None:
    with team() as server:
        server.url = server.url.replace("//", "//user:pass-word@")
        pointed(tmp_path, server)
        async with supervised(tmp_path) as upstreams:
            assert await ask(upstreams) == ["a.md"]
            server.server.server_close()
            server.server.shutdown()
            message = await refused(upstreams)
            assert "ConnectError" in message
            assert upstreams.states()[1].state != "ready"
            assert "pass-word" not in message + repr(upstreams.states())
