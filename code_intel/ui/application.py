"""Build the web application of the page: its routes, errors and access."""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from code_intel.errors import (
    BusyError,
    CodeIntelError,
    ConfigError,
    NotFoundError,
    StorageError,
    UsageError,
)
from code_intel.servers.http.guard import Policy, RequestGuard
from code_intel.ui.access import OPEN_PATH, STATIC_PATH, Access, AccessGuard
from code_intel.ui.language import LANGUAGE_COOKIE, LANGUAGES, N_
from code_intel.ui.pages import ask, code, commands, overview, plans, quality, sessions
from code_intel.ui.pages import map as map_pages
from code_intel.ui.project import OpenProject
from code_intel.ui.rendering import render, render_bare

logger = logging.getLogger(__name__)

STATUSES: Sequence[tuple[type[CodeIntelError], HTTPStatus]] = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (UsageError, HTTPStatus.BAD_REQUEST),
    (BusyError, HTTPStatus.CONFLICT),
    (ConfigError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (StorageError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
"""The HTTP status of each error; `error_page` shows the message and the next step."""
YEAR_S = 365 * 24 * 3600


def build_app(project: OpenProject, access: Access, policy: Policy) -> ASGIApp:
    """Return the application: the checks of HTTP, then those of access, then the pages."""
    static = StaticFiles(directory=str(files("code_intel.ui") / "static"))
    routes: list[BaseRoute] = [
        *overview.ROUTES,
        *code.ROUTES,
        *map_pages.ROUTES,
        *ask.ROUTES,
        *sessions.ROUTES,
        *plans.ROUTES,
        *commands.ROUTES,
        *quality.ROUTES,
        Route(OPEN_PATH, open_link),
        Route("/language", choose_language),
        Mount(STATIC_PATH, static),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            CodeIntelError: _error,
            HTTPException: _http_error,
            Exception: _unexpected,
        },
    )
    app.state.project = project
    app.state.access = access
    return RequestGuard(AccessGuard(app, access), policy)


async def open_link(request: Request) -> Response:
    """Exchange the token of a link for the cookie.

    The answer is a page that goes on to the overview. A redirect would not do: browsers send no
    SameSite=Strict cookie with it if another site has the link.
    """
    access: Access = request.app.state.access
    if access.admits(request):
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)
    if not access.redeem(request.query_params.get("token", "")):
        return render_bare(
            request,
            N_("This link has been used, or is older than this server."),
            N_("Open the link that `code-intel ui` printed last."),
            HTTPStatus.FORBIDDEN,
        )
    response = render_bare(
        request, N_("The page is open in this browser."), "", then=f"{access.path}/"
    )
    access.admit(response)
    return response


async def choose_language(request: Request) -> Response:
    """Remember the language that a person chose, and return to the page."""
    chosen = request.query_params.get("set", "")
    there = request.query_params.get("next", "/")
    # `//host` and `/\host` would lead to another site.
    is_here = there.startswith("/") and there[1:2] not in {"/", "\\"}
    response = RedirectResponse(there if is_here else "/", HTTPStatus.SEE_OTHER)
    if chosen in LANGUAGES:
        response.set_cookie(LANGUAGE_COOKIE, chosen, max_age=YEAR_S, samesite="strict")
    return response


def error_page(request: Request, status: int, what: str, remedy: str) -> Response:
    """Return a page that says what happened and what to do next."""
    if not request.app.state.access.admits(request):
        return render_bare(request, what, remedy, status)
    return render(request, "error.html", {"what": what, "remedy": remedy}, status)


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CodeIntelError)  # noqa: S101 - registered for this class
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), HTTPStatus.CONFLICT)
    return error_page(request, status, error.message, error.hint)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    is_missing = error.status_code == HTTPStatus.NOT_FOUND
    what = N_("There is no such page.") if is_missing else error.detail
    return error_page(request, error.status_code, what, N_("Use the links of the page."))


async def _unexpected(request: Request, error: Exception) -> Response:
    logger.error("a page failed", exc_info=error)
    return error_page(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        N_("The page failed. This is a defect of the program, not your mistake."),
        N_("Please report it with the output of `code-intel ui` in the terminal."),
    )
