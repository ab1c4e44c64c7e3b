"""Split long answers into pages, with the parameter `cursor` and the field `next_cursor`.

A cursor is valid only with the arguments of the call that returned it. The server keeps no state:
every page repeats the search, so rows that change between calls may be missing or appear twice
(docs/decisions/0030).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.session.state import MAX_OPENED_FILES
from code_intel.tools.wire.answers import MAX_ROW_TOKENS, within
from code_intel.tools.wire.reader import advice, is_terminal
from code_intel.tools.wire.suspicion import note_of

ItemT = TypeVar("ItemT")

Cursor = Annotated[
    str,
    Field(max_length=100),
]
"""The `next_cursor` of the last page, of every tool whose answer may have several."""

MAX_TEXT_ROWS = 30
"""Maximum rows in the text of an answer; its data contains all rows of the page."""

_CURSOR = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\.([0-9a-f]{8})")


class AnswerPage(NamedTuple):
    """One page of an answer.

    Attributes:
        rows: The rows on the wire.
        start: Number of rows on the previous pages.
        next_cursor: Cursor of the next page; None on the last page.
        question: Digest of the arguments, part of every cursor.
    """

    rows: list[Any]
    start: int
    next_cursor: str | None
    question: str

    @property
    def end(self) -> int:
        """The number of rows up to the end of this page."""
        return self.start + len(self.rows)

    def data(self, *, has_more: bool = False) -> dict[str, Any]:
        """Return `truncated` and `next_cursor`; with `has_more`, some rows are on no page."""
        return {
            "truncated": has_more or self.next_cursor is not None,
            "next_cursor": self.next_cursor,
        }

    def lines(
        self,
        line: Callable[[Any], str],
        field: str,
        total: int,
        max_rows: int = MAX_TEXT_ROWS,
    ) -> list[str]:
        """Return the page as text: a note on flagged rows, the first rows, and how to get the rest.

        Args:
            line: Formats a row.
            field: The field of the answer that contains all rows of the page.
            total: Number of rows on all pages.
            max_rows: Maximum number of rows to show; a terminal shows all.
        """
        max_rows = len(self.rows) if is_terminal() else max_rows
        note = [found] if (found := note_of(self.rows)) else []
        omitted = self.omitted(field, max_rows)
        return [*note, *map(line, self.rows[:max_rows]), *omitted, *self.rest(total)]

    def omitted(self, field: str, max_rows: int) -> list[str]:
        """Return the line that says where to find rows beyond `max_rows`, if there are any.

        Some clients show the model only the text. For them, a cursor continues where the text ends.
        """
        left = len(self.rows) - max_rows
        cursor = f"{self.start + max_rows}.{self.question}"
        return [f"… {left} more in `{field}`, or as text with cursor={cursor}"] if left > 0 else []

    def rest(self, total: int) -> list[str]:
        """Return the line that says how to get the next page, if there is one."""
        if self.next_cursor is None:
            return []
        more = f"… {total - self.end} more: call again with cursor="
        return [advice(more) + self.next_cursor]


def start_of(cursor: str, *question: object) -> int:
    """Return the index of the first row of a page; 0 without a cursor; see `position_of`."""
    return position_of(cursor, *question)[0]


def position_of(cursor: str, *question: object) -> tuple[int, int]:
    """Return the index of the first row of a page, and the offset within that row.

    Args:
        cursor: The caller's cursor; empty for the beginning.
        question: The arguments that determine the rows.

    Raises:
        UsageError: The cursor is invalid or belongs to other arguments.
    """
    if not cursor:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or found[3] != _digest(question):
        raise UsageError(
            "cursor does not belong to these arguments.",
            hint="Repeat the arguments of the call that returned the cursor, or omit cursor.",
            details={"field": "cursor"},
        )
    return int(found[1]), int(found[2] or 0)


def cursor_at(start: int, *question: object, within: int = 0) -> str:
    """Return the cursor of the page that begins in row `start`, at the offset `within`."""
    return f"{start}{f'-{within}' if within else ''}.{_digest(question)}"


def page(
    rows: Sequence[ItemT],
    start: int,
    shown: Callable[[ItemT], Any],
    *question: object,
    limit: int = 1000,
    budget: int = MAX_ROW_TOKENS,
) -> AnswerPage:
    """Return the rows from `start` on that fit, but at least one if there are any.

    Args:
        rows: All rows.
        start: The result of `start_of`.
        shown: Converts a row to its form on the wire.
        question: The arguments, as in `start_of`.
        limit: Maximum rows of a page.
        budget: Maximum tokens of the rows.
    """
    kept = within(map(shown, rows[start : start + limit]), budget)
    end = start + len(kept)
    next_cursor = cursor_at(end, *question) if end < len(rows) else None
    return AnswerPage(kept, start, next_cursor, _digest(question))


def files_to_record(found: Iterable[str], shown: Iterable[str]) -> list[str]:
    """Return the files to record in the session: those of the page.

    If the search found more files than one call may open, return all of them. Then the session
    counts none as opened, so an agent cannot open everything page by page (docs/decisions/0008).
    """
    files = list(dict.fromkeys(found))
    return files if len(files) > MAX_OPENED_FILES else list(dict.fromkeys(shown))


def by_section(page: AnswerPage, sections: Sequence[str]) -> dict[str, list[Any]]:
    """Return the rows of a page of (section, row) pairs by section, including empty sections."""
    return {name: [row for section, row in page.rows if section == name] for name in sections}


def _digest(question: tuple[object, ...]) -> str:
    text = json.dumps(question, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
