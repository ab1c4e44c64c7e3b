"""Fixed windows of lines, for every text without a grammar."""

from collections.abc import Iterator

from code_intel.chunking.spans import Lines, Span, within

WINDOW = 50
"""Lines a window; windows of this size rank as well as a parser's chunks (docs/decisions/0010)."""


def windows(text: str, lines: Lines) -> list[Span]:
    """Return contiguous spans that rejoin to the text; none for the empty text."""
    return list(within(_windows(lines))) if text else []


def _windows(lines: Lines) -> Iterator[Span]:
    for first in range(1, len(lines) + 1, WINDOW):
        yield lines.span(first, first + WINDOW - 1)
