"""Select the lines of a file to show.

`Size` determines how much is shown. Whole symbols are preferred to parts of symbols. Ranges that
overlap or nearly touch are merged.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.forest.snippets import first_comment_line
from code_intel.index.rows import ChunkRow
from code_intel.records import Definition

CONTEXT_LINES = 2
"""Number of lines before and after the best line."""
HEAD_LINES = 4
"""Number of first lines of a symbol: its signature and the start of its documentation."""
MAX_COMMENT_LINES = 4
"""Maximum comment lines above a symbol that are shown with it."""
MAX_SYMBOL_LINES = 40
MAX_CHUNKS = 3
MERGE_GAP_LINES = 2
"""Ranges with at most this many lines between them are merged."""

Range = tuple[int, int]
"""First and last line, both included, counting from 1."""


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""Lines as the index counts them; a form feed does not end a line."""


class Size(IntEnum):
    """How much of a file to show.

    Attributes:
        NAMED: No lines.
        SIGNATURE: The first lines of the best symbol, and a few lines around its best line.
        SYMBOL: The whole best symbol; if it is long, as `SIGNATURE` with more lines.
        SYMBOLS: As `SYMBOL`, for each of the best `MAX_CHUNKS` chunks.
    """

    NAMED = 0
    SIGNATURE = 1
    SYMBOL = 2
    SYMBOLS = 3


class Fragment(NamedTuple):
    """Consecutive lines of a file.

    Attributes:
        start_line: The first line.
        end_line: The last line, included.
        symbol: Qualified name of the symbol around the first line, or empty.
        text: The lines, verbatim.
    """

    start_line: int
    end_line: int
    symbol: str
    text: str


class FragmentPlace(NamedTuple):
    """The part of a chunk that contains the most of the wanted words.

    Attributes:
        symbol: The symbol with the most wanted words; None if it is a line outside of symbols.
        line: The line of that symbol with the most wanted words.
        word_count: The number of wanted words in that line.
    """

    symbol: Definition | None
    line: int
    word_count: int


class FragmentSource(NamedTuple):
    """A file as indexed.

    Attributes:
        lines: Its lines by number, with line endings.
        symbols: Its symbols, outer before inner ones.
    """

    lines: Mapping[int, str]
    symbols: Sequence[Definition]


def source_of(rows: Iterable[ChunkRow], symbols: Sequence[Definition]) -> FragmentSource:
    """Rebuild a file from all its chunks in order."""
    lines: dict[int, str] = {}
    for row in rows:
        for number, line in enumerate(_LINE.findall(row.text), row.start_line):
            lines[number] = lines.get(number, "") + line
    return FragmentSource(lines, symbols)


def fragments(
    source: FragmentSource, chunks: Sequence[ChunkRow], terms: Collection[str], size: Size
) -> list[Fragment]:
    """Return the fragments of a file to show at a size, in the order of their lines.

    `chunks` are its chunks, best first, and `terms` the index tokens that the lines should contain.
    """
    if size is Size.NAMED or not source.lines:
        return []
    places = chunks[: MAX_CHUNKS if size is Size.SYMBOLS else 1]
    wide = size is not Size.SIGNATURE
    wanted = frozenset(terms)
    ranges = [span for chunk in places for span in _ranges(source, chunk, wanted, wide=wide)]
    return [_fragment(source, *span) for span in merged(ranges)]


def outline(
    source: FragmentSource, chunks: Sequence[ChunkRow], terms: Collection[str]
) -> tuple[int, str]:
    """Return the first line and the signature of the best symbol, or the best line and its text."""
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
    """Sort ranges and merge those that overlap or are at most `MERGE_GAP_LINES` apart."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1] + 1 + MERGE_GAP_LINES:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def innermost_symbol(symbols: Iterable[Definition], line: int) -> Definition | None:
    """Return the innermost symbol around a line."""
    enclosing = [s for s in symbols if s.line <= line <= s.end_line]
    return min(enclosing, key=lambda s: (s.end_line - s.line, -s.line), default=None)


def best_place(source: FragmentSource, chunk: ChunkRow, wanted: frozenset[str]) -> FragmentPlace:
    """Return the symbol of a chunk that contains the most wanted words, and its best line.

    A line belongs to the innermost symbol around it. In a tie, symbols are preferred to lines
    outside of symbols, and earlier symbols and lines to later ones.
    """
    near = [
        s for s in source.symbols if s.line <= chunk.end_line and s.end_line >= chunk.start_line
    ]
    words_by_symbol: dict[Definition | None, set[str]] = {}
    best: dict[Definition | None, tuple[int, int]] = {}
    for number in range(chunk.start_line, chunk.end_line + 1):
        symbol = innermost_symbol(near, number)
        found = wanted.intersection(words(source.lines.get(number, "")))
        words_by_symbol.setdefault(symbol, set()).update(found)
        best[symbol] = max(best.get(symbol, (-1, 0)), (len(found), -number))
    symbol = max(
        words_by_symbol,
        key=lambda s: (len(words_by_symbol[s]), s is not None, -(s.line if s else 0)),
    )
    word_count, line = best[symbol]
    return FragmentPlace(symbol, -line, word_count)


def _ranges(
    source: FragmentSource, chunk: ChunkRow, wanted: frozenset[str], *, wide: bool
) -> list[Range]:
    """Return the ranges to show for one chunk.

    With `wide`, a symbol of up to `MAX_SYMBOL_LINES` lines is shown whole, and more lines are shown
    around the best line.
    """
    symbol, line, word_count = best_place(source, chunk, wanted)
    around = MAX_SYMBOL_LINES // 2 if wide else CONTEXT_LINES
    if symbol is None:
        first, last = max(line - around, chunk.start_line), min(line + around, chunk.end_line)
        return [_trim_range(source, first, last)]
    first = first_comment_line(
        lambda number: source.lines.get(number, ""), symbol.line, MAX_COMMENT_LINES
    )
    last = symbol.end_line
    if wide and last - symbol.line < MAX_SYMBOL_LINES:
        return [_trim_range(source, first, last)]
    head = _trim_range(source, first, min(symbol.line + HEAD_LINES - 1, last))
    if not word_count:
        return [head]
    return [head, _trim_range(source, max(line - around, first), min(line + around, last))]


def _trim_range(source: FragmentSource, start: int, end: int) -> Range:
    """Limit a range to the file, and remove blank lines at both ends."""
    start, end = max(start, min(source.lines)), min(end, max(source.lines))
    while start < end and not source.lines.get(end, "").strip():
        end -= 1
    while start < end and not source.lines.get(start, "").strip():
        start += 1
    return start, max(start, end)


def _fragment(source: FragmentSource, start: int, end: int) -> Fragment:
    symbol = innermost_symbol(source.symbols, start)
    text = "".join(source.lines.get(number, "") for number in range(start, end + 1))
    return Fragment(start, end, symbol.qualified if symbol else "", text.rstrip("\r\n"))
