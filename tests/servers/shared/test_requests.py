"""What happens to a request before its handler: who may ask, how much, and what is logged."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from code_intel.errors import NotFoundError, UpstreamError
from code_intel.servers.shared.access.token_file import TokenTable, change_tokens
from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.services import QUEUE_FACTOR, Caller
from contract.manifest import faults_of_error
from oidc_issuer import AUDIENCE, OidcIssuer, oidc_issuer
from servers.http_processes import raw, status_of
from servers.shared.instances import Instance, instance


async def echo(caller: Caller, request: Request) -> Response:
    """Return the name of the caller, and the size of the body."""
    body = await request.body()
    return JSONResponse({"principal": caller.principal.id, "size": len(body)})


async def push(caller: Caller, request: Request) -> Response:
    caller.require("push", request.path_params["name"])
    return JSONResponse({})


async def fail(_caller: Caller, request: Request) -> Response:
    errors: dict[str, Exception] = {
        "missing": NotFoundError("There is no such thing."),
        "engine": UpstreamError("The engine does not answer."),
        "defect": ZeroDivisionError("secret text"),
    }
    raise errors[request.path_params["name"]]


ROUTES = (
    ApiRoute("POST", "/v1/echo", echo),
    ApiRoute("POST", "/v1/large", echo, pushes=True),
    ApiRoute("POST", "/v1/push/{name:path}", push),
    ApiRoute("GET", "/v1/fail/{name}", fail),
)
MIB = 1 << 20


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Instance]:
    with instance(tmp_path / "one", routes=ROUTES, body_mib=1, push_body_mib=2) as started:
        yield started


@pytest.mark.covers("rule.shared.token")
@pytest.mark.parametrize("path", ["/v1/echo", "/mcp"])
@pytest.mark.parametrize(
    "header",
    [{}, {"Authorization": "Bearer nope"}, {"Authorization": "Basic x"}, {"Authorization": "x"}],
)
def test_a_request_without_a_valid_token_learns_only_that(
    running: Instance, path: str, header: dict[str, str]
) -> None:
    running.token("read:**")
    reply = running.ask("POST", path, b"{}", headers=header)
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer ")
    assert reply.json()["error"] == "invalid_token"


def test_a_token_is_accepted_until_it_is_revoked(running: Instance) -> None:
    token, token_id = running.token_and_id("read:**")
    reply = running.ask("POST", "/v1/echo", b"abc", token)
    assert reply.json() == {"principal": f"token:{token_id}", "size": 3}

    def revoke(table: TokenTable) -> TokenTable:
        return table.with_row(replace(table.find(token_id), revoked_at="2026-01-01T00:00:00+00:00"))

    change_tokens(running.tokens, revoke)
    began = time.monotonic()
    while running.ask("POST", "/v1/echo", b"abc", token).status != 401:
        assert time.monotonic() - began < 60


@pytest.mark.covers("error.ambiguous_token")
def test_two_tokens_in_one_request_are_refused(running: Instance) -> None:
    token = running.token("read:**")
    line = f"Authorization: Bearer {token}\r\n"
    head = f"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\n{line}{line}Content-Length: 0\r\n\r\n"
    answer = raw(running.port, head.encode())
    assert status_of(answer) == 400
    assert "ambiguous_token" in answer.decode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example.com"}, 403),
        ({"Origin": "https://evil.example.com"}, 403),
        ({"X": "y" * 20_000}, 400),
        ({}, 200),
    ],
)
def test_requests_for_another_server_or_of_a_web_page_are_refused(
    running: Instance, headers: dict[str, str], status: int
) -> None:
    token = running.token("read:**")
    assert running.ask("POST", "/v1/echo", b"", token, headers).status == status


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/v1/echo", MIB, 200),
        ("/v1/echo", MIB + 1, 413),
        ("/v1/large", 2 * MIB, 200),
        ("/v1/large", 2 * MIB + 1, 413),
        ("/mcp", MIB + 1, 413),
    ],
)
def test_a_body_has_a_maximum_size_that_depends_on_the_route(
    running: Instance, path: str, size: int, status: int
) -> None:
    assert running.ask("POST", path, b"x" * size, running.token("push:**")).status == status


def test_a_body_without_a_length_is_limited_while_it_arrives(running: Instance) -> None:
    token = running.token("read:**")
    head = (
        f"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert status_of(raw(running.port, head.encode() + chunk * 20 + b"0\r\n\r\n")) == 413


@pytest.mark.covers("rule.shared.token")
def test_the_body_of_a_stranger_is_not_read(running: Instance) -> None:
    head = "POST /v1/large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
    assert status_of(raw(running.port, head.encode())) == 401


def test_a_slow_client_does_not_keep_others_waiting(running: Instance) -> None:
    token = running.token("read:**")
    head = (
        f"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 10\r\n\r\nab"
    )
    with socket.create_connection(("127.0.0.1", running.port)) as slow:
        slow.sendall(head.encode())
        for _ in range(20):
            assert running.ask("POST", "/v1/echo", b"abc", token).status == 200
        slow.sendall(b"cdefghij")
        assert status_of(slow.recv(4096)) == 200


def test_an_instance_reads_only_as_many_bodies_as_its_memory_allows(running: Instance) -> None:
    token = running.token("read:**")
    running.services.bodies.free = MIB
    head = (
        f"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {MIB - 100}\r\n\r\nab"
    )
    with socket.create_connection(("127.0.0.1", running.port)) as slow:
        slow.sendall(head.encode())
        while running.services.bodies.free > 1000:
            pass
        refused = running.ask("POST", "/v1/echo", b"x" * 100_000, token)
        assert (refused.status, refused.json()["error"]) == (503, "busy")
        assert refused.headers["retry-after"] == "2"
        assert running.ask("POST", "/v1/echo", b"abc", token).status == 200
    while running.services.bodies.free < MIB:
        pass
    assert running.ask("POST", "/v1/echo", b"x" * 100_000, token).status == 200


def test_a_request_is_refused_if_too_many_wait(tmp_path: Path) -> None:
    release = threading.Event()

    async def wait(caller: Caller, _request: Request) -> Response:
        await to_thread.run_sync(release.wait, limiter=caller.services.threads)
        return JSONResponse({})

    routes = (ApiRoute("POST", "/v1/wait", wait),)
    limits = {"concurrent": 100, "burst": 100}
    with instance(tmp_path / "one", routes=routes, threads=1, limits=limits) as running:
        token = running.token("read:**")
        with ThreadPoolExecutor(1 + QUEUE_FACTOR) as clients:
            replies = [
                clients.submit(running.ask, "POST", "/v1/wait", b"", token)
                for _ in range(1 + QUEUE_FACTOR)
            ]
            while running.services.threads.statistics().tasks_waiting < QUEUE_FACTOR:
                pass
            refused = running.ask("POST", "/v1/wait", b"", token)
            assert (refused.status, refused.json()["error"]) == (503, "busy")
            release.set()
            assert {each.result().status for each in replies} == {200}
        assert running.ask("POST", "/v1/wait", b"", token).status == 200


def test_a_client_that_goes_away_leaves_no_running_request(running: Instance) -> None:
    token = running.token("read:**")
    head = (
        f"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 10\r\n\r\nab"
    )
    for _ in range(40):  # more than may run at once
        with socket.create_connection(("127.0.0.1", running.port)) as leaving:
            leaving.sendall(head.encode())
    assert running.ask("POST", "/v1/echo", b"abc", token).status in {200, 429}
    deadline = time.monotonic() + 30
    while running.ask("POST", "/v1/echo", b"abc", token).status != 200:
        assert time.monotonic() < deadline


@pytest.mark.covers(
    "rule.shared.limits",
    "error.too_many_requests",
    "error.too_many_requests.limit",
    "error.too_many_requests.retry_after_s",
)
def test_too_many_requests_are_refused_with_the_time_to_wait(tmp_path: Path) -> None:
    limits = {"requests_per_minute": 6, "burst": 2}
    with instance(tmp_path / "one", routes=ROUTES, limits=limits) as running:
        token, other = running.token("read:**"), running.token("read:**")
        replies = [running.ask("POST", "/v1/echo", b"", token) for _ in range(4)]
        assert [reply.status for reply in replies] == [200, 200, 429, 429]
        error = replies[-1].json()
        assert not faults_of_error(error)
        assert (error["error"], error["limit"]) == ("too_many_requests", "requests_per_minute")
        assert 0 < error["retry_after_s"] <= 10
        assert 0 < int(replies[-1].headers["retry-after"]) <= 10
        assert running.ask("POST", "/v1/echo", b"", other).status == 200


def test_a_day_of_bytes_is_limited(tmp_path: Path) -> None:
    with instance(tmp_path / "one", routes=ROUTES, limits={"mib_per_day": 1}) as running:
        token = running.token("read:**")
        sizes = [running.ask("POST", "/v1/echo", b"x" * (600 << 10), token) for _ in range(2)]
        assert [reply.status for reply in sizes] == [200, 429]
        assert sizes[-1].json()["limit"] == "mib_per_day"


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("missing", 404, "not_found"),
        ("engine", 503, "upstream_failed"),
        ("defect", 500, "unexpected"),
    ],
)
def test_errors_are_json_with_a_next_step(
    running: Instance, name: str, status: int, error: str
) -> None:
    reply = running.ask("GET", f"/v1/fail/{name}", token=running.token("read:**"))
    assert (reply.status, reply.json()["error"]) == (status, error)
    assert reply.json()["hint"]
    assert b"secret text" not in reply.body


@pytest.mark.covers("error.forbidden", "rule.shared.hidden")
@pytest.mark.parametrize(
    ("grant", "name", "status"),
    [
        ("push:team/*", "team/shop", 200),
        ("read:team/*", "team/shop", 403),
        ("push:team/*", "other/shop", 404),
        ("push:team/*", "", 404),
    ],
)
def test_a_scope_that_is_missing_is_named_only_for_readable_repositories(
    running: Instance, grant: str, name: str, status: int
) -> None:
    reply = running.ask("POST", f"/v1/push/{name}", token=running.token(grant))
    assert reply.status == status
    if status != 200:
        error = {403: "forbidden", 404: "not_found"}[status]
        assert not faults_of_error(reply.json())
        assert reply.json()["error"] == error


def test_a_path_that_does_not_exist_is_not_found_with_and_without_a_token(
    running: Instance,
) -> None:
    token = running.token("read:**")
    assert running.ask("GET", "/v1/nothing", token=token).status == 404
    assert running.ask("GET", "/v1/nothing").status == 404
    assert running.ask("DELETE", "/v1/echo", token=token).status == 405


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_client_can_hold_a_stream_or_a_session(running: Instance, method: str) -> None:
    assert running.ask(method, "/mcp", token=running.token("read:**")).status == 405


@pytest.mark.covers("rule.shared.audit")
def test_the_log_has_a_line_per_request_with_its_id_and_sender(running: Instance) -> None:
    token, token_id = running.token_and_id("read:team/*")
    reply = running.ask("POST", "/v1/push/team/shop", b"abc", token)
    refused = running.ask("POST", "/v1/echo", b"abc", "wrong")
    first, second = running.lines(2)
    assert first["id"] == reply.headers["x-request-id"]
    assert first["principal"] == f"token:{token_id}"
    assert first["route"] == "/v1/push/{name:path}"
    assert first["repositories"] == ["team/shop"]
    assert (first["status"], first["received"], first["sent"]) == (403, 3, len(reply.body))
    assert (second["id"], second["status"]) == (refused.headers["x-request-id"], 401)
    assert second["principal"] == ""
    assert token not in str(running.log())


@pytest.mark.covers("rule.shared.health")
def test_health_needs_no_token_and_is_not_logged(running: Instance) -> None:
    reply = running.ask("GET", "/healthz")
    assert (reply.status, reply.json()["status"]) == (200, "ok")
    assert running.log() == []


@pytest.mark.covers("rule.shared.health")
def test_metrics_need_an_administrator(running: Instance) -> None:
    assert running.ask("GET", "/metrics").status == 401
    assert running.ask("GET", "/metrics", token=running.token("push:**")).status == 403
    running.ask("POST", "/v1/push/secret-name", headers={"Authorization": "Bearer wrong"})
    reply = running.ask("GET", "/metrics", token=running.token("admin:ops"))
    text = reply.body.decode()
    assert reply.status == 200
    assert 'code_intel_refused_tokens_total{reason="unknown token"} 1.0' in text
    assert 'route="/metrics",status="403",tool=""' in text
    assert "code_intel_token_file_age_seconds" not in text  # this instance was built by the test
    assert "secret-name" not in text


def test_metrics_can_be_open(tmp_path: Path) -> None:
    with instance(tmp_path / "one", routes=ROUTES, metrics_open=True) as running:
        assert running.ask("GET", "/metrics").status == 200


# --- JWTs


@pytest.fixture
def issuer() -> Iterator[OidcIssuer]:
    with oidc_issuer() as started:
        yield started


def oidc_settings(issuer: OidcIssuer) -> dict[str, Any]:
    return {
        "public_url": "https://code.example.com",
        "oidc": {
            "issuer": issuer.url,
            "audience": AUDIENCE,
            "jwks_url": issuer.jwks_url,
            "grants": [{"claim": "groups", "value": "payments", "grants": ["push:pay/*"]}],
        },
    }


@pytest.mark.covers("rule.shared.jwt")
def test_a_jwt_and_a_token_are_accepted_side_by_side(tmp_path: Path, issuer: OidcIssuer) -> None:
    with instance(tmp_path / "one", routes=ROUTES, **oidc_settings(issuer)) as running:
        reply = running.ask("POST", "/v1/echo", b"", issuer.token())
        assert reply.json()["principal"] == "oidc:alice"
        assert running.ask("POST", "/v1/push/pay/x", token=issuer.token()).status == 200
        assert running.ask("POST", "/v1/push/x", token=issuer.token()).status == 404
        assert running.ask("POST", "/v1/push/x", token=running.token("push:x")).status == 200
        expired = issuer.token(exp=1_000_000)
        assert running.ask("POST", "/v1/echo", b"", expired).status == 401


def test_a_denied_subject_is_refused_although_its_jwt_is_valid(
    tmp_path: Path, issuer: OidcIssuer
) -> None:
    with instance(tmp_path / "one", routes=ROUTES, **oidc_settings(issuer)) as running:
        assert running.ask("POST", "/v1/echo", b"", issuer.token()).status == 200
        change_tokens(running.tokens, lambda table: replace(table, denied=("oidc:alice",)))
        running.follow()
        assert running.ask("POST", "/v1/echo", b"", issuer.token()).status == 401
        assert running.ask("POST", "/v1/echo", b"", issuer.token(sub="bob")).status == 200


def test_a_client_without_a_token_learns_which_issuer_gives_one(
    tmp_path: Path, issuer: OidcIssuer
) -> None:
    with instance(tmp_path / "one", routes=ROUTES, **oidc_settings(issuer)) as running:
        reply = running.ask("POST", "/mcp", b"{}")
        url = "https://code.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{url}"' in reply.headers["www-authenticate"]
        metadata = running.ask("GET", "/.well-known/oauth-protected-resource/mcp").json()
        assert metadata["resource"] == "https://code.example.com/mcp"
        assert [server.rstrip("/") for server in metadata["authorization_servers"]] == [issuer.url]


def test_requests_go_on_while_the_issuer_does_not_answer(
    tmp_path: Path, issuer: OidcIssuer
) -> None:
    issuer.is_broken = True
    with instance(tmp_path / "one", routes=ROUTES, **oidc_settings(issuer)) as running:
        assert running.ask("POST", "/v1/echo", b"", issuer.token()).status == 401
        assert running.ask("POST", "/v1/echo", b"", running.token("read:x")).status == 200
