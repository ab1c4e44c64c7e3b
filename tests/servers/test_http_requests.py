"""Requests over HTTP need the right host, origin, token and session id."""

import io
import json
import os
import socket
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.serve import serve
from code_intel.config import load_settings
from code_intel.errors import CodeIntelError, ConfigError
from code_intel.servers.http.address import Address, listen
from code_intel.servers.http.tokens import read_tokens, token_command
from code_intel.servers.protocol import WRITE_TOOLS, ToolServer
from code_intel.tools.table import INDEX_TOOLS
from projects import BIN, ERAS
from servers.http_processes import (
    ACCEPT,
    HELLO,
    PATIENCE,
    Reply,
    ask,
    client,
    greet,
    post,
    raw,
    serving,
    serving_here,
    start,
    status_of,
)

ALICE, BOB = "wJ4nT2vX8qLr5sYb7uKe1mZc3pHd6fGa", "b1946ac92492d2347c6235b4d2611184"


@pytest.fixture(scope="module")
def open_port(indexed_shop: Path) -> Iterator[int]:
    """Serve without tokens; no test writes to the project."""
    with serving_here(indexed_shop) as port:
        yield port


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.touch(0o600)
    path.write_text(f"# alice\n{ALICE}\n\n# bob\n{BOB}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def locked_port(indexed_shop: Path, token_file: Path) -> Iterator[int]:
    """Serve from a process, with tokens and the name of a proxy."""
    options = ("--allow-host", "code.example.com", "--token-file", str(token_file))
    with serving(indexed_shop, *options) as served:
        assert "token" in served.messages[0]
        yield served.port


HOSTS = (
    ("127.0.0.1:{port}", 200),
    ("localhost:{port}", 200),
    ("LOCALHOST:{port}", 200),
    ("[::1]:{port}", 200),
    ("localhost", 200),
    ("localhost:9", 200),  # as through a tunnel
    ("evil.example.com", 403),
    ("evil.example.com:{port}", 403),
    ("127.0.0.1.evil.example.com:{port}", 403),
    ("localhost.evil.example.com", 403),
    ("127.0.0.1:{port}@evil.example.com", 403),
    ("evil.example.com#localhost", 403),
    ("localhost:", 403),
    ("localhost:{port}:{port}", 403),
    ("10.0.0.1:{port}", 403),
    ("2130706433:{port}", 403),
    ("0.0.0.0:{port}", 403),
    ("", 403),
    ("localhost, evil.example.com", 403),
)


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_only_hosts_of_this_machine_are_accepted(open_port: int, host: str, status: int) -> None:
    name = host.format(port=open_port)
    for path in ("/health", "/mcp"):
        answer = raw(
            open_port,
            f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode(),
        )
        wanted = status if path == "/health" or status == 403 else 406  # no stream was asked for
        assert status_of(answer) == wanted, answer


@pytest.mark.parametrize(
    "headers",
    [
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost\r\nHost: evil.example.com\r\n",
        "Host: evil.example.com\r\nHost: localhost\r\n",
        "",
    ],
)
def test_missing_or_second_host_header_is_refused(open_port: int, headers: str) -> None:
    for version in ("1.1", "1.0"):
        answer = raw(open_port, f"GET /health HTTP/{version}\r\n{headers}\r\n".encode())
        assert status_of(answer) == 403, answer


ORIGINS = (
    ("http://127.0.0.1:{port}", 200),
    ("http://localhost:{port}", 200),
    ("null", 403),
    ("http://evil.example.com", 403),
    ("http://evil.example.com:{port}", 403),
    ("http://localhost:1", 403),  # another program's page
    ("http://localhost", 403),
    ("http://localhost.evil.example.com:{port}", 403),
    ("http://localhost:{port}@evil.example.com", 403),
    ("http://localhost:{port}/", 403),
    ("file://", 403),
    ("chrome-extension://localhost:{port}", 403),
    ("", 403),
)


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
def test_only_pages_of_the_same_origin_may_call(open_port: int, origin: str, status: int) -> None:
    headers = {"Origin": origin.format(port=open_port)}
    assert ask(open_port, "GET", "/health", headers=headers).status == status
    assert greet(open_port, headers).status == status
    preflight = ask(open_port, "OPTIONS", headers=headers)
    assert preflight.status in {403, 405, 400}
    assert not any(name.startswith("access-control-") for name in preflight.headers)


def test_second_origin_header_is_checked(open_port: int) -> None:
    own = f"http://localhost:{open_port}"
    answer = raw(
        open_port,
        f"GET /health HTTP/1.1\r\nHost: localhost:{open_port}\r\nOrigin: {own}\r\n"
        "Origin: http://evil.example.com\r\n\r\n".encode(),
    )
    assert status_of(answer) == 403


TOKENS = (
    ((), 401),
    (("Bearer",), 401),
    (("Bearer ",), 401),
    (("Bearer wrong",), 401),
    ((f"Bearer {ALICE[:-1]}",), 401),
    ((f"Bearer {ALICE}x",), 401),
    ((f"Basic {ALICE}",), 401),
    ((ALICE,), 401),
    (("Bearer # alice",), 401),
    ((f"Bearer {ALICE}", f"Bearer {BOB}"), 401),
    ((f"Bearer {ALICE}",), 200),
    ((f"bearer {BOB}",), 200),
)


@pytest.mark.parametrize(("given_headers", "status"), TOKENS)
def test_token_file_makes_every_request_need_a_token(
    locked_port: int, given_headers: tuple[str, ...], status: int
) -> None:
    lines = "".join(f"Authorization: {value}\r\n" for value in given_headers)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    body = json.dumps(message).encode()
    accepts = "".join(f"{name}: {value}\r\n" for name, value in ACCEPT.items())
    head = f"HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{accepts}{lines}"
    answer = raw(
        locked_port, f"POST /mcp {head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )
    assert status_of(answer) == status
    assert (b'www-authenticate: Bearer realm="code-intel"' in answer.lower().replace(
        b"bearer", b"Bearer")) == (status == 401)  # fmt: skip
    elsewhere = raw(locked_port, f"GET /elsewhere {head}\r\n".encode())
    assert status_of(elsewhere) == (401 if status == 401 else 404)
    assert ALICE.encode() not in answer + elsewhere


def test_mcp_session_belongs_to_the_token_that_opened_it(locked_port: int) -> None:
    alice, bob = ({"Authorization": f"Bearer {token}"} for token in (ALICE, BOB))
    session = {"Mcp-Session-Id": greet(locked_port, alice).headers["mcp-session-id"]}
    ping = {"id": 2, "method": "ping"}
    assert post(locked_port, ping, alice | session).status == 200
    assert post(locked_port, ping, bob | session).status == 404
    assert ask(locked_port, "DELETE", headers=bob | session).status == 404
    assert post(locked_port, ping, session).status == 401
    assert post(locked_port, ping, alice | session).status == 200
    assert ask(locked_port, "DELETE", headers=alice | session).status == 200
    assert post(locked_port, ping, alice | session).status == 404


def test_unknown_mcp_session_is_404_and_missing_one_400(
    open_port: int,
) -> None:
    ping = {"id": 2, "method": "ping"}
    for guess in ("1", "0" * 32, "../x", "x" * 5000):
        assert post(open_port, ping, {"Mcp-Session-Id": guess}).status == 404
    assert post(open_port, ping).status == 400
    first, second = (greet(open_port).headers["mcp-session-id"] for _ in range(2))
    assert first != second
    assert len(first) >= 32


def healthy(reply: Reply) -> bool:
    body = reply.json()
    assert set(body) == {"status", "name", "version", "index"}
    return reply.status == 200 and body["status"] == "ok"


def test_health_needs_no_token_on_loopback_and_one_elsewhere(
    locked_port: int, indexed_shop: Path, token_file: Path
) -> None:
    bob = {"Authorization": f"Bearer {BOB}"}
    for name, status in (
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("code.example.com", 401),
        ("other.example.com", 403),
    ):
        assert ask(locked_port, "GET", "/health", headers={"Host": name}).status == status, name
    assert healthy(ask(locked_port, "GET", "/health", headers=bob | {"Host": "code.example.com"}))
    with serving_here(indexed_shop, host="0.0.0.0", token_file=token_file) as port:  # noqa: S104 - reachable from elsewhere
        assert ask(port, "GET", "/health").status == 401
        assert healthy(ask(port, "GET", "/health", headers=bob))
        foreign = ask(port, "GET", "/health", headers=bob | {"Host": "evil.example.com"})
        assert foreign.status == 403
        assert healthy(ask(port, "GET", "/health", headers=bob | {"Host": "192.0.2.7:80"}))


@pytest.mark.covers("error.writes_not_allowed")
@pytest.mark.anyio
async def test_index_server_changes_files_only_with_allow_writes(shop: Path) -> None:
    gone = {"filename": "docs/note.md", "remove_file": True}
    (shop / "docs").mkdir(exist_ok=True)
    note = shop / "docs" / "note.md"
    note.write_text("# Note\n", encoding="utf-8")
    matter = {"filepath": "docs/note.md", "domain": "other", "docType": "note"}
    calls: dict[str, dict[str, Any]] = {
        "delete_document": gone,
        "add_frontmatter": matter,
        "update_frontmatter": matter,
    }
    assert calls.keys() == WRITE_TOOLS
    assert {tool.name for tool in INDEX_TOOLS if tool.destructive} <= WRITE_TOOLS
    with serving_here(shop, corpus="forest") as port:
        async with client(port, ERAS[0]) as call:
            for tool, arguments in calls.items():
                error = await call.refused(tool, **arguments)
                assert error["error"] == "writes_not_allowed"
                assert "--allow-writes" in error["hint"]
            await call("index_markdown", filepath="docs/note.md")
    assert note.read_text(encoding="utf-8") == "# Note\n"
    with serving_here(shop, corpus="forest", writes=True) as port:
        async with client(port, ERAS[0]) as call:
            await call("delete_document", **gone)
    assert not note.exists()


REFUSED_OPTIONS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"http": 0, "host": "0.0.0.0"}, "--token-file"),  # noqa: S104 - reachable from elsewhere
    ({"http": 0, "host": "::"}, "--token-file"),
    ({"http": 0, "host": "no.such.host.invalid"}, "no.such.host.invalid"),
    ({"http": 0, "token_file": Path("no")}, "token_urlsafe"),
    ({"http": 65536}, "65536"),
    ({"token_file": Path("tokens")}, "--http"),
    ({"allow_writes": True}, "--http"),
)


