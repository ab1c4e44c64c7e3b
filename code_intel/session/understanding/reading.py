"""Decide whether a session has read a symbol: its lines were printed and have not changed."""

from collections.abc import Container, Iterator

READ_LINES = 20
"""Number of lines of a symbol, including its first, that must be printed; all, if it has fewer.

start_session shows about as many of a long symbol: its first line, and those around the match."""


def is_read(first: int, last: int, printed: Container[int]) -> bool:
    """Return whether a symbol in the lines `first` to `last` is read.

    `printed` contains the current lines of its file that the session has printed.

    >>> is_read(5, 7, {5, 6, 7}), is_read(5, 7, {6, 7}), is_read(1, 90, range(1, 21))
    (True, False, True)
    """
    count = sum(line in printed for line in range(first, last + 1))
    return first in printed and count >= min(last - first + 1, READ_LINES)


def unread_lines(first: int, last: int, printed: Container[int]) -> tuple[int, int] | None:
    """Return the first and last line to read so that the symbol is read; None if it is.

    >>> unread_lines(5, 9, {5, 6, 9})
    (7, 8)
    """
    if is_read(first, last, printed):
        return None
    lines = list(_wanted_lines(first, last, printed))
    return lines[0], lines[-1]


def _wanted_lines(first: int, last: int, printed: Container[int]) -> Iterator[int]:
    count = sum(line in printed for line in range(first, last + 1))
    needed = max(min(last - first + 1, READ_LINES) - count, 1)
    if first not in printed:
        yield first
        needed -= 1
    for line in range(first + 1, last + 1):
        if needed <= 0:
            return
        if line not in printed:
            yield line
            needed -= 1
