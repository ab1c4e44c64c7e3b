"""Code cut where its symbols begin and end.

Top-level symbols (with their comments and decorators) make the pieces; a piece too long is cut at the
symbols inside it, then at blank lines; small neighbours are joined. Sizes are those that ranked best
(docs/decisions/0010). The pieces rejoin to the text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from code_intel.chunking.outline import Block
from code_intel.chunking.spans import Lines, Span, within

SMALL = 8
"""Lines below which a piece is joined to its neighbour."""
JOINED = 40
"""Most lines that joining may give."""
LONG = 70
"""Most lines of a chunk."""


def split(lines: Lines, blocks: Sequence[Block]) -> list[Span]:
    """Return contiguous spans of characters that cover the text."""
    pieces: Iterable[Span] = [(1, len(lines) + 1)]
    for depth in range(max((block.depth for block in blocks), default=-1) + 1):
        cuts = {
            line
            for block in blocks
            if block.depth == depth
            for line in (block.first, lines.after_blank(block.last + 1))
        }
        pieces = list(_at(pieces, sorted(cuts), always=depth == 0))
    joined = _join(_at_blank_lines(pieces, lines))
    return list(within(lines.span(first, end - 1) for first, end in joined))


def _at(pieces: Iterable[Span], cuts: Sequence[int], *, always: bool) -> Iterator[Span]:
    """Cut pieces (first line, line after the last) that are too long, or all of them."""
    for first, end in pieces:
        inside: Sequence[int] = ()
        if always or end - first > LONG:
            inside = cuts[bisect_right(cuts, first) : bisect_left(cuts, end)]
        yield from pairwise([first, *inside, end])


def _at_blank_lines(pieces: Iterable[Span], lines: Lines) -> Iterator[Span]:
    for piece_first, end in pieces:
        first = piece_first
        while end - first > LONG:
            stop = first + LONG
            quiet = (n for n in range(stop, first + LONG // 2, -1) if lines.blank(n - 1))
            stop = next(quiet, stop)
            yield first, stop
            first = stop
        yield first, end


def _join(pieces: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for first, end in pieces:
        small = joined and min(end - first, joined[-1][1] - joined[-1][0]) < SMALL
        if small and end - joined[-1][0] <= JOINED:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((first, end))
    return joined