@pytest.mark.parametrize(("options", "named"), REFUSED_OPTIONS)
def test_refused_options_are_named_with_the_remedy(
    options: dict[str, Any], named: str, tmp_path: Path
) -> None:
    given = dict.fromkeys(("http", "host", "token_file", "allow_host", "allow_writes")) | options
    settings = load_settings(tmp_path)
    with pytest.raises(CodeIntelError) as caught:
        serve(Namespace(**given), unused_server, io.BytesIO(), "code-intel", settings)
    assert caught.value.exit_code == 2
    assert named in f"{caught.value.message} {caught.value.hint}"


def unused_server() -> ToolServer:
    raise AssertionError


def test_port_in_use_is_refused_with_another_one(open_port: int, indexed_shop: Path) -> None:
    process = start(indexed_shop, "code-intel", "serve", "--http", str(open_port))
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert str(open_port) in stderr.decode()
    assert "--http 0" in stderr.decode()
    assert b"Traceback" not in stderr


BAD_FILES = (
    ("", 0o600, "contains no token"),
    ("# nothing\n\n", 0o600, "contains no token"),
    (ALICE, 0o640, "can be read by others"),
    (ALICE, 0o604, "can be read by others"),
    ("short", 0o600, "128 bits"),
    ("a" * 64, 0o600, "128 bits"),
    ("0123456789" * 3, 0o600, "128 bits"),
    (BOB[:-1], 0o600, "128 bits"),
    (f"{ALICE}\nshort", 0o600, "line 2"),
    ("two words " * 5, 0o600, "HTTP headers cannot contain"),
    ("パスワードパスワードパスワード", 0o600, "HTTP headers cannot contain"),
    (f"{ALICE}\n" * 9000, 0o600, "larger"),
)


