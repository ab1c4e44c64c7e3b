"""The HTTP server limits sizes, times and numbers of connections, over real sockets."""

import json
import select
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from code_intel.errors import StorageError
from code_intel.records import Freshness
from code_intel.servers.http.address import listen
from code_intel.servers.http.guard import Policy
from code_intel.servers.http.limits import Limits
from code_intel.servers.http.serving import run, web_server
from code_intel.servers.protocol import BACKGROUND_DELAY_S, ServerSpec, ToolCall, build
from code_intel.tools.declaration import Answer, Tool
from hurry import pass_by
from projects import ERAS
from servers.http_processes import (
    ACCEPT,
    HELLO,
    PATIENCE,
    answer_on,
    ask,
    client,
    greet,
    post,
    raw,
    status_of,
)

pytestmark = pytest.mark.anyio

SHORT = 0.4
"""The limit under test; the other limits stay long."""
LONG = {"head_seconds": 300, "body_seconds": 300}
SOON = 50
"""Less than `LONG`, so that only the limit under test can expire."""
PING = {"id": 2, "method": "ping"}
HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + "".join(
    f"{name}: {value}\r\n" for name, value in ACCEPT.items()
)


async def echo(_context: object, text: str) -> Answer:
    """Return the text."""
    return Answer({"text": text}, text)


@dataclass
class Counted:
    """A small server that records the use of its parts."""

    events: list[str] = field(default_factory=list)
    freshness: Callable[[], Mapping[str, Freshness]] = dict

    def offer(self) -> ServerSpec:
        async def invoke(tool: Tool, arguments: dict[str, Any], _call: ToolCall) -> Answer:
            return await tool.run(None, **arguments)

        async def background() -> None:
            self.events.append("background")
            await anyio.sleep_forever()

        self.events.append("offer")
        close = partial(self.events.append, "close")
        return ServerSpec((Tool(echo),), invoke, background, close, self.freshness)


@asynccontextmanager
async def small(counted: Counted | None = None, **limits: float) -> AsyncIterator[int]:
    """Serve in this process within these limits; yield the port."""
    server = build(name="small", instructions="", make_spec=(counted or Counted()).offer)
    policy = Policy(listen("127.0.0.1", 0), limits=Limits(**LONG | limits))  # type: ignore[arg-type]  # some limits are integers
    web = web_server(server, policy)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(run, server, web, policy)
            yield policy.address.port
            web.should_exit = True


async def sent(port: int, data: bytes) -> tuple[int, float]:
    """Send bytes; return the status of the answer (0: none) and the seconds until it came."""
    began = time.monotonic()
    answer = await to_thread.run_sync(raw, port, data)
    return status_of(answer), time.monotonic() - began


async def test_body_declared_too_large_is_refused_before_it_is_sent() -> None:
    async with small() as port:
        status, seconds = await sent(port, f"{HEAD}Content-Length: 104857600\r\n\r\n".encode())
        assert status == 413
        assert seconds < SOON
        status, _ = await sent(port, f"{HEAD}Content-Length: 4194305\r\n\r\n{{".encode())
        assert status == 413


