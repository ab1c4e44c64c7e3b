"""List the sessions, the most recently used first: filtered, and in pages."""

from collections.abc import Container
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.operations.sessions import ListedSession, listed_sessions, refusals_by_session
from code_intel.session.journal import journal_files
from code_intel.session.steps import OUTCOMES
from code_intel.session.wording import fold
from code_intel.tools.context.gateway import run_in_thread, sessions_of
from code_intel.ui.language import N_
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.paging import ListPage, page_of, place_of_page
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
        refused: `yes` for sessions of which something was refused.
    """

    q: str = ""
    state: str = ""
    outcome: str = ""
    refused: str = ""

    @property
    def is_all(self) -> bool:
        """Whether nothing restricts the list."""
        return not any(vars(self).values())

    def address(self, **changed: object) -> str:
        """Return the address of the list with other fields or another page."""
        return url("/sessions", **(vars(self) | changed))


async def show(request: Request) -> Response:
    """Show the list."""
    given = request.query_params
    wanted = Wanted(**{name: given.get(name, "").strip() for name in vars(Wanted())})
    page = number_of(request, "page") or 1
    settings = project_of(request).settings
    refusals = await run_in_thread(refusals_by_session, settings)
    listed = await run_in_thread(list_page, settings, wanted, page, refusals)
    data = {"wanted": wanted, "listed": listed, "refusals": refusals}
    return render(request, "sessions/list.html", data)


def list_page(
    settings: Settings, wanted: Wanted, page: int, refusals: Container[str]
) -> ListPage[ListedSession]:
    """Return a page of the sessions that match; the last one if there are fewer. This blocks.

    Without a filter, only the journals of the page are read.

    Raises:
        UsageError: The state or the outcome does not exist.
    """
    _check(wanted)
    if wanted.is_all:
        total = len(journal_files(sessions_of(settings)))
        page, pages, start = place_of_page(page, total, PAGE_SIZE)
        return ListPage(listed_sessions(settings, PAGE_SIZE, start), page, pages, start, total)
    matching = [row for row in listed_sessions(settings) if _matches(wanted, row, refusals)]
    return page_of(matching, page, PAGE_SIZE)


def _matches(wanted: Wanted, row: ListedSession, refusals: Container[str]) -> bool:
    said = fold(f"{row.summary.query} {row.summary.name} {row.summary.why}")
    return (
        wanted.state in {"", row.summary.state}
        and wanted.outcome in {"", row.result}
        and (not wanted.refused or row.summary.name in refusals)
        and all(word in said for word in fold(wanted.q).split())
    )


def _check(wanted: Wanted) -> None:
    for field, known in (("state", STATES), ("outcome", RESULTS), ("refused", ("yes",))):
        if getattr(wanted, field) not in {"", *known}:
            raise UsageError(
                N_("There is no filter of this name."),
                hint=N_("Choose one of the list."),
                details={"field": field},
            )


ROUTES = (Route("/sessions", show),)