@pytest.mark.parametrize(("text", "mode", "problem"), BAD_FILES)
def test_weak_or_readable_token_file_is_refused(
    tmp_path: Path, text: str, mode: int, problem: str
) -> None:
    path = tmp_path / "it's tokens"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    with pytest.raises(ConfigError, match=problem) as caught:
        read_tokens(path)
    assert caught.value.exit_code == 2
    assert caught.value.details["field"] == "token_file"
    assert "token_urlsafe" in caught.value.hint
    assert ALICE not in str(caught.value.as_dict())


def test_token_file_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokens", 0o600)
    with pytest.raises(ConfigError, match="is not a regular file"):
        read_tokens(tmp_path / "tokens")


def test_suggested_command_creates_an_accepted_token_file(tmp_path: Path) -> None:
    path = tmp_path / "my token"
    path_of_python = f"{BIN}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", token_command(path)], check=True, env={"PATH": path_of_python})
    token = path.read_text("ascii").strip()
    tokens = read_tokens(path)
    assert tokens.owner(f"Bearer {token}")
    assert tokens.owner(f"Bearer {token[:-1]}") is None


PIECES = [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "evil.example",
    ":",
    "80",
    "@",
    ".",
    "/",
    "#",
    "?",
    "[",
    "]",
    "\\",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_accepted_host_is_the_same_for_a_url_parser(host: str) -> None:
    names = frozenset({"localhost", "127.0.0.1", "::1"})
    with socket.socket() as unused:
        ours = Address(unused, loopback=True, names=names).is_ours(host)
    if ours:
        assert urlsplit(f"http://{host}/").hostname in names
    assert ours or host not in {"localhost", "127.0.0.1", "[::1]", "localhost:80", "[::1]:80"}


def test_answers_do_not_wait_for_acknowledgements() -> None:
    address = listen("127.0.0.1", 0)
    with address.socket, socket.create_connection(("127.0.0.1", address.port)):
        connection, _ = address.socket.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
