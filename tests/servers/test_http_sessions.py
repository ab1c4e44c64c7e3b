"""Several clients share an HTTP server with separate sessions, and the server ends cleanly."""

import json
import os
import select
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from mcp import MCPError

from code_intel.records import Corpus
from code_intel.servers.http.address import listen
from code_intel.session.heads import parse_handle
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import MAX_CONNECTIONS, GatewayContext
from projects import ERAS, Caller, both_eras
from served import settings_of
from servers.http_processes import (
    ACCEPT,
    PATIENCE,
    ask,
    client,
    greet,
    post,
    raw,
    serving,
    serving_here,
    status_of,
)
from shop_sessions import LOGIN, explore, succeed

pytestmark = pytest.mark.anyio

LEGACY, MODERN = ERAS
QUERY = "fix the login of the shop"
SERVICE = "src/auth/service.py"
FRAME = {"target_feature": {"value": "login", "quote": "login"}}


@pytest.fixture(scope="module")
def shared(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Serve one project to several tests; yield the port."""
    root = tmp_path_factory.mktemp("shared") / "shop"
    with serving_here(Path(shutil.copytree(indexed_shop, root, symlinks=True))) as port:
        yield port


async def begin(call: Caller, query: str = QUERY) -> str:
    return str((await call("start_session", intent="MODIFY", query=query))["session_id"])


@both_eras
async def test_session_continues_after_a_restart(shop: Path, era: str) -> None:
    with serving_here(shop) as port:
        async with client(port, era) as call:
            session = await begin(call)
            await call("set_query_frame", session_id=session, **FRAME)
            found = await call("search_smart", session_id=session)
            assert SERVICE in [hit["document"] for hit in found["results"]]
        old = {"Mcp-Session-Id": greet(port).headers["mcp-session-id"]}
    with serving_here(shop) as port:
        assert post(port, {"id": 9, "method": "ping"}, old).status == 404
        async with client(port, era) as later:
            call = replace(later, session_id=session)
            status = await call("get_session_status")
            assert status["tool_calls"] == {"start_session": 1, "search_smart": 1}
            await explore(call, LOGIN, SERVICE)
            learned = await succeed(call, shop, SERVICE)
            assert learned["cached_pairs"] == [{"nl_term": "login", "symbol": LOGIN}]
        async with client(port, era) as another:
            known = (await another("search_map", query="login"))["results"][0]
            assert known["agreement"]["symbol"] == LOGIN


async def test_each_client_has_its_own_last_session(shared: int) -> None:
    async with client(shared, LEGACY) as one, client(shared, LEGACY) as two:
        first = await begin(one)
        error = await two.refused("get_session_status")
        assert error["error"] == "no_active_session"
        second = await begin(two, "explain the cart")
        assert first != second
        assert len(parse_handle(first).secret) == 32  # 128 random bits
        for call, session in ((one, first), (two, second), (one, first)):
            assert (await call("get_session_status"))["session_id"] == session
        # A client with the id of a session may use it; it becomes the client's last session.
        assert (await two("get_session_status", session_id=first))["session_id"] == first
        assert (await two("get_session_status"))["session_id"] == first
        assert (await one("get_session_status"))["session_id"] == first


@pytest.mark.parametrize("era", [LEGACY, "auto"])  # auto uses the newer protocol
async def test_prompts_and_resources_are_empty_and_not_declared(shared: int, era: str) -> None:
    async with client(shared, era) as call:
        declared = call.client.server_capabilities
        assert declared is not None
        assert declared.tools is not None
        assert (declared.prompts, declared.resources) == (None, None)
        assert (await call.client.list_prompts()).prompts == []
        assert (await call.client.list_resources()).resources == []
        assert (await call.client.list_resource_templates()).resource_templates == []
        with pytest.raises(MCPError) as caught:
            await call.client.read_resource("doc://nothing")
        assert (caught.value.error.code, caught.value.error.data) == (
            -32602,
            {"uri": "doc://nothing"},
        )


@pytest.mark.covers("error.no_active_session.field")
async def test_request_without_a_connection_must_name_its_session(shared: int) -> None:
    async with client(shared, MODERN) as call:
        session = await begin(call)
        for tool, arguments in (("get_session_status", {}), ("set_query_frame", FRAME)):
            error = await call.refused(tool, **arguments)
            assert error["error"] == "no_active_session"
            assert "session_id" in error["message"]
            assert "start_session" in error["hint"]
            assert error["field"] == "session_id"
        # Reading tools work without a session and record nothing.
        assert (await call("find_definitions", symbol="AuthService.login"))["definitions"]
        status = await call("get_session_status", session_id=session)
        assert status["tool_calls"] == {"start_session": 1}
    # A call in the newer protocol has no connection, even with an MCP session id.
    async with client(shared, LEGACY) as call:
        await begin(call)
        opened = {"Mcp-Session-Id": greet(shared).headers["mcp-session-id"]}
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {}}  # fmt: skip
        params = {"name": "get_session_status", "arguments": {}, "_meta": meta}
        headers = opened | {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
                            "Mcp-Name": "get_session_status"}  # fmt: skip
        answer = post(shared, {"id": 3, "method": "tools/call", "params": params}, headers)
        assert answer.json()["result"]["structuredContent"]["field"] == "session_id"


async def test_number_of_remembered_connections_is_bounded(shop: Path) -> None:
    maps, forest = open_project(settings_of(shop))
    context = GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)
    for number in range(MAX_CONNECTIONS + 5):
        replace(context, connection=str(number)).remember(f"session {number}")
        replace(context, connection="0").remember("the first one is in use")
    replace(context, connection=None).remember("none")
    assert len(context.lasts) == MAX_CONNECTIONS
    assert replace(context, connection="0").last == "the first one is in use"
    assert replace(context, connection="1").last is None
    assert replace(context, connection=None).last is None


@pytest.mark.parametrize("corpus", get_args(Corpus))
async def test_index_servers_answer_over_http_in_both_eras(
    indexed_shop: Path, corpus: Corpus
) -> None:
    with serving_here(indexed_shop, corpus=corpus) as port:
        for era in ERAS:
            async with client(port, era) as call:
                answer = await call("search", query="login", top_k=3)
                documents = [hit["document"] for hit in answer["results"]]
                assert (SERVICE in documents) == (corpus == "forest")
        health = ask(port, "GET", "/health").json()
        assert health["name"] == f"devrag-{corpus}"
        assert set(health["index"]) <= {corpus}


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 0), pytest.param(signal.SIGINT, 130, marks=pytest.mark.long)],
)
async def test_stopped_server_closes_every_connection(
    indexed_shop: Path, number: signal.Signals, code: int
) -> None:
    with serving(indexed_shop) as served:
        port = served.port
        session = greet(port).headers["mcp-session-id"]
        post(port, {"id": 2, "method": "tools/list"}, {"Mcp-Session-Id": session})
        opened = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(4)]
        stream, half, body, _idle = opened
        stream.sendall(
            f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            f"Mcp-Session-Id: {session}\r\n\r\n".encode()
        )
        assert status_of(stream.recv(1 << 16)) == 200
        half.sendall(b"GET /hea")
        body.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert ask(port, "GET", "/health").status == 200
        ended, seconds = served.stop(number)
        assert ended == code
        assert seconds < served.patience
        with pytest.raises(ProcessLookupError):
            os.killpg(served.process.pid, 0)
        listen("127.0.0.1", port).socket.close()
        for connection in opened:
            connection.close()
        assert "Traceback" not in served.stderr()


async def test_busy_server_ends_at_once(shop: Path) -> None:
    with serving(shop) as served:
        session = {"Mcp-Session-Id": greet(served.port).headers["mcp-session-id"]}
        for number in range(20):
            arguments = {"pattern": "(a|b|[c-z])*login", "session_id": None}
            params = {"name": "search_text", "arguments": arguments}
            start_call(served.port, number, params, session).close()
        assert served.stop()[1] < served.patience
        assert "Traceback" not in served.stderr()


def start_call(
    port: int, number: int, params: Mapping[str, object], headers: Mapping[str, str]
) -> socket.socket:
    """Send a tool call and do not wait for the answer."""
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**ACCEPT, **headers}.items())
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(
        (
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n"
            f"\r\n{body}"
        ).encode()
    )
    return connection


async def test_aborted_clients_do_not_disturb_the_server(
    indexed_shop: Path,
) -> None:
    with serving(indexed_shop) as served:
        port = served.port
        session = {"Mcp-Session-Id": greet(port).headers["mcp-session-id"]}
        params = {"name": "find_definitions", "arguments": {"symbol": "login"}}
        for number in range(15):
            connection = start_call(port, number, params, session)
            if number % 3:
                select.select([connection], [], [], 0.01 * (number % 4))
            if number % 2:  # reset, not closed
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        for begin_of in (
            b"POST /mcp HT",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        ):
            with suppress(TimeoutError):
                raw(port, begin_of, seconds=0.05)
        answer = post(port, {"id": 99, "method": "tools/call", "params": params}, session)
        assert b"AuthService.login" in answer.body
        served.stop()
        assert len(served.stderr().splitlines()) == 1, served.messages
