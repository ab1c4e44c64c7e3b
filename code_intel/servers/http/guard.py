"""Check every HTTP request before the application sees it.

`CHECKS` examine the headers, in this order, before the body is read. Then the whole body is read,
limited in size and time, so that the application never sees part of a request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from code_intel.servers.http.address import Address
from code_intel.servers.http.limits import Limits
from code_intel.servers.http.tokens import Tokens

HEALTH = "/health"


@dataclass(frozen=True)
class Policy:
    """The conditions that a request must meet.

    Attributes:
        address: The address to which it must be sent.
        tokens: The accepted tokens; None if it needs none, which is possible on loopback only.
        limits: The limits of sizes and durations.
    """

    address: Address
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)


class Refusal(NamedTuple):
    """A status and a JSON body, `{error, message, hint}`."""

    status: int
    error: str
    message: str
    hint: str


class RequestHead(NamedTuple):
    """A request before its body is read."""

    path: str
    headers: list[tuple[bytes, bytes]]
    query: bytes = b""

    def all(self, name: bytes) -> list[str]:
        """Return every value of a header; names are in lower case."""
        return [value.decode("latin-1") for key, value in self.headers if key == name]

    def size(self) -> int:
        """Return the bytes of the target and of the headers, with their `: ` and line endings."""
        lines = sum(len(key) + len(value) + 4 for key, value in self.headers)
        return len(self.path) + len(self.query) + lines


HEADERS_TOO_LARGE = Refusal(
    400, "headers_too_large", "The headers are too large.", "Send shorter headers."
)
WRONG_HOST = Refusal(
    403,
    "foreign_host",
    "The Host header does not name this server.",
    "Use the URL that the server printed.",
)
WRONG_ORIGIN = Refusal(
    403,
    "foreign_origin",
    "Web pages of another origin may not call this server.",
    "Call it from outside a browser.",
)
TOKEN_NEEDED = Refusal(
    401,
    "token_needed",
    "The request has no valid token for this server.",
    "Send the header Authorization: Bearer TOKEN.",
)
AMBIGUOUS_LENGTH = Refusal(
    400,
    "ambiguous_length",
    "The request has both Content-Length and Transfer-Encoding.",
    "Send one of the two headers.",
)
TOO_LARGE = Refusal(413, "too_large", "The body is too large.", "Send less in one request.")
TOO_SLOW = Refusal(408, "too_slow", "The body took too long to arrive.", "Send a smaller body.")


def check_head_size(policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse large headers.

    h11 does not limit headers that arrive in a single read.
    """
    return HEADERS_TOO_LARGE if head.size() > policy.limits.head_bytes else None


def check_host(policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse a Host header that does not name this server."""
    hosts = head.all(b"host")
    return None if len(hosts) == 1 and policy.address.is_ours(hosts[0]) else WRONG_HOST


def check_origin(policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse a request from a web page of another origin; `null` counts as another origin."""
    host = head.all(b"host")[0]
    is_own = all(policy.address.is_own_page(origin, host) for origin in head.all(b"origin"))
    return None if is_own else WRONG_ORIGIN


def check_token(policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse a request without a valid token, except a health check from this machine."""
    is_local = policy.address.is_called_locally(head.all(b"host")[0])
    if policy.tokens is None or (head.path == HEALTH and is_local):
        return None
    return None if owner_of(policy, head) else TOKEN_NEEDED


def check_framing(_policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse a request with both Content-Length and Transfer-Encoding.

    A proxy and this server could disagree on where its body ends.
    """
    both = head.all(b"content-length") and head.all(b"transfer-encoding")
    return AMBIGUOUS_LENGTH if both else None


def check_length(policy: Policy, head: RequestHead) -> Refusal | None:
    """Refuse a body whose Content-Length is above the limit, before any of it is read."""
    lengths = [value for value in head.all(b"content-length") if value.isdecimal()]
    return TOO_LARGE if any(int(value) > policy.limits.body_bytes for value in lengths) else None


CHECKS: tuple[Callable[[Policy, RequestHead], Refusal | None], ...] = (
    check_head_size,
    check_host,
    check_origin,
    check_token,
    check_framing,
    check_length,
)


def owner_of(policy: Policy, head: RequestHead) -> str | None:
    """Return the owner of the token in a request; None if there is no valid token."""
    values = head.all(b"authorization")
    return policy.tokens.owner(values[0]) if policy.tokens and len(values) == 1 else None


class RequestGuard:
    """ASGI middleware that forwards only the requests that `policy` allows."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, then forward or refuse it."""
        head = RequestHead(scope["path"], scope["headers"], scope["query_string"])
        refusals = (check(self._policy, head) for check in CHECKS)
        refusal = next((found for found in refusals if found), None)
        if refusal is not None:
            await refuse(refusal, scope, receive, send)
            return
        try:
            with anyio.fail_after(self._policy.limits.body_seconds):
                body = await read_body(receive, self._policy.limits.body_bytes)
        except TimeoutError:
            await refuse(TOO_SLOW, scope, receive, send)
            return
        except OverflowError:
            await refuse(TOO_LARGE, scope, receive, send)
            return
        if body is not None:
            if owner := owner_of(self._policy, head):
                # The SDK lets no other user join the MCP sessions of this user.
                scope["user"] = _user(owner)
            await self._app(scope, replay(body, receive), send)


def _user(owner: str) -> object:
    """Return the user of a request as the SDK expects it."""
    # Imported late: `code-intel ui` serves no MCP.
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))


async def read_body(receive: Receive, max_bytes: int) -> bytes | None:
    """Read the whole body; return None if the client has disconnected.

    Raises:
        OverflowError: The body is larger than `max_bytes`.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise OverflowError
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that returns first the whole body, then the messages of `receive`."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a refusal; uvicorn then reads and discards the rest of the body."""
    headers = {"WWW-Authenticate": 'Bearer realm="code-intel"'} if refusal is TOKEN_NEEDED else None
    content = {"error": refusal.error, "message": refusal.message, "hint": refusal.hint}
    await JSONResponse(content, refusal.status, headers)(scope, receive, send)
