"""List the entries of the map: filtered, sorted, and in pages."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import UsageError
from code_intel.learned.recall.recall import fold
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.map_entries import KINDS, MapEntries, MapEntry
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.map.two_steps import notice_of
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 100
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "name": N_("Term or title"),
        "symbol": N_("Symbol"),
        "kind": N_("Kind"),
        "state": N_("State"),
        "since": N_("Since"),
    }
)
"""The columns by which the list can be sorted, and their titles."""
STATES = (
    *(N_("valid"), N_("unconfirmed"), N_("changed"), N_("broken"), N_("conflict"), N_("invalid")),
    *(N_("expired"), N_("unchecked"), N_("rejected"), N_("superseded")),
)
"""The states in the order of the filter."""

SORTS: Mapping[str, Callable[[MapEntry], Any]] = MappingProxyType(
    {
        "name": lambda entry: entry.name.casefold(),
        "symbol": lambda entry: entry.symbol.casefold(),
        "kind": lambda entry: KINDS.index(entry.kind),
        "state": lambda entry: STATES.index(entry.status),
        "since": lambda entry: entry.since,
    }
)
"""What each column sorts by."""


@dataclass(frozen=True)
class Wanted:
    """Which entries to list, and in which order; an empty field does not restrict the list.

    Attributes:
        q: Words, all of which an entry contains.
        kind: The kind.
        state: The state.
        file: A part of the name of a file that the entry names, or of its own.
        sort: A column of `SORTS`, descending after a `-`; by file if it is empty.
    """

    q: str = ""
    kind: str = ""
    state: str = ""
    file: str = ""
    sort: str = ""

    def address(self, **changed: object) -> str:
        """Return the address of the list with other fields or another page."""
        return url("/map", **(vars(self) | changed))


@dataclass(frozen=True)
class Column:
    """A column of the list: its title, the address that sorts by it, and how it is sorted now."""

    title: str
    address: str
    sorted: str


@dataclass(frozen=True)
class Listed:
    """A page of the list.

    Attributes:
        rows: The entries of this page.
        page: The number of the page, from 1.
        pages: The number of pages.
        first: The number of the first entry of the page.
        total: How many entries match.
        states: How many entries there would be with each state.
    """

    rows: Sequence[MapEntry]
    page: int
    pages: int
    first: int
    total: int
    states: Mapping[str, int]

    @property
    def last(self) -> int:
        """The number of the last entry of the page."""
        return self.first + len(self.rows) - 1


async def show(request: Request) -> Response:
    """Show the list."""
    given = request.query_params
    wanted = Wanted(**{name: given.get(name, "").strip() for name in vars(Wanted())})
    page = number_of(request, "page") or 1
    found, listed = await run_in_thread(_read, project_of(request), wanted, page)
    data = {"wanted": wanted, "listed": listed, "waiting": found.waiting, "all": len(found.rows)}
    return render(
        request,
        "map/list.html",
        data
        | {"kinds": KINDS, "states": STATES, "columns": columns(wanted)}
        | {"notice": notice_of(request)},
    )


def _read(project: OpenProject, wanted: Wanted, page: int) -> tuple[MapEntries, Listed]:
    found = project.map_entries()
    return found, list_entries(found.rows, wanted, page)


def list_entries(rows: Iterable[MapEntry], wanted: Wanted, page: int) -> Listed:
    """Return a page of the entries that match; the last one if there are fewer pages. Pure.

    Raises:
        UsageError: The kind, the state or the column does not exist.
    """
    _check(wanted)
    matching = list(filter(_matches(wanted), rows))
    states = Counter(entry.status for entry in matching)
    if wanted.state:
        matching = [entry for entry in matching if entry.status == wanted.state]
    column = wanted.sort.removeprefix("-")
    if column:
        matching.sort(key=SORTS[column], reverse=wanted.sort.startswith("-"))
    pages = max(1, -(-len(matching) // PAGE_SIZE))
    page = min(page, pages)
    start = (page - 1) * PAGE_SIZE
    return Listed(
        matching[start : start + PAGE_SIZE], page, pages, start + 1, len(matching), states
    )


def columns(wanted: Wanted) -> dict[str, Column]:
    """Return the columns that sort the list; the sorted one turns its order around. Pure."""
    found = {}
    for name, title in TITLES.items():
        order = {name: "ascending", f"-{name}": "descending"}.get(wanted.sort, "")
        then = f"-{name}" if order == "ascending" else name
        found[name] = Column(title, wanted.address(sort=then), order)
    return found


def _matches(wanted: Wanted) -> Callable[[MapEntry], bool]:
    """Return whether an entry has the words, the kind and the file; the state comes later."""
    words, file = fold(wanted.q).split(), wanted.file.casefold()

    def matches(entry: MapEntry) -> bool:
        return (
            (not wanted.kind or entry.kind == wanted.kind)
            and all(word in entry.words for word in words)
            and (not file or any(file in name.casefold() for name in (entry.file, *entry.files)))
        )

    return matches


def _check(wanted: Wanted) -> None:
    for field, known in (("kind", KINDS), ("state", STATES), ("sort", SORTS)):
        value = getattr(wanted, field)
        if value and value.removeprefix("-" if field == "sort" else "") not in known:
            raise UsageError(
                f"There is no {field} of this name.",
                hint="Choose one of the list.",
                details={"field": field},
            )


ROUTES = (Route("/map", shown_once(show)),)
