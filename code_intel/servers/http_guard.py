"""Who may ask over HTTP: every request passes here first, and what is refused reaches nothing else.

Host, Origin, token and length are judged on the headers alone, in the order of `CHECKS`; then the body is
read whole, within its bounds, so that nothing behind meets half a request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from code_intel.servers.http_address import Address
from code_intel.servers.http_limits import Limits
from code_intel.servers.http_tokens import Tokens

HEALTH = "/health"


@dataclass(frozen=True)
class Policy:
    """What is asked of a request.

    Attributes:
        address: Where it must have been sent.
        tokens: What it must carry; None: nothing, and only loopback is open.
        limits: How large and slow it may be.
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


class Asked(NamedTuple):
    """A request before its body was read."""

    path: str
    headers: list[tuple[bytes, bytes]]

    def all(self, name: bytes) -> list[str]:
        """Return every value of a header; names are in lower case."""
        return [value.decode("latin-1") for key, value in self.headers if key == name]


FOREIGN_HOST = Refusal(
    403,
    "foreign_host",
    "This is not the host that was asked.",
    "Use the URL that the server printed.",
)
FOREIGN_ORIGIN = Refusal(
    403, "foreign_origin", "Pages of another origin may not ask.", "Ask from outside of a browser."
)
TOKEN_NEEDED = Refusal(
    401,
    "token_needed",
    "This server answers those who send one of its tokens.",
    "Send the header Authorization: Bearer TOKEN.",
)
AMBIGUOUS = Refusal(
    400, "ambiguous_length", "The body has two lengths.", "Send Content-Length or chunks, not both."
)
TOO_LARGE = Refusal(413, "too_large", "The body is too large.", "Send less in one request.")
TOO_SLOW = Refusal(408, "too_slow", "The body took too long.", "Send it again, faster.")


def check_host(policy: Policy, asked: Asked) -> Refusal | None:
    """Refuse any Host but one of our own names."""
    hosts = asked.all(b"host")
    return None if len(hosts) == 1 and policy.address.is_ours(hosts[0]) else FOREIGN_HOST


def check_origin(policy: Policy, asked: Asked) -> Refusal | None:
    """Refuse what a page sends that did not come from here; `null` is one."""
    host = asked.all(b"host")[0]
    own = all(policy.address.is_own_page(origin, host) for origin in asked.all(b"origin"))
    return None if own else FOREIGN_ORIGIN


def check_token(policy: Policy, asked: Asked) -> Refusal | None:
    """Refuse whoever has no token, where there are tokens; who looks after this machine may ask for health."""
    here = policy.address.is_called_locally(asked.all(b"host")[0])
    if policy.tokens is None or (asked.path == HEALTH and here):
        return None
    return None if owner_of(policy, asked) else TOKEN_NEEDED


def check_framing(_policy: Policy, asked: Asked) -> Refusal | None:
    """Refuse a body whose end a proxy may see elsewhere than we do."""
    both = asked.all(b"content-length") and asked.all(b"transfer-encoding")
    return AMBIGUOUS if both else None


def check_length(policy: Policy, asked: Asked) -> Refusal | None:
    """Refuse a body that is said to be too large, before any of it was read."""
    declared = [value for value in asked.all(b"content-length") if value.isdecimal()]
    return TOO_LARGE if any(int(value) > policy.limits.body_bytes for value in declared) else None


CHECKS: tuple[Callable[[Policy, Asked], Refusal | None], ...] = (
    check_host,
    check_origin,
    check_token,
    check_framing,
    check_length,
)


def owner_of(policy: Policy, asked: Asked) -> str | None:
    """Return whose token a request carries."""
    given = asked.all(b"authorization")
    return policy.tokens.owner(given[0]) if policy.tokens and len(given) == 1 else None


class Guard:
    """The application, for those who may ask."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        asked = Asked(scope["path"], scope["headers"])
        refusals = (check(self._policy, asked) for check in CHECKS)
        refusal = next((found for found in refusals if found), None)
        if refusal is not None:
            await _refuse(refusal, scope, receive, send)
            return
        try:
            with anyio.fail_after(self._policy.limits.body_seconds):
                body = await _body(receive, self._policy.limits.body_bytes)
        except TimeoutError:
            await _refuse(TOO_SLOW, scope, receive, send)
            return
        except OverflowError:
            await _refuse(TOO_LARGE, scope, receive, send)
            return
        if body is not None:
            if owner := owner_of(self._policy, asked):
                # The SDK lets nobody else use the MCP sessions of this user.
                scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
            await self._app(scope, _replaying(body, receive), send)


async def _body(receive: Receive, most: int) -> bytes | None:
    """Read a body; None when the client went away.

    Raises:
        OverflowError: It is larger than `most` bytes.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            raise OverflowError
        if not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the whole body first."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer; the rest of the body is thrown away, since a client reads no answer while it sends."""
    headers = {"WWW-Authenticate": 'Bearer realm="code-intel"'} if refusal is TOKEN_NEEDED else None
    content = {"error": refusal.error, "message": refusal.message, "hint": refusal.hint}
    await JSONResponse(content, refusal.status, headers)(scope, receive, send)
