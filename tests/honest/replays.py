"""Three projects like those in which agents tried the gateway, and their tasks.

Each is a small copy of the part of a web framework that its task is about, with neighbours that
share words with the request.
"""

from honest.sessions import Honest

PROJECTS = {
    "cookies": {
        "src/web/sessions.py": '''"""Client-side sessions in signed cookies."""

from web.signing import Serializer
from web.tags import TaggedSerializer


class SessionInterface:
    """How an application opens and saves its sessions."""

    def get_cookie_name(self, app):
        """Return the name of the session cookie."""
        return app.config["SESSION_COOKIE_NAME"]

    def get_cookie_domain(self, app):
        """Return the domain of the session cookie."""
        return app.config["SESSION_COOKIE_DOMAIN"]

    def should_set_cookie(self, app, session):
        """Return whether the cookie must be sent again."""
        return session.modified or session.permanent


class SecureCookieSessionInterface(SessionInterface):
    """Stores sessions in signed cookies."""

    def get_signing_serializer(self, app):
        """Return the serializer that signs the session."""
        return Serializer(app.secret_key, TaggedSerializer())

    def open_session(self, app, request):
        """Read the session from the request's cookie."""
        value = request.cookies.get(self.get_cookie_name(app))
        return self.get_signing_serializer(app).loads(value) if value else {}

    def save_session(self, app, session, response):
        """Write the session into the response's cookie.

        Browsers silently drop a cookie that is too large.
        """
        if not self.should_set_cookie(app, session):
            return
        value = self.get_signing_serializer(app).dumps(dict(session))
        name, domain = self.get_cookie_name(app), self.get_cookie_domain(app)
        response.set_cookie(name, value, domain=domain)
''',
        "src/web/signing.py": '''"""Signatures of values."""

import hmac


class Serializer:
    """Signs and checks values."""

    def __init__(self, key, inner):
        self.key, self.inner = key, inner

    def dumps(self, value):
        """Return a value as signed text."""
        text = self.inner.dumps(value)
        return text + "." + hmac.new(self.key, text.encode(), "sha1").hexdigest()

    def loads(self, text):
        """Return the value of a signed text."""
        return self.inner.loads(text.rpartition(".")[0])
''',
        "src/web/tags.py": '''"""JSON with tags for types that JSON does not have."""

import json


class TaggedSerializer:
    """Writes and reads tagged JSON."""

    def dumps(self, value):
        """Return a value as JSON."""
        return json.dumps(value)

    def loads(self, text):
        """Return the value of a text."""
        return json.loads(text)
''',
        "src/web/app.py": '''"""The application."""

from web.logs import create_logger
from web.sessions import SecureCookieSessionInterface


class App:
    """Routes requests and finishes responses."""

    session_interface = SecureCookieSessionInterface()

    def __init__(self, config):
        self.config = config
        self.logger = create_logger(self)

    def process_response(self, session, response):
        """Finish a response: run the functions that are registered for it, save the session."""
        self.session_interface.save_session(self, session, response)
        return response
''',
        "src/web/logs.py": '''"""The logger of an application."""

import logging


def create_logger(app):
    """Return the logger of an application, with a handler if it has none."""
    logger = logging.getLogger(app.config["NAME"])
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler())
    return logger
''',
        "tests/test_sessions.py": '''"""Sessions are kept in a cookie."""

from web.sessions import SecureCookieSessionInterface


def test_session_is_saved(app, response):
    SecureCookieSessionInterface().save_session(app, {"a": 1}, response)
    assert response.cookies
''',
    },
    "panics": {
        "recovery.go": """package web

import (
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
)

// Recovery returns a middleware that recovers from panics and writes a 500 if there was one.
func Recovery() HandlerFunc {
	return RecoveryWithWriter(log.Default())
}

// RecoveryWithWriter returns a recovery middleware that writes to the given log.
func RecoveryWithWriter(out *log.Logger) HandlerFunc {
	return func(c *Context) {
		defer func() {
			if err := recover(); err != nil {
				out.Printf("[Recovery] panic:\\n%s\\n%v", secureRequestDump(c.Request), err)
				c.AbortWithStatus(http.StatusInternalServerError)
			}
		}()
		c.Next()
	}
}

// secureRequestDump returns the dump of a request for the panic log, with the Authorization header
// masked. Other headers, like Cookie, are written in plain text.
func secureRequestDump(r *http.Request) string {
	dump, _ := httputil.DumpRequest(r, false)
	lines := strings.Split(string(dump), "\\r\\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "Authorization:") {
			lines[i] = "Authorization: *"
		}
	}
	return strings.Join(lines, "\\r\\n")
}
""",
        "context.go": """package web

import "net/http"

// HandlerFunc handles a request.
type HandlerFunc func(*Context)

// Context carries a request through its handlers.
type Context struct {
	Request  *http.Request
	Writer   http.ResponseWriter
	handlers []HandlerFunc
	index    int
}

// Next runs the handlers that are left.
func (c *Context) Next() {
	for c.index++; c.index < len(c.handlers); c.index++ {
		c.handlers[c.index](c)
	}
}

// AbortWithStatus ends the chain and writes a status.
func (c *Context) AbortWithStatus(code int) {
	c.index = len(c.handlers)
	c.Writer.WriteHeader(code)
}

// SetCookie adds a Set-Cookie header to the response.
func (c *Context) SetCookie(name, value string) {
	http.SetCookie(c.Writer, &http.Cookie{Name: name, Value: value})
}
""",
        "logger.go": """package web

import (
	"log"
	"time"
)

// Logger returns a middleware that writes a line for each request to the log.
func Logger() HandlerFunc {
	return func(c *Context) {
		started := time.Now()
		c.Next()
		log.Printf("%s %s %v", c.Request.Method, c.Request.URL.Path, time.Since(started))
	}
}
""",
        "recovery_test.go": """package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestSecureRequestDump(t *testing.T) {
	r, _ := http.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer x")
	if strings.Contains(secureRequestDump(r), "Bearer") {
		t.Fatal("the header is not masked")
	}
}
""",
    },
    "redirects": {
        "src/client/sessions.py": '''"""Sessions that follow redirects."""

from urllib.parse import urlparse

from client.cookies import cookies_from

DEFAULT_PORTS = {"http": 80, "https": 443}


class RedirectMixin:
    """Follows redirects."""

    def get_redirect_target(self, response):
        """Return the location of a redirect, or None."""
        return response.headers.get("location") if response.is_redirect else None

    def should_strip_auth(self, old_url, new_url):
        """Return whether the Authorization header must be removed for another host."""
        old, new = urlparse(old_url), urlparse(new_url)
        if old.hostname != new.hostname:
            return True
        return old.scheme != new.scheme and (old.scheme, new.scheme) != ("http", "https")

    def rebuild_auth(self, request, response):
        """Remove the credentials of a request that is redirected to another host."""
        if self.should_strip_auth(response.request.url, request.url):
            request.headers.pop("Authorization", None)

    def resolve_redirects(self, response, request):
        """Send a request again to each location that it is redirected to.

        The Cookie header of the new request is made from the session's cookies, also where the
        redirect leads from https to http.
        """
        while target := self.get_redirect_target(response):
            request = request.copy(url=target)
            request.headers.pop("Cookie", None)
            request.headers["Cookie"] = cookies_from(self.cookies, target)
            self.rebuild_auth(request, response)
            response = self.send(request)
            yield response


class Session(RedirectMixin):
    """Sends requests with the same cookies."""

    def __init__(self, adapter):
        self.adapter, self.cookies = adapter, {}

    def send(self, request):
        """Send a request by the adapter."""
        return self.adapter.send(request)
''',
        "src/client/cookies.py": '''"""Cookies of a client."""


def cookies_from(jar, url):
    """Return the cookies of a jar as a header."""
    return "; ".join(f"{name}={value}" for name, value in jar.items())
''',
        "src/client/adapters.py": '''"""Adapters that send requests."""


class HTTPAdapter:
    """Sends requests over a pool of connections."""

    def __init__(self, pool):
        self.pool = pool

    def send(self, request):
        """Send a request and return its response."""
        return self.pool.urlopen(request.method, request.url, headers=request.headers)

    def close(self):
        """Close the pool."""
        self.pool.clear()
''',
        "src/client/status_codes.py": '''"""Names of status codes."""

CODES = {"ok": 200, "moved": 301, "found": 302, "teapot": 418}


def name_of(code):
    """Return the name of a status code."""
    return next(name for name, value in CODES.items() if value == code)
''',
        "tests/test_redirects.py": '''"""Redirects are followed."""

from client.sessions import Session


def test_redirect_is_followed(adapter, request):
    session = Session(adapter)
    responses = list(session.resolve_redirects(session.send(request), request))
    assert responses[-1].status == 200
''',
    },
}
"""The files of each project."""

