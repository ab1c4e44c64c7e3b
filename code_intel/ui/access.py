"""Decide which requests the page answers (docs/decisions/0091).

A link with a random token opens the page in one browser, which gets a cookie. All other requests
need this cookie, and a POST also needs the CSRF token that is in the forms of the page. The checks
of Host, Origin and sizes are those of `servers.http.guard`, which runs first.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from code_intel.ui.language import N_
from code_intel.ui.rendering import render_bare

MAX_FORM_FIELDS = 2000
CSRF_FIELD = "csrf"
OPEN_PATH = "/open"
STATIC_PATH = "/static/"
_READING = frozenset({"GET", "HEAD"})

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    # `no-referrer` would make browsers send `Origin: null` with forms.
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
)
CACHE_PAGE = ("cache-control", "no-store")
CACHE_STATIC = ("cache-control", "no-cache")


@dataclass
class Access:
    """The secrets of one server.

    Attributes:
        port: The port, which is part of the cookie's name: cookies do not separate ports.
        readonly: Whether every write is refused.
        say: Prints a line for the person who started the server.
    """

    port: int
    readonly: bool = False
    say: Callable[[str], None] = lambda _line: None
    _cookie_value: str = field(default_factory=secrets.token_urlsafe)
    _link_token: str = field(default_factory=secrets.token_urlsafe)

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"code_intel_ui_{self.port}"

    @property
    def csrf(self) -> str:
        """The token in the forms of the page."""
        return hmac.new(self._cookie_value.encode(), b"csrf", hashlib.sha256).hexdigest()

    @property
    def link(self) -> str:
        """The link that opens the page in one browser."""
        return f"http://127.0.0.1:{self.port}{OPEN_PATH}?token={self._link_token}"

    def redeem(self, token: str) -> bool:
        """Return whether a token is the current one, which is then replaced."""
        if not hmac.compare_digest(token.encode(), self._link_token.encode()):
            return False
        self._link_token = secrets.token_urlsafe()
        self.say(f"opened in a browser. This link opens another one: {self.link}")
        return True

    def admits(self, request: Request) -> bool:
        """Return whether a request has the cookie."""
        sent = request.cookies.get(self.cookie, "")
        return hmac.compare_digest(sent.encode(), self._cookie_value.encode())

    def admit(self, response: Response) -> None:
        """Give a browser the cookie."""
        response.set_cookie(
            self.cookie, self._cookie_value, httponly=True, samesite="strict", path="/"
        )

    def has_form_token(self, sent: str) -> bool:
        """Return whether a form has the CSRF token."""
        return hmac.compare_digest(sent.encode(), self.csrf.encode())


class AccessGuard:
    """ASGI middleware that forwards only what `access` allows, and adds the security headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, then forward or refuse it."""
        request = Request(scope, receive)
        send = _with_headers(send, request.url.path)
        refusal = await self._refusal(request)
        if refusal is None:
            await self._app(scope, request.receive, send)
        else:
            await refusal(scope, request.receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        """Return the error page of a request that is refused."""
        if request.method in _READING and request.url.path.startswith((OPEN_PATH, STATIC_PATH)):
            return None
        if not self._access.admits(request):
            return render_bare(
                request,
                N_("This browser has not opened the page."),
                N_("Open the link that `code-intel ui` printed last."),
                403,
            )
        if request.method in _READING:
            return None
        if request.method != "POST":
            return render_bare(
                request, N_("The page answers GET and POST."), N_("Use its links."), 405
            )
        return await self._refused_form(request)

    async def _refused_form(self, request: Request) -> Response | None:
        """Read the form of a POST; return an error page if it may not write."""
        try:
            pairs = parse_qsl(
                (await request.body()).decode(),
                keep_blank_values=True,
                max_num_fields=MAX_FORM_FIELDS,
            )
        except ValueError:
            return render_bare(request, N_("The form cannot be read."), N_("Send it again."), 400)
        form = ImmutableMultiDict(pairs)
        if not self._access.has_form_token(form.get(CSRF_FIELD, "")):
            return render_bare(
                request,
                N_("The form does not come from this page, or is older than this server."),
                N_("Go back, load the page again, and repeat the change."),
                403,
            )
        if self._access.readonly:
            return render_bare(
                request,
                N_("This page only reads."),
                N_("Start `code-intel ui` without `--read-only` to change the map."),
                403,
            )
        request.state.form = form
        return None


def form_of(request: Request) -> "ImmutableMultiDict[str, str]":
    """Return the form of a POST that the guard has accepted."""
    form: ImmutableMultiDict[str, str] = request.state.form
    return form


def _with_headers(send: Send, path: str) -> Send:
    caching = CACHE_STATIC if path.startswith(STATIC_PATH) else CACHE_PAGE
    extra = [(name.encode(), value.encode()) for name, value in (*SECURITY_HEADERS, caching)]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *extra]
        await send(message)

    return send_with_headers
