"""Split code at its symbols, or into windows of lines if there is no grammar.

Each top-level symbol, with its comments and decorators, is a piece. Long pieces are split at the
symbols inside them, then at blank lines; small neighbours are joined. These sizes gave the best
rankings (docs/decisions/0010). The pieces rejoin to the text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from code_intel.chunking.outline import Block
from code_intel.chunking.spans import Lines, Span, split_long

MIN_CHUNK_LINES = 8
"""Shorter pieces are joined to a neighbour."""
MAX_JOINED_LINES = 40
MAX_CHUNK_LINES = 70
WINDOW_LINES = 50
"""Lines of a window; such windows rank as well as chunks from a parser."""


def split(lines: Lines, blocks: Sequence[Block]) -> list[Span]:
    """Return contiguous spans that cover the text."""
    pieces: Iterable[Span] = [(1, len(lines) + 1)]
    for depth in range(max((block.depth for block in blocks), default=-1) + 1):
        cuts = {
            line
            for block in blocks
            if block.depth == depth
            for line in (block.first, lines.next_nonblank(block.last + 1))
        }
        pieces = list(_split_at(pieces, sorted(cuts), always=depth == 0))
    joined = _join(_split_at_blank_lines(pieces, lines))
    return list(split_long(lines.span(first, end - 1) for first, end in joined))


def windows(text: str, lines: Lines) -> list[Span]:
    """Return contiguous windows that rejoin to the text; none for the empty text."""
    firsts = range(1, len(lines) + 1, WINDOW_LINES) if text else ()
    return list(split_long(lines.span(first, first + WINDOW_LINES - 1) for first in firsts))


def _split_at(pieces: Iterable[Span], cuts: Sequence[int], *, always: bool) -> Iterator[Span]:
    """Split the pieces (first line, line after the last) that are too long, or all of them."""
    for first, end in pieces:
        inside: Sequence[int] = ()
        if always or end - first > MAX_CHUNK_LINES:
            inside = cuts[bisect_right(cuts, first) : bisect_left(cuts, end)]
        yield from pairwise([first, *inside, end])


def _split_at_blank_lines(pieces: Iterable[Span], lines: Lines) -> Iterator[Span]:
    for piece_first, end in pieces:
        first = piece_first
        while end - first > MAX_CHUNK_LINES:
            stop = first + MAX_CHUNK_LINES
            candidates = range(stop, first + MAX_CHUNK_LINES // 2, -1)
            stop = next((line for line in candidates if lines.is_blank(line - 1)), stop)
            yield first, stop
            first = stop
        yield first, end


def _join(pieces: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for first, end in pieces:
        is_short = joined and min(end - first, joined[-1][1] - joined[-1][0]) < MIN_CHUNK_LINES
        if is_short and end - joined[-1][0] <= MAX_JOINED_LINES:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((first, end))
    return joined
