"""Check status and body of requests that the HTTP guard refuses."""

import json
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from code_intel.errors import UsageError
from code_intel.servers.http.address import listen
from code_intel.servers.http.guard import Policy, RequestGuard
from code_intel.servers.http.limits import Limits
from code_intel.servers.http.tokens import Tokens
from contract.manifest import faults_of_error

pytestmark = pytest.mark.anyio

TOKEN = "k3vQ9wZt7Lx2Rb8NsYd5Hc1MfGp6UjWa"  # noqa: S105 - used only here


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer requests that pass the guard."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def request(policy: Policy, *messages: Message, **headers: str) -> tuple[int, dict[str, Any]]:
    """Send one request to the guard; return the status and the body."""
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    sent: list[Message] = []
    waiting = list(messages or ({"type": "http.request", "body": b"", "more_body": False},))

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": pairs,
    }
    await RequestGuard(app, policy)(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return int(sent[0]["status"]), dict(json.loads(body))


@pytest.mark.covers(
    "error: foreign_host foreign_origin token_needed headers_too_large ambiguous_length"
    " too_large too_slow"
)
async def test_every_refusal_has_its_status_its_code_and_the_next_step() -> None:
    address = listen("127.0.0.1", 0)
    limits = Limits(body_bytes=10, body_seconds=0.02)
    policy = Policy(address, limits=limits)
    guarded = Policy(address, Tokens([TOKEN]), limits)
    here = f"127.0.0.1:{address.port}"
    half: Message = {"type": "http.request", "body": b"{", "more_body": True}
    try:
        assert await request(policy, host=here) == (200, {})
        assert await request(guarded, host=here, authorization=f"Bearer {TOKEN}") == (200, {})
        refused = [
            await request(policy, host="evil.example.com"),
            await request(policy, host=here, origin="http://evil.example.com"),
            await request(guarded, host=here, authorization="Bearer guessed"),
            await request(policy, host=here, padding="x" * limits.head_bytes),
            await request(policy, host=here, content_length="1", transfer_encoding="chunked"),
            await request(policy, host=here, content_length="11"),
            await request(policy, half, host=here),
        ]
    finally:
        address.socket.close()
    assert [(status, error["error"]) for status, error in refused] == [
        (403, "foreign_host"),
        (403, "foreign_origin"),
        (401, "token_needed"),
        (400, "headers_too_large"),
        (400, "ambiguous_length"),
        (413, "too_large"),
        (408, "too_slow"),
    ]
    assert [faults_of_error(error) for _, error in refused] == [[]] * 7
    assert all(error["hint"] for _, error in refused)


@pytest.mark.covers("error: token_required port_unusable")
def test_refused_and_used_addresses_are_errors() -> None:
    with pytest.raises(UsageError) as caught:
        listen("0.0.0.0", 0)  # noqa: S104 - must be refused
    assert caught.value.error == "token_required"
    assert "--token-file" in caught.value.hint
    taken = listen("127.0.0.1", 0)
    try:
        with pytest.raises(UsageError) as caught:
            listen("127.0.0.1", taken.port)
    finally:
        taken.socket.close()
    assert caught.value.error == "port_unusable"
    assert "--http 0" in caught.value.hint
