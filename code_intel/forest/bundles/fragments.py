"""Which lines of a file to show: small, at the boundaries of symbols, never the same line twice.

A file is shown in one of the sizes of `Size`. Ranges that overlap, touch or nearly do are one.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.index.rows import ChunkRow
from code_intel.records import Definition

AROUND = 2
"""Lines shown before and after the line that fits best."""
HEAD = 4
"""Lines of a symbol that say what it is: its signature, and where its documentation begins."""
COMMENT = 4
"""Most lines of a comment above a symbol that are shown with it."""
WINDOW = 40
"""Most lines shown of one symbol."""
PLACES = 3
"""Most chunks of a file that are shown."""

GAP = 2
"""Lines between two ranges that cost no more than saying that they are two."""

Range = tuple[int, int]
"""First and last line, 1-based, both shown."""


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""As the index counts them; a form feed ends no line."""
_COMMENTS = ("//", "/*", "*", "#", "--", ";;", '"""')


class Size(IntEnum):
    """How much of a file is shown."""

    NAMED = 0
    SIGNATURE = 1
    SYMBOL = 2
    SYMBOLS = 3


class Fragment(NamedTuple):
    """Lines of a file, verbatim, and the symbol they begin in (or empty)."""

    start_line: int
    end_line: int
    symbol: str
    text: str


class FragmentPlace(NamedTuple):
    """Where in a file it is: a symbol if there is one, a line of it, and how many words are there."""

    symbol: Definition | None
    line: int
    fits: int


class FragmentSource(NamedTuple):
    """A file as the index knows it.

    Attributes:
        lines: Its lines by number, line ends included.
        symbols: What it defines, outer ones before inner ones.
    """

    lines: Mapping[int, str]
    symbols: Sequence[Definition]


def source_of(rows: Iterable[ChunkRow], symbols: Sequence[Definition]) -> FragmentSource:
    """Return a file from all of its chunks, in order."""
    lines: dict[int, str] = {}
    for row in rows:
        for at, line in enumerate(_LINE.findall(row.text), row.start_line):
            lines[at] = lines.get(at, "") + line
    return FragmentSource(lines, symbols)


def fragments(
    source: FragmentSource, chunks: Sequence[ChunkRow], terms: Collection[str], size: Size
) -> list[Fragment]:
    """Return what of a file is shown at a size, in the order of its lines.

    Args:
        source: The file.
        chunks: Its chunks, best first.
        terms: Index tokens that the shown lines should have.
        size: How much.
    """
    if size is Size.NAMED or not source.lines:
        return []
    places = chunks[: PLACES if size is Size.SYMBOLS else 1]
    wide = size is not Size.SIGNATURE
    wanted = frozenset(terms)
    ranges = [span for chunk in places for span in _ranges(source, chunk, wanted, wide=wide)]
    return [_fragment(source, *span) for span in merged(ranges)]


def outline(
    source: FragmentSource, chunks: Sequence[ChunkRow], terms: Collection[str]
) -> tuple[int, str]:
    """Return the line where a file's best place begins, and one line that says what it is."""
    if not source.lines:
        return 0, ""
    if not chunks:
        return min(source.lines), source.lines[min(source.lines)].strip()
    place = best_place(source, chunks[0], frozenset(terms))
    if place.symbol is not None:
        signature = place.symbol.signature or f"{place.symbol.kind} {place.symbol.qualified}"
        return place.symbol.line, signature
    return place.line, source.lines.get(place.line, "").strip()


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Return the same lines as ranges in order, those one that overlap or lie within `GAP` lines."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1] + 1 + GAP:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def innermost(symbols: Iterable[Definition], line: int) -> Definition | None:
    """Return the smallest symbol that a line is part of."""
    holding = [s for s in symbols if s.line <= line <= s.end_line]
    return min(holding, key=lambda s: (s.end_line - s.line, -s.line), default=None)


def best_place(source: FragmentSource, chunk: ChunkRow, wanted: frozenset[str]) -> FragmentPlace:
    """Return where in a chunk most of the wanted words are: a symbol, and its best line.

    A line belongs to the innermost symbol around it. Of equals the first is taken, a symbol before lines
    of none.
    """
    near = [
        s for s in source.symbols if s.line <= chunk.end_line and s.end_line >= chunk.start_line
    ]
    said: dict[Definition | None, set[str]] = {}
    best: dict[Definition | None, tuple[int, int]] = {}
    for number in range(chunk.start_line, chunk.end_line + 1):
        symbol = innermost(near, number)
        found = wanted.intersection(words(source.lines.get(number, "")))
        said.setdefault(symbol, set()).update(found)
        best[symbol] = max(best.get(symbol, (-1, 0)), (len(found), -number))
    symbol = max(said, key=lambda s: (len(said[s]), s is not None, -(s.line if s else 0)))
    fits, line = best[symbol]
    return FragmentPlace(symbol, -line, fits)


def _ranges(
    source: FragmentSource, chunk: ChunkRow, wanted: frozenset[str], *, wide: bool
) -> list[Range]:
    """Return the lines to show of one chunk."""
    symbol, line, fits = best_place(source, chunk, wanted)
    around = WINDOW // 2 if wide else AROUND
    if symbol is None:
        first, last = max(line - around, chunk.start_line), min(line + around, chunk.end_line)
        return [_clipped(source, first, last)]
    first, last = _documented(source, symbol.line), symbol.end_line
    if wide and last - symbol.line < WINDOW:
        return [_clipped(source, first, last)]
    head = _clipped(source, first, min(symbol.line + HEAD - 1, last))
    if not fits:
        return [head]
    return [head, _clipped(source, max(line - around, first), min(line + around, last))]


def _documented(source: FragmentSource, line: int) -> int:
    """Return where the comment begins that stands right above a line."""
    first = line
    while line - first < COMMENT and source.lines.get(first - 1, "").lstrip().startswith(_COMMENTS):
        first -= 1
    return first


def _clipped(source: FragmentSource, start: int, end: int) -> Range:
    """Return a range within the file, blank lines at its ends left out."""
    start, end = max(start, min(source.lines)), min(end, max(source.lines))
    while start < end and not source.lines.get(end, "").strip():
        end -= 1
    while start < end and not source.lines.get(start, "").strip():
        start += 1
    return start, max(start, end)


def _fragment(source: FragmentSource, start: int, end: int) -> Fragment:
    symbol = innermost(source.symbols, start)
    text = "".join(source.lines.get(number, "") for number in range(start, end + 1))
    return Fragment(start, end, symbol.qualified if symbol else "", text.rstrip("\r\n"))
