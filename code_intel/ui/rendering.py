"""Render the templates of the page.

Every value in a template passes `safe_text`, and is then escaped: what files say is text, never
markup (docs/decisions/0091).
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from code_intel import __version__
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.ui.language import LANGUAGES, N_, language_of, translate
from code_intel.ui.project import project_of
from code_intel.ui.references import reference

NAVIGATION = (
    ("/", N_("Overview")),
    ("/map", N_("Map")),
    ("/ask", N_("Ask")),
    ("/sessions", N_("Sessions")),
    ("/plans", N_("Plans")),
    ("/commands", N_("Commands")),
    ("/quality", N_("Quality")),
)
"""The pages in the order of the navigation."""


MAX_KEPT_CHARS = 300
"""Longest text of which the safe form is kept."""


_ADDRESS = re.compile(r'\s(?:href|src|action|formaction|hx-get|data-events)="(?=/)')
"""What stands before an address of this server. Values are escaped, so they do not match."""


@dataclass(frozen=True)
class Frame:
    """What the frame of every page shows.

    Attributes:
        language: The language of its texts.
        path: The path of the page.
        here: Path and query of the page, to which a change of language returns.
        project: The name of the project.
        root: The folder of the project.
        readonly: Whether forms that write are left out.
        csrf: The token of forms; markup, so that it is not masked.
        form: The name of the forms of this page, by which a repeated one is recognized.
        navigation: Paths and names of the pages.
        version: The version of code-intel.
    """

    language: str
    path: str
    here: str
    project: str
    root: str
    readonly: bool
    csrf: Markup
    form: Markup
    navigation: tuple[tuple[str, str], ...] = NAVIGATION
    version: str = __version__


def render(
    request: Request, template: str, data: Mapping[str, Any] | None = None, status: int = 200
) -> HTMLResponse:
    """Return a page in the language of the browser.

    Args:
        request: The request.
        template: The name of the template, below `templates/`.
        data: The names that it uses, in addition to `frame`.
        status: The HTTP status.
    """
    project = project_of(request)
    language = language_of(request)
    frame = Frame(
        language=language,
        path=request.url.path,
        here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        project=project.settings.root.name,
        root=str(project.settings.root),
        readonly=project.readonly,
        csrf=Markup(request.app.state.access.csrf),  # noqa: S704 - hexadecimal digits
        form=Markup(secrets.token_hex(8)),  # noqa: S704 - hexadecimal digits
    )
    page = environment(language).get_template(template)
    html = page.render(**(data or {}), frame=frame)
    below = rf"\g<0>{request.app.state.access.path}"
    return HTMLResponse(_ADDRESS.sub(below, html), status, {"vary": "cookie, accept-language"})


def render_bare(
    request: Request, what: str, remedy: str, status: int = 200, *, then: str = ""
) -> HTMLResponse:
    """Return a page that says nothing about the project, for a browser without the cookie.

    Args:
        request: The request.
        what: What happened.
        remedy: What to do next.
        status: The HTTP status.
        then: The page to go on to.
    """
    language = language_of(request)
    page = environment(language).get_template("bare.html")
    html = page.render(language=language, what=what, remedy=remedy, next=then)
    return HTMLResponse(html, status, {"vary": "cookie, accept-language"})


@cache
def environment(language: str) -> Environment:
    """Return the templates of a language."""
    found = Environment(
        loader=PackageLoader("code_intel.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=safe_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def text(english: str, **values: object) -> str:
        return translate(language, english, values)

    found.globals |= {
        "_": text,
        "url": url,
        "moment": moment,
        "clock": clock,
        "languages": LANGUAGES,
    }
    found.filters |= {
        "breakable": breakable,
        "raw_field": raw_field,
        "reference": reference,
        "thousands": "{:,}".format,
        "with_code": with_code,
    }
    return found


def raw_field(value: str) -> Markup:
    """Return the value of a hidden field, which is only escaped.

    A form must send back what it was given. Never use this for a text that a page shows.
    """
    return escape(value)


def safe_text(value: Any) -> Any:
    """Return a value of a template; texts have secrets masked and hidden characters visible."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _safe(value) if len(value) <= MAX_KEPT_CHARS else _safe.__wrapped__(value)
    return value


def breakable(text: str, joint: str = "/") -> Markup:
    """Return a path or symbol that a browser breaks after a joint rather than within a name."""
    return Markup("{}<wbr>").format(joint).join(safe_text(text).split(joint))


@lru_cache(maxsize=8192)
def _safe(text: str) -> str:
    """Return a text with secrets masked and hidden characters visible.

    A page repeats labels, names of files and addresses hundreds of times.
    """
    return visible(masked(text), keep="\n\t")


def with_code(text: str) -> Markup:
    """Return a text of the product with its `commands` as code; everything is escaped."""
    parts = str(safe_text(text)).split("`")
    if len(parts) % 2 == 0:  # a backtick without another one
        return escape("`".join(parts))
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def url(path: str, **query: object) -> str:
    """Return the address of a page; empty values are left out."""
    given = {name: value for name, value in query.items() if value not in {"", None}}
    return f"{path}?{urlencode(given)}" if given else path


def moment(value: "str | float | datetime") -> str:
    """Return a time as `2026-03-31 12:00`, in the time zone of this machine.

    Args:
        value: ISO 8601, or seconds since the epoch.
    """
    if isinstance(value, datetime):
        time = value
    elif isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return value
    else:
        time = datetime.fromtimestamp(value, UTC)
    return f"{time.astimezone():%Y-%m-%d %H:%M}"


def clock(value: str) -> str:
    """Return the time of day of an ISO 8601 time, in the time zone of this machine."""
    try:
        return f"{datetime.fromisoformat(value).astimezone():%H:%M:%S}"
    except ValueError:
        return "?"
