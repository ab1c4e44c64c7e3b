"""Divide a list into pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class ListPage(Generic[RowT]):
    """A page of a list.

    Attributes:
        rows: The rows of this page.
        page: The number of the page, from 1.
        pages: The number of pages.
        start: How many rows come before this page.
        total: How many rows the list has.
    """

    rows: Sequence[RowT]
    page: int
    pages: int
    start: int
    total: int

    @property
    def first(self) -> int:
        """The number of the first row of the page."""
        return self.start + 1

    @property
    def last(self) -> int:
        """The number of the last row of the page."""
        return self.start + len(self.rows)


def place_of_page(page: int, total: int, size: int) -> tuple[int, int, int]:
    """Return the page to show, the number of pages, and how many rows come before it.

    >>> place_of_page(9, 120, 50)
    (3, 3, 100)
    """
    pages = max(1, -(-total // size))
    page = min(max(page, 1), pages)
    return page, pages, (page - 1) * size


def page_of(rows: Sequence[RowT], page: int, size: int) -> ListPage[RowT]:
    """Return a page of rows; the last one if there are fewer pages."""
    page, pages, start = place_of_page(page, len(rows), size)
    return ListPage(rows[start : start + size], page, pages, start, len(rows))
