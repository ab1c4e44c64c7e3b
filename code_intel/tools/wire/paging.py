"""One way to the rest of an answer: `cursor` in, `next_cursor` and `truncated` out.

A cursor is a place in the answer to one question, so it goes with the arguments of the call that gave it.
The question is asked anew for every page: what has changed in between may be missing or come twice, and
nothing is kept for a client that never comes back (docs/decisions/0030).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.session.state import MAX_OPENED_FILES
from code_intel.tools.wire.answers import CAP, tokens
from code_intel.tools.wire.suspicion import note_of

T = TypeVar("T")

Cursor = Annotated[
    str, Field(max_length=100, description="next_cursor of the answer before, all else as it was.")
]
"""The optional parameter of every tool whose answer may have several pages."""

_CURSOR = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\.([0-9a-f]{8})")


class Page(NamedTuple):
    """A part of an answer.

    Attributes:
        rows: As they are answered.
        start: How many rows the pages before had.
        next_cursor: Where the next page begins; None on the last.
        question: The mark of the question, as its cursors have it.
    """

    rows: list[Any]
    start: int
    next_cursor: str | None
    question: str

    @property
    def end(self) -> int:
        """How many rows there were up to the end of this page."""
        return self.start + len(self.rows)

    def data(self, *, more: bool = False) -> dict[str, Any]:
        """Return the fields `truncated` and `next_cursor`; `more`: there is what no page has."""
        return {
            "truncated": more or self.next_cursor is not None,
            "next_cursor": self.next_cursor,
        }

    def lines(self, line: Callable[[Any], str], field: str, total: int, most: int) -> list[str]:
        """Return the page as text: a word on flagged rows, the first `most`, and where the others are.

        `field` has all rows of the page; `total` is what the question found.
        """
        note = [found] if (found := note_of(self.rows)) else []
        left_off = self.left_off(field, most)
        return [*note, *map(line, self.rows[:most]), *left_off, *self.rest(total)]

    def left_off(self, field: str, most: int) -> list[str]:
        """Return the line that says where rows beyond `most` are, if there are any.

        There are clients that show a model the text alone: for them a cursor goes on where the text ends.
        """
        left = len(self.rows) - most
        cursor = f"{self.start + most}.{self.question}"
        return [f"… {left} more in `{field}`; as text from cursor={cursor}"] if left > 0 else []

    def rest(self, total: int) -> list[str]:
        """Return the line that says how to get what comes after this page, if anything does."""
        if self.next_cursor is None:
            return []
        return [f"… {total - self.end} more: call again with cursor={self.next_cursor}"]


def start_of(cursor: str, *question: object) -> int:
    """Return how many rows came before the page that a cursor names; 0 without one; see `place_of`."""
    return place_of(cursor, *question)[0]


def place_of(cursor: str, *question: object) -> tuple[int, int]:
    """Return how many rows came before the page that a cursor names, and how much of the next one.

    Args:
        cursor: What the caller passed; empty for the beginning.
        question: The arguments that decide what the rows are.

    Raises:
        UsageError: It is none of ours, or belongs to another question.
    """
    if not cursor:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or found[3] != _mark(question):
        raise UsageError(
            "cursor belongs to no answer to these arguments.",
            hint="Pass next_cursor with the arguments of the call that gave it, or leave cursor out.",
            details={"field": "cursor"},
        )
    return int(found[1]), int(found[2] or 0)


def cursor_at(start: int, *question: object, within: int = 0) -> str:
    """Return the cursor of the page that begins after `start` rows, and `within` of the next one."""
    return f"{start}{f'-{within}' if within else ''}.{_mark(question)}"


def page(
    rows: Sequence[T],
    start: int,
    shown: Callable[[T], Any],
    *question: object,
    most: int = 1000,
    budget: int = CAP,
) -> Page:
    """Return the rows from `start` on that fit, at least one if there is any.

    Args:
        rows: All that the question found.
        start: As `start_of` says.
        shown: Makes a row what the answer has.
        question: As in `start_of`.
        most: Rows of a page.
        budget: Tokens that the rows may take.
    """
    kept: list[Any] = []
    for row in rows[start : start + most]:
        data = shown(row)
        budget -= tokens(json.dumps(data, ensure_ascii=False))
        if budget < 0 and kept:
            break
        kept.append(data)
    end = start + len(kept)
    following = cursor_at(end, *question) if end < len(rows) else None
    return Page(kept, start, following, _mark(question))


def files_shown(every: Iterable[str], shown: Iterable[str]) -> list[str]:
    """Return the files that a session is told of: those of a page.

    Where the question found more files than one call may open, all of them, so that it opens none: who asks
    for what is everywhere has looked at nothing, page by page neither (docs/decisions/0008).
    """
    found = list(dict.fromkeys(every))
    return found if len(found) > MAX_OPENED_FILES else list(dict.fromkeys(shown))


def by_section(page: Page, sections: Sequence[str]) -> dict[str, list[Any]]:
    """Return the rows of a page of (section, row) pairs by section; each section is there, if empty."""
    return {name: [row for section, row in page.rows if section == name] for name in sections}


def _mark(question: tuple[object, ...]) -> str:
    told = json.dumps(question, ensure_ascii=False, default=_plain)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:8]


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