async def test_client_that_sends_a_refused_body_reads_the_refusal() -> None:
    async with small() as port:
        body = b"x" * 20_000_000
        status, _ = await sent(port, f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert status == 413


async def test_chunked_body_above_the_limit_is_refused() -> None:
    async with small(body_bytes=1000) as port:
        chunk = b"1f4\r\n" + b" " * 500 + b"\r\n"
        head = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()
        assert (await sent(port, head + chunk * 3))[0] == 413
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        for length, status in ((1000, 200), (1001, 413)):
            body = message.ljust(length).encode()
            answer = await to_thread.run_sync(
                lambda whole: ask(port, "POST", body=whole, headers=ACCEPT), body
            )
            assert answer.status == status


async def test_incomplete_headers_time_out() -> None:
    async with small(head_seconds=SHORT) as port:
        for begin in (b"", b"G", b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\nHost: loc"):
            status, seconds = await sent(port, begin)
            assert status == 408
            assert seconds < SOON


async def test_slow_headers_time_out() -> None:
    def trickle(port: int, before: bytes) -> int:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            if before:
                connection.sendall(before)
                assert status_of(answer_on(connection)) == 200
            for byte in b"GET /health HTTP/1.1\r\n" + b"X: " + b"y" * 10_000:
                if select.select([connection], [], [], 0.02)[0]:
                    break
                connection.sendall(bytes([byte]))
            return status_of(answer_on(connection))

    async with small(head_seconds=SHORT) as port:
        whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for before in (b"", whole, whole * 1):
            assert await to_thread.run_sync(trickle, port, before) == 408


async def test_missing_body_times_out() -> None:
    async with small(body_seconds=SHORT) as port:
        for body in (b"", b'{"jsonrpc"'):
            status, seconds = await sent(port, f"{HEAD}Content-Length: 100\r\n\r\n".encode() + body)
            assert status == 408
            assert seconds < SOON


async def test_connection_closes_after_a_refused_body() -> None:
    def closed_after(port: int) -> bool:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(f"{HEAD}Content-Length: 104857600\r\n\r\n".encode())
            assert status_of(answer_on(connection)) == 413
            try:
                return connection.recv(1) == b""
            except ConnectionResetError:
                return True

    async with small(body_seconds=SHORT, drain_seconds=0) as port:
        assert await to_thread.run_sync(closed_after, port)


async def test_headers_above_the_limit_are_refused() -> None:
    async with small() as port:
        begin = "GET /health HTTP/1.1\r\nHost: localhost\r\nX: "
        assert (await sent(port, f"{begin}{'x' * 10_000}\r\n\r\n".encode()))[0] == 200
        for length in (20_000, 100_000, 400_000):  # the first two arrive in one read
            status, _ = await sent(port, f"{begin}{'x' * length}\r\n\r\n".encode())
            assert status == 400, length
        status, _ = await sent(
            port, f"GET /{'x' * 20_000} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        assert status == 400
        assert (await sent(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9))[0] == 400


GARBAGE = (
    b"\x00" * 100,
    b"GET / HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET http://evil.example.com/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
    b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    HEAD.encode() + b"Content-Length: -1\r\n\r\n",
    HEAD.encode() + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    HEAD.encode() + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    HEAD.encode() + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    HEAD.encode() + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    HEAD.encode() + b"Transfer-Encoding: gzip\r\n\r\n",
    HEAD.encode() + b"Content-Length: 2\r\n\r\n\xff\xfe",
    HEAD.encode() + b"Content-Length: 5000\r\n\r\n" + b"[" * 5000,
    HEAD.encode() + b"MCP-Protocol-Version: 2099-01-01\r\nContent-Length: 2\r\n\r\n{}",
    HEAD.encode()
    + b"MCP-Protocol-Version: 2026-07-28\r\nContent-Length: 5000\r\n\r\n"
    + b"[" * 5000,
)


async def test_malformed_requests_are_refused() -> None:
    async with small() as port:
        for garbage in GARBAGE:
            status, _ = await sent(port, garbage)
            assert 400 <= status < 500, garbage[:200]
            assert (await to_thread.run_sync(ask, port, "GET", "/health")).status == 200


def test_documented_http_limits_are_the_real_ones() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text("utf-8")
    limits = Limits()
    for text in (
        f"above {limits.body_bytes >> 20} MiB",
        f"above {limits.head_bytes >> 10} KiB",
        f"headers that take longer than {limits.head_seconds} s",
        f"a body that takes longer than {limits.body_seconds} s",
        f"the {limits.connections + 1}st connection",
        f"the {limits.sessions + 1:,}st MCP session",
        f"expires after {limits.session_seconds // 60} min without",
    ):
        assert text in page


async def test_connections_above_the_limit_are_refused() -> None:
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def open_three(port: int) -> list[socket.socket]:
        return [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(3)]

    async with small(connections=3) as port:
        sockets = await to_thread.run_sync(open_three, port)
        for connection in sockets:
            await to_thread.run_sync(connection.sendall, health)
            assert status_of(await to_thread.run_sync(answer_on, connection)) == 200
        assert (await sent(port, health))[0] == 503
        sockets.pop().close()
        status = 503
        while status == 503:
            status, _ = await sent(port, health)
        assert status == 200
        for connection in sockets:
            connection.close()


async def test_mcp_sessions_above_the_limit_are_refused() -> None:
    async with small(sessions=2) as port:
        first, second = [await to_thread.run_sync(greet, port) for _ in range(2)]
        assert (first.status, second.status) == (200, 200)
        assert (await to_thread.run_sync(greet, port)).status == 503
        session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
        gone = await to_thread.run_sync(lambda: ask(port, "DELETE", headers=session))
        assert gone.status == 200
        assert (await to_thread.run_sync(greet, port)).status == 200


async def test_idle_mcp_session_ends() -> None:
    async with small(session_seconds=PATIENCE / 4, sessions=1) as port:
        session = {
            "Mcp-Session-Id": (await to_thread.run_sync(greet, port)).headers["mcp-session-id"]
        }
        assert (await to_thread.run_sync(post, port, PING, session)).status == 200
        assert (await to_thread.run_sync(greet, port)).status == 503
        status = 503
        while status == 503:
            pass_by(PATIENCE / 4)
            status = (await to_thread.run_sync(greet, port)).status
        assert status == 200
        assert (await to_thread.run_sync(post, port, PING, session)).status == 404


async def test_session_has_one_stream() -> None:
    def opened(port: int, session: str) -> tuple[int, int]:
        request = (
            f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            f"Mcp-Session-Id: {session}\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stream:
            stream.sendall(request)
            first = stream.recv(1 << 16)
            return status_of(first), status_of(raw(port, request))

    async with small() as port:
        session = (await to_thread.run_sync(greet, port)).headers["mcp-session-id"]
        assert await to_thread.run_sync(opened, port, session) == (200, 409)


async def test_background_runs_once_for_all_clients() -> None:
    counted = Counted()
    async with small(counted) as port:
        assert (await to_thread.run_sync(ask, port, "GET", "/health")).json()["index"] == {}
        assert counted.events == []
        for era in ERAS * 2:
            async with client(port, era) as call:
                assert await call("echo", text=era) == {"text": era}
        with anyio.move_on_after(BACKGROUND_DELAY_S + 5):
            while "background" not in counted.events:
                await anyio.lowlevel.checkpoint()
        assert counted.events == ["offer", "background"]
    assert counted.events == ["offer", "background", "close"]


async def test_health_reports_the_index_or_a_failure() -> None:
    def broken() -> Mapping[str, Freshness]:
        raise StorageError("/secret/place is damaged.")

    for freshness, status in ((broken, 503), (lambda: {"map": Freshness("stale", 3, 2)}, 200)):
        async with small(Counted(freshness=freshness)) as port:
            async with client(port, ERAS[1]) as call:
                await call("echo", text="awake")
            reply = await to_thread.run_sync(ask, port, "GET", "/health")
            assert reply.status == status
            assert b"secret" not in reply.body
            if status == 200:
                assert reply.json()["index"] == {
                    "map": {"state": "stale", "files": 3, "pending": 2}
                }


async def test_health_check_does_not_start_the_background() -> None:
    counted = Counted()
    async with small(counted) as port:
        for _ in range(3):
            await to_thread.run_sync(ask, port, "GET", "/health")
        with anyio.move_on_after(2 * BACKGROUND_DELAY_S):
            await anyio.sleep_forever()
        assert counted.events == []
