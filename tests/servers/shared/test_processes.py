"""Two instances in processes of their own share an engine and a token file."""

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from code_intel.cli.main import main
from code_intel.shared.milvus import SharedIndex
from milvus_server import MilvusServer, milvus_server
from pushes import pushed
from servers.http_processes import ACCEPT, Reply, Served, ask, status_of
from servers.shared.conftest import SHOP
from servers.shared.shared_processes import process

pytestmark = pytest.mark.milvus

REVOKED_S = 60


class Pair(NamedTuple):
    """Two instances.

    Attributes:
        engine: Their engine.
        tokens: Their token file.
        served: The processes.
        folder: The parent of their folders, `one` and `two`.
    """

    engine: MilvusServer
    tokens: Path
    served: tuple[Served, Served]
    folder: Path

    def create(self, capsys: pytest.CaptureFixture[str], *grants: str) -> dict[str, Any]:
        words = [word for grant in grants for word in ("--grant", grant)]
        command = ["shared", "token", "create", "test", *words, "--tokens", str(self.tokens)]
        assert main([*command, "--json"]) == 0
        made: dict[str, Any] = json.loads(capsys.readouterr().out)
        return made


@pytest.fixture
def pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Pair]:
    tokens = tmp_path / "tokens.json"
    create = ["shared", "token", "create", "first", "--grant", "read:none"]
    assert main([*create, "--tokens", str(tokens)]) == 0
    capsys.readouterr()
    with milvus_server(tmp_path / "milvus") as engine, ExitStack() as stack:
        with SharedIndex.open(engine.address) as index:
            pushed(index, "team/shop", SHOP, commit="a" * 40)
        one, two = (
            stack.enter_context(process(tmp_path / name, engine.address, tokens))
            for name in ("one", "two")
        )
        yield Pair(engine, tokens, (one, two), tmp_path)


def search(served: Served, token: str) -> Reply:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_forest", "arguments": {"query": "sum of prices in a cart"}},
    }
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-06-18", "Authorization": f"Bearer {token}"}
    return ask(served.port, "POST", "/mcp", json.dumps(message).encode(), headers)


def answers(served: Served, token: str, status: int) -> bool:
    return search(served, token).status == status


def files(reply: Reply) -> list[str]:
    answer = json.loads(reply.body)["result"]["structuredContent"]
    return [row["file"] for row in answer.get("results", ())]


def eventually(seconds: float, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline


@pytest.mark.covers("rule.shared.instances", "rule.shared.revoked")
def test_any_instance_answers_until_the_token_is_revoked(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    made = pair.create(capsys, "read:team/*")
    for served in pair.served:
        eventually(10, partial(answers, served, made["token"], 200))
        assert files(search(served, made["token"]))[0] == "cart/totals.py"
    began = time.monotonic()
    assert main(["shared", "token", "revoke", made["id"], "--tokens", str(pair.tokens)]) == 0
    for served in pair.served:
        eventually(REVOKED_S, partial(answers, served, made["token"], 401))
    assert time.monotonic() - began < REVOKED_S
    names = {json.loads(line)["principal"] for line in log(pair.folder / "one")}
    assert f"token:{made['id']}" in names


def log(folder: Path) -> list[str]:
    return (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.mark.covers("rule.shared.drain")
def test_a_running_request_is_finished_after_sigterm(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    token = pair.create(capsys, "read:team/*")["token"]
    served = pair.served[0]
    eventually(10, partial(answers, served, token, 200))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as running:
        running.sendall(head.encode() + body[:5])
        eventually(30, lambda: running_requests(served, pair, capsys) >= 2)
        served.process.send_signal(signal.SIGTERM)
        eventually(30, lambda: not accepts(served.port))
        running.sendall(body[5:])
        answer = running.recv(1 << 16)
    assert status_of(answer) == 200
    assert served.process.wait(30) == 0
    assert search(pair.served[1], token).status == 200


def running_requests(served: Served, pair: Pair, capsys: pytest.CaptureFixture[str]) -> float:
    """Return how many requests an instance answers, the one that asks for it included."""
    token = pair.create(capsys, "admin:ops")["token"]
    headers = {"Authorization": f"Bearer {token}"}
    found: list[float] = []

    def answered() -> bool:
        reply = ask(served.port, "GET", "/metrics", headers=headers)
        lines = reply.body.decode().splitlines()
        found[:] = [
            float(line.split()[1]) for line in lines if line.startswith("code_intel_running")
        ]
        return reply.status == 200

    eventually(10, answered)
    return found[0]


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def test_an_idle_instance_ends_at_once(pair: Pair) -> None:
    code, seconds = pair.served[0].stop()
    assert code == 0
    assert seconds < pair.served[0].patience


def test_after_an_instance_was_killed_the_other_answers(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    token = pair.create(capsys, "read:team/*")["token"]
    eventually(10, partial(answers, pair.served[1], token, 200))
    pair.served[0].process.kill()
    pair.served[0].process.wait()
    assert files(search(pair.served[1], token))[0] == "cart/totals.py"


@pytest.mark.covers("rule.shared.health")
def test_an_instance_without_its_engine_says_so_and_recovers_when_it_returns(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    token = pair.create(capsys, "read:team/*")["token"]
    served = pair.served[0]
    eventually(10, partial(answers, served, token, 200))
    assert ask(served.port, "GET", "/readyz").json()["status"] == "ok"
    pair.engine.kill()
    eventually(10, lambda: ask(served.port, "GET", "/readyz").status == 503)
    assert ask(served.port, "GET", "/readyz").json()["reason"] == "engine"
    assert ask(served.port, "GET", "/healthz").status == 200
    pair.engine.start()
    eventually(60, lambda: ask(served.port, "GET", "/readyz").status == 200)
    assert files(search(served, token))[0] == "cart/totals.py"


def test_two_instances_cannot_share_an_audit_log(pair: Pair) -> None:
    shared = pair.folder / "one" / "audit.jsonl"
    with process(
        pair.folder / "three", pair.engine.address, pair.tokens, audit_file=shared
    ) as third:
        assert third.process.wait(60) == 1
        assert "Another instance logs" in third.messages[0]
