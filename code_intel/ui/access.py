"""Decide which requests the page answers (docs/decisions/0091).

A link with a random token opens the page in one browser, which gets a cookie. All other requests
need this cookie, and a POST also needs the CSRF token that is in the forms of the page. The checks
of Host, Origin and sizes are those of `servers.http.guard`, which runs first.

Browsers send the cookie of a server to every port of this machine, so it is limited to a random
path, below which all pages are. `AccessGuard` takes this path off before a page sees a request, and
`rendering` puts it before the addresses in a page.
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
_FOREIGN = frozenset({"cross-site", "same-site"})
"""Values of Sec-Fetch-Site for requests that pages of other servers have caused."""

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
        port: The port, which is part of the cookie's name.
        readonly: Whether every write is refused.
        say: Prints a line for the person who started the server.
        path: The random path below which all pages are.
    """

    port: int
    readonly: bool = False
    say: Callable[[str], None] = lambda _line: None
    path: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(12)}")
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
        return f"http://127.0.0.1:{self.port}{self.path}{OPEN_PATH}?token={self._link_token}"

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
            self.cookie, self._cookie_value, httponly=True, samesite="strict", path=f"{self.path}/"
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
        send = _with_headers(send, scope["path"], self._access.path)
        inner = _below(scope, self._access.path)
        if inner is None:
            await _not_opened(Request(scope))(scope, receive, send)
            return
        request = Request(inner, receive)
        refusal = await self._refusal(request)
        answer = self._app if refusal is None else refusal
        await answer(inner, request.receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        """Return the error page of a request that is refused."""
        path = request.scope["path"]
        is_public = path == OPEN_PATH or path.startswith(STATIC_PATH)
        if request.method not in {"GET", "POST"}:
            return render_bare(
                request, N_("The page answers GET and POST."), N_("Use its links."), 405
            )
        if is_public and request.method == "GET":
            return None
        if not self._access.admits(request):
            return _not_opened(request)
        if request.headers.get("sec-fetch-site", "") in _FOREIGN:
            return render_bare(
                request,
                N_("Pages of other servers may not open this page."),
                N_("Open it in a window of its own."),
                403,
            )
        return await self._refused_form(request) if request.method == "POST" else None

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


def _below(scope: Scope, path: str) -> Scope | None:
    """Return a request with its path relative to another one; None if it is not below it."""
    if not scope["path"].startswith(f"{path}/"):
        return None
    rest = scope["path"].removeprefix(path)
    return {**scope, "path": rest, "raw_path": rest.encode(), "state": {}}


def _not_opened(request: Request) -> Response:
    return render_bare(
        request,
        N_("This browser has not opened the page."),
        N_("Open the link that `code-intel ui` printed last."),
        403,
    )


def _with_headers(send: Send, path: str, prefix: str) -> Send:
    """Return a function that adds the security headers, and the random path to redirects."""
    caching = CACHE_STATIC if path.startswith(prefix + STATIC_PATH) else CACHE_PAGE
    extra = [(name.encode(), value.encode()) for name, value in (*SECURITY_HEADERS, caching)]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = [
                (name, prefix.encode() + value if _is_local_redirect(name, value) else value)
                for name, value in message.get("headers", ())
            ]
            message["headers"] = [*given, *extra]
        await send(message)

    return send_with_headers


def _is_local_redirect(name: bytes, value: bytes) -> bool:
    return name == b"location" and value.startswith(b"/")
