"""List the sessions, the most recently used first: filtered, and in pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.operations.sessions import ListedSession, listed_sessions
from code_intel.session.journal import journal_files
from code_intel.session.steps import OUTCOMES
from code_intel.session.wording import fold
from code_intel.tools.context.gateway import run_in_thread, sessions_of
from code_intel.ui.language import N_
from code_intel.ui.pages.code import number_of
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 50
STATES = ("open", "ended", "expired", "broken")
RESULTS = (*OUTCOMES, "draft", "unconfirmed")
"""Outcomes; a session that has changed files without one is a draft or unconfirmed."""


@dataclass(frozen=True)
class Wanted:
    """Which sessions to list; an empty field does not restrict the list.

    Attributes:
        q: Words, all of which the request or the name contains.
        state: The state.
        outcome: The last outcome, or the state of its draft.
    """

    q: str = ""
    state: str = ""
    outcome: str = ""

    @property
    def is_all(self) -> bool:
        """Whether nothing restricts the list."""
        return not any(vars(self).values())

    def address(self, **changed: object) -> str:
        """Return the address of the list with other fields or another page."""
        return url("/sessions", **(vars(self) | changed))


@dataclass(frozen=True)
class Listed:
    """A page of the list.

    Attributes:
        rows: The sessions of this page.
        page: The number of the page, from 1.
        pages: The number of pages.
        total: How many sessions match.
    """

    rows: Sequence[ListedSession]
    page: int
    pages: int
    total: int

    @property
    def first(self) -> int:
        """The number of the first session of the page."""
        return (self.page - 1) * PAGE_SIZE + 1

    @property
    def last(self) -> int:
        """The number of the last session of the page."""
        return self.first + len(self.rows) - 1


async def show(request: Request) -> Response:
    """Show the list."""
    given = request.query_params
    wanted = Wanted(**{name: given.get(name, "").strip() for name in vars(Wanted())})
    page = number_of(request, "page") or 1
    listed = await run_in_thread(list_page, project_of(request).settings, wanted, page)
    data = {"wanted": wanted, "listed": listed, "states": STATES, "results": RESULTS}
    return render(request, "sessions/list.html", data)


def list_page(settings: Settings, wanted: Wanted, page: int) -> Listed:
    """Return a page of the sessions that match; the last one if there are fewer. This blocks.

    Without a filter, only the journals of the page are read.

    Raises:
        UsageError: The state or the outcome does not exist.
    """
    _check(wanted)
    if wanted.is_all:
        total = len(journal_files(sessions_of(settings)))
        page, pages = _pages(page, total)
        return Listed(
            listed_sessions(settings, PAGE_SIZE, (page - 1) * PAGE_SIZE), page, pages, total
        )
    matching = [row for row in listed_sessions(settings) if _matches(wanted, row)]
    page, pages = _pages(page, len(matching))
    start = (page - 1) * PAGE_SIZE
    return Listed(matching[start : start + PAGE_SIZE], page, pages, len(matching))


def _pages(page: int, total: int) -> tuple[int, int]:
    """Return the number of the page to show, and how many there are."""
    pages = max(1, -(-total // PAGE_SIZE))
    return min(page, pages), pages


def _matches(wanted: Wanted, row: ListedSession) -> bool:
    said = fold(f"{row.summary.query} {row.summary.name} {row.summary.why}")
    return (
        wanted.state in {"", row.summary.state}
        and wanted.outcome in {"", row.result}
        and all(word in said for word in fold(wanted.q).split())
    )


def _check(wanted: Wanted) -> None:
    for field, known in (("state", STATES), ("outcome", RESULTS)):
        if getattr(wanted, field) not in {"", *known}:
            raise UsageError(
                N_("There is no filter of this name."),
                hint=N_("Choose one of the list."),
                details={"field": field},
            )


ROUTES = (Route("/sessions", show),)
