"""Split a file into chunks, and find its symbols and imports.

Nothing here reads the disk, and `parse_file` never fails. Code with a grammar is split at its
symbols, Markdown by devrag's rule, and everything else into windows of lines. If a parser fails,
the file is split into windows, and `problem` gives the reason. This package also defines the
formats of agreements and knowledge pages, and the tokens of the full-text index.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence

from code_intel.chunking import markdown, script, sections, splitting, sql
from code_intel.chunking.card import code_card, text_card
from code_intel.chunking.decode import decode, decode_counting
from code_intel.chunking.languages import MARKDOWN, Language, language_of, row_of_text
from code_intel.chunking.outline import FileOutline, Unit
from code_intel.chunking.spans import Lines, Span
from code_intel.chunking.symbols import outline
from code_intel.chunking.words import query_words, split_identifier, words
from code_intel.records import Chunk, ParsedFile, Symbol

__all__ = [
    "decode",
    "decode_counting",
    "language_of",
    "parse_file",
    "query_words",
    "split_identifier",
    "symbols_around",
    "words",
]

MAX_PARSED_CHARS = 1 << 20
"""Longer files are assumed to be generated and are not parsed."""
MAX_MEAN_LINE_CHARS = 300
"""Code with longer lines is assumed to be minified and is not parsed."""
MAX_GAP_LINES = 100
"""Lines between two lines whose surroundings are read together."""

_EMPTY = FileOutline()
_READERS = {"sql": sql.outline, "script": script.outline, "sections": sections.outline}


def parse_file(path: str, text: str, *, chunk_size: int = 500) -> ParsedFile:
    """Split one file into chunks and find its symbols.

    Args:
        path: Its path relative to the project; determines the language and is part of the cards.
        text: Its content with its own line ends. The chunks of code rejoin to exactly this text.
        chunk_size: Characters per chunk, for Markdown only.
    """
    language = row_of_text(path, text)
    if language is MARKDOWN:
        return ParsedFile(language.name, _markdown(text, chunk_size))
    lines = Lines(text)
    known, problem = _outline(text, lines, language)
    spans = (
        splitting.split(lines, known.blocks()) if known.units else splitting.windows(text, lines)
    )
    symbols = tuple(unit.symbol for unit in known.units)
    chunks = _chunks(path, text, lines, spans, known)
    return ParsedFile(language.name, chunks, symbols, known.imports, problem)


def symbols_around(path: str, text: str, numbers: Collection[int]) -> tuple[Symbol, ...]:
    """Return the symbols that contain any of some lines, and perhaps their neighbours.

    This is several times faster than `parse_file` if a large file has few such lines.
    """
    language = row_of_text(path, text)
    lines = Lines(text)
    if language.grammar and not language.reader and len(text) <= MAX_PARSED_CHARS:
        try:
            near = [lines.span(first, last) for first, last in _runs(numbers)]
            units = outline(text, lines, language, near).units
        except Exception:  # noqa: BLE001 - as in `_outline`
            return ()
        return tuple(unit.symbol for unit in units)
    return tuple(unit.symbol for unit in _outline(text, lines, language)[0].units)


def _runs(numbers: Collection[int]) -> list[tuple[int, int]]:
    """Return the first and last of each group of line numbers that are close to each other."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number - runs[-1][1] <= MAX_GAP_LINES:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _outline(text: str, lines: Lines, language: Language) -> tuple[FileOutline, str]:
    """Return the outline of a file, or an empty one and the reason."""
    if not (language.grammar or language.reader) or not text:
        return _EMPTY, ""
    if len(text) > MAX_PARSED_CHARS:
        return _EMPTY, f"longer than {MAX_PARSED_CHARS} characters: not parsed"
    if len(text) > MAX_MEAN_LINE_CHARS * max(len(lines), 10):
        return _EMPTY, "minified: not parsed" if language.complete else ""
    try:
        return _READERS.get(language.reader, outline)(text, lines, language), ""
    except Exception as error:  # noqa: BLE001 - a defect of a parser must not lose the file
        return _EMPTY, f"not parsed: {error}"


def _chunks(
    path: str, text: str, lines: Lines, spans: Sequence[Span], known: FileOutline
) -> tuple[Chunk, ...]:
    first_lines = [unit.symbol.start_line for unit in known.units]
    chunks = []
    for position, (start, end) in enumerate(spans):
        first, last = lines.number(start), lines.number(max(end - 1, start))
        # A line that was split belongs to the piece with its first character.
        begins = first if start == lines.start(first) else first + 1
        low, high = (bisect_right(first_lines, n) for n in (begins - 1, last))
        inside = [unit.symbol for unit in known.units[low:high]]
        card = code_card(
            path,
            text[start:end],
            inside,
            inside="" if inside else _enclosing(known.units[:low], first),
            about=known.about if position == 0 else "",
        )
        names = tuple(dict.fromkeys(symbol.qualified for symbol in inside))
        chunks.append(Chunk(position, text[start:end], first, last, names, card))
    return tuple(chunks)


def _enclosing(before: Sequence[Unit], line: int) -> str:
    """Return the innermost symbol that begins before a line and contains it."""
    return next((u.symbol.qualified for u in reversed(before) if u.symbol.end_line >= line), "")


def _markdown(text: str, chunk_size: int) -> tuple[Chunk, ...]:
    """Split Markdown; an agreement has one card for all of its chunks."""
    lines = Lines(text)
    agreement_card = _agreement_card(text)
    paths = markdown.heading_path(text)
    chunks = []
    for position, (start, end) in enumerate(markdown.split(text, chunk_size)):
        above = bisect_right(paths, start, key=lambda path: path[0])
        if agreement_card is None:
            card = text_card(paths[above - 1][1] if above else "", text[start:end])
        else:
            card = "" if position else agreement_card
        span = lines.number(start), lines.number(end - 1)
        chunks.append(Chunk(position, text[start:end], *span, (), card))
    return tuple(chunks)


def _agreement_card(text: str) -> str | None:
    if not re.match(r"\s*---", text):
        return None
    from code_intel.chunking.agreement import card_of

    return card_of(text)
