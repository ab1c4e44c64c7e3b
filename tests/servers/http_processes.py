"""Serve over HTTP in a process or a thread, and send requests by hand."""

import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from code_intel.records import Corpus
from code_intel.servers.gateway import build_gateway
from code_intel.servers.http.address import listen
from code_intel.servers.http.guard import Policy
from code_intel.servers.http.serving import run, web_server
from code_intel.servers.http.tokens import read_tokens
from code_intel.servers.index_server import build_index_server
from code_intel.tools.context.corpus_service import open_project
from piped import END
from projects import BIN, Caller
from served import settings_of

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PATIENCE = 60.0


class Reply(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server process.

    `messages` are its lines on stderr. `patience` is how many seconds it may take to end: `END`
    plus four times its start time.
    """

    process: "subprocess.Popen[bytes]"
    stdout: Path
    patience: float = END
    messages: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        found = re.search(r"serving http://[^ ]+:(\d+)/mcp", self.messages[0])
        assert found, self.messages
        return int(found[1])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Return the exit code and how many seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        return code, time.monotonic() - began

    def stderr(self) -> str:
        """Return all of stderr; the process must have ended."""
        assert self.process.stderr is not None
        self.messages += self.process.stderr.read().decode().splitlines()
        return "\n".join(self.messages)


def environment(root: Path) -> dict[str, str]:
    env = {**os.environ, "CODE_INTEL_CACHE_DIR": str(root.parent / "cache")}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    return env | {"CODE_INTEL_EMBEDDING": "off"}


def start(root: Path, *command: str) -> "subprocess.Popen[bytes]":
    """Start a program in its own process group; its stdout goes to a file."""
    with (root.parent / "stdout").open("ab") as stdout:
        return subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=root,
            env=environment(root),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


@contextmanager
def serving(
    root: Path,
    *options: str,
    program: tuple[str, ...] = ("code-intel",),
    word: tuple[str, ...] = ("serve",),
) -> Iterator[Served]:
    """Serve a project over HTTP from a process; check that its stdout stays empty."""
    began = time.monotonic()
    process = start(root, *program, *word, "--http", "0", *options)
    assert process.stderr is not None
    served = Served(process, root.parent / "stdout")
    try:
        ready, _, _ = select.select([process.stderr], [], [], PATIENCE)
        assert ready, "no line on stderr"
        served.messages.append(process.stderr.readline().decode())
        served.patience += 4 * (time.monotonic() - began)
        yield served
        assert not served.stdout.read_bytes()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


@contextmanager
def serving_here(
    root: Path,
    *,
    corpus: Corpus | None = None,
    host: str = "127.0.0.1",
    token_file: Path | None = None,
    writes: bool = False,
    embedding: str = "off",
) -> Iterator[int]:
    """Serve the gateway or an index server over HTTP from a thread; yield the port."""
    settings = settings_of(root, embedding)
    if corpus is None:
        server = build_gateway(settings, writes=writes)
    else:
        service = open_project(settings)[corpus == "forest"]
        server = build_index_server(corpus, lambda: service, writes=writes)
    tokens = read_tokens(token_file) if token_file else None
    policy = Policy(listen(host, 0, needs_token=tokens is not None), tokens)
    web = web_server(server, policy)
    thread = threading.Thread(target=anyio.run, args=(run, server, web, policy), daemon=True)
    thread.start()
    try:
        yield policy.address.port
    finally:
        web.should_exit = True
        thread.join(PATIENCE)


@asynccontextmanager
async def client(port: int, era: str, token: str | None = None) -> AsyncIterator[Caller]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"http://127.0.0.1:{port}/mcp"
    with anyio.fail_after(240):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=240) as web,
            Client(streamable_http_client(url, http_client=web), mode=era) as connected,
        ):
            yield Caller(connected)


def ask(
    port: int,
    method: str,
    path: str = "/mcp",
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> Reply:
    """Send one request on a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body or None, headers or {})
        answer = connection.getresponse()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def post(port: int, message: dict[str, Any], headers: dict[str, str] | None = None) -> Reply:
    """Send one JSON-RPC message of the older protocol."""
    whole = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return ask(port, "POST", body=whole, headers=ACCEPT | (headers or {}))


def greet(port: int, headers: dict[str, str] | None = None) -> Reply:
    return post(port, {"id": 1, "method": "initialize", "params": HELLO}, headers)


def raw(port: int, data: bytes, *, seconds: float = PATIENCE) -> bytes:
    """Send bytes and return the answer, or all bytes until the connection closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        return answer_on(connection)


def answer_on(connection: socket.socket) -> bytes:
    """Read the first answer on a connection, with its declared body."""
    got = b""
    while True:
        try:
            part = connection.recv(1 << 16)
        except ConnectionResetError:
            return got
        got += part
        head, ended, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if not part or (ended and length and len(body) >= int(length[1])):
            return got


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0
