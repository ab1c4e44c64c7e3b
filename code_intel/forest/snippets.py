"""Extract lines of a file, cut at symbol boundaries, within a budget."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from code_intel.chunking.spans import Lines
from code_intel.records import Symbol

_COMMENT_PREFIXES = ("@", "#", "//", "/*", "*", "--", ";", '"""', "'''", "<!--")
"""Prefixes of decorator and comment lines, which belong to the definition below."""
MAX_LINES_ABOVE = 30


class Snippet(NamedTuple):
    """Lines of a file, verbatim.

    Attributes:
        start_line: First line, 1-based.
        end_line: Last line.
        text: Those lines with their line endings; a first line longer than the budget is cut.
        symbol: The innermost symbol around the requested lines, else the first one that starts
            among them, else empty.
        next_line: The first requested line that did not fit; 0 if all did.
    """

    start_line: int
    end_line: int
    text: str
    symbol: str
    next_line: int


def snippet(
    text: str,
    symbols: Sequence[Symbol],
    first: int,
    last: int,
    *,
    budget: int,
    cost: Callable[[str], int],
    whole: bool = True,
) -> Snippet:
    """Extract lines of a text.

    Args:
        text: The file's content.
        symbols: The symbols that the file defines.
        first: First requested line; must be in the text.
        last: Last requested line; may be beyond the end.
        budget: Maximum cost of the lines.
        cost: Returns the cost of a text, such as its number of tokens.
        whole: Extend the range to whole symbols if they fit; otherwise cut between symbols.
    """
    lines = Lines(text)
    last = min(last, len(lines))
    requested = first, last
    if whole:
        extended = _extended_range(lines, text, symbols, first, last)
        if 2 * cost(text[slice(*lines.span(extended[0], first - 1))]) <= budget:
            first = extended[0]
        if cost(text[slice(*lines.span(first, extended[1]))]) <= budget:
            last = extended[1]
    end = _last_fitting_line(lines, text, first, last, budget, cost)
    if end < last and whole:
        end = _symbol_boundary(lines, text, symbols, first, end)
    shown = text[slice(*lines.span(first, end))]
    if end == first and cost(shown) > budget:
        shown = shown[: _count_fitting_chars(shown, budget, cost)]
    return Snippet(
        first, end, shown, _symbol_name(symbols, requested, end), end + 1 if end < last else 0
    )


def lines_of(text: str, symbol: Symbol) -> tuple[int, int]:
    """Return the lines of a symbol, with the comment and decorators directly above."""
    return _first_comment_line(Lines(text), text, symbol.start_line), symbol.end_line


def _extended_range(
    lines: Lines, text: str, symbols: Sequence[Symbol], first: int, last: int
) -> tuple[int, int]:
    """Extend a range to the innermost symbols around its first and its last line."""
    start, end = first, last
    if (opened := _innermost(symbols, first, first)) is not None:
        start, end = min(start, opened.start_line), max(end, opened.end_line)
        start = _first_comment_line(lines, text, start) if start == opened.start_line else start
    if (closed := _innermost(symbols, last, last)) is not None:
        end = max(end, closed.end_line)
    return start, min(end, len(lines))


def _first_comment_line(lines: Lines, text: str, line: int) -> int:
    return first_comment_line(lambda number: text[slice(*lines.span(number, number))], line)


def first_comment_line(
    line_at: Callable[[int], str], line: int, limit: int = MAX_LINES_ABOVE
) -> int:
    """Return the first line of the comment and decorators directly above a line, or the line.

    Args:
        line_at: Returns a line by number.
        line: The line.
        limit: Maximum number of lines above it.
    """
    above = line
    while above > 1 and line - above < limit:
        if not line_at(above - 1).strip().startswith(_COMMENT_PREFIXES):
            break
        above -= 1
    return above


def _innermost(symbols: Sequence[Symbol], first: int, last: int) -> Symbol | None:
    enclosing = [s for s in symbols if s.start_line <= first and last <= s.end_line]
    return min(enclosing, key=lambda s: (s.end_line - s.start_line, -s.start_line), default=None)


def _last_fitting_line(
    lines: Lines, text: str, first: int, last: int, budget: int, cost: Callable[[str], int]
) -> int:
    """Return the last line that fits; at least the first one."""
    spent, end = 0, first
    for line in range(first, last + 1):
        spent += cost(text[slice(*lines.span(line, line))])
        if spent > budget:
            break
        end = line
    return end


def _symbol_boundary(
    lines: Lines, text: str, symbols: Sequence[Symbol], first: int, end: int
) -> int:
    """Return the last line to show so that no symbol is cut; `end` if half would be lost."""
    near = [
        s for s in symbols if first < s.start_line <= end + MAX_LINES_ABOVE and end < s.end_line
    ]
    tops = (_first_comment_line(lines, text, symbol.start_line) for symbol in near)
    cut = sorted(top for top in tops if first < top <= end)
    middle = first + (end - first) // 2
    return next((top - 1 for top in (*cut[:1], *cut[-1:]) if top > middle), end)


def _count_fitting_chars(line: str, budget: int, cost: Callable[[str], int]) -> int:
    """Return how many characters of a line fit."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(line[:middle]) <= budget else (low, middle - 1)
    return low


def _symbol_name(symbols: Sequence[Symbol], requested: tuple[int, int], end: int) -> str:
    first, last = requested[0], min(requested[1], end)
    if (around := _innermost(symbols, first, last)) is not None:
        return around.qualified
    return next((s.qualified for s in symbols if first <= s.start_line <= end), "")