EDITS = {
    "cookies": (
        "        response.set_cookie(name",
        "        if len(value) > 4093:\n            return\n        response.set_cookie(name",
    ),
    "panics": ('"Authorization:")', '"Authorization:") || strings.HasPrefix(line, "Cookie:")'),
    "redirects": (
        '            request.headers["Cookie"]',
        '            if target.startswith("https"):\n                request.headers["Cookie"]',
    ),
}
"""The change of each task: the text to replace, and its replacement."""

REPLAYS = (
    Honest(
        "cookies-english",
        "MODIFY",
        "Refuse an oversized session cookie: browsers silently drop a session cookie that is too "
        "large when the response is saved",
        {
            "target_feature": "session cookie",
            "observed_issue": "browsers silently drop a session cookie that is too large",
            "trigger_condition": "when the response is saved",
            "desired_action": "Refuse an oversized session cookie",
        },
        "SecureCookieSessionInterface.save_session",
        "save_session writes the session cookie and does not check how large it is",
        project="cookies",
        writes="src/web/sessions.py",
        again="READY",
    ),
    Honest(
        "panics-english",
        "MODIFY",
        "Mask the Cookie header in the panic log: the recovery middleware writes the Cookie header "
        "in plain text when a handler panics",
        {
            "target_feature": "panic log",
            "observed_issue": "writes the Cookie header in plain text",
            "trigger_condition": "when a handler panics",
            "desired_action": "Mask the Cookie header",
        },
        "secureRequestDump",
        "secureRequestDump masks the Authorization header alone in the panic log",
        project="panics",
        writes="recovery.go",
        again="READY",
    ),
    Honest(
        "redirects-japanese",
        "MODIFY",
        "リダイレクトでCookieヘッダーが送られる。httpsからhttpへ移るときは送らないようにしてほしい",
        {
            "target_feature": "リダイレクト",
            "observed_issue": "Cookieヘッダーが送られる",
            "trigger_condition": "httpsからhttpへ移るとき",
            "desired_action": "送らないようにしてほしい",
        },
        "RedirectMixin.resolve_redirects",
        "リダイレクト先へのリクエストにCookieヘッダーを付けている",
        project="redirects",
        writes="src/client/sessions.py",
        again="READY",
    ),
)
