"""Here is a file: give me its chunks and symbols. Pure, and it never fails.

What a grammar knows is cut at symbols, Markdown by devrag's rule, everything else into windows of
lines. A text that a parser cannot make anything of gets lines too, and `problem` says why.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from code_intel.chunking import lines as windows
from code_intel.chunking import markdown, script, sections, sql, syntax
from code_intel.chunking.card import code_card, text_card
from code_intel.chunking.decode import decode, decode_counting
from code_intel.chunking.languages import MARKDOWN, Language, language_of, row_of_text
from code_intel.chunking.outline import Outline, Unit
from code_intel.chunking.spans import Lines, Span
from code_intel.chunking.symbols import outline
from code_intel.chunking.words import query_words, split_identifier, words
from code_intel.records import Chunk, ParsedFile

__all__ = [
    "decode",
    "decode_counting",
    "language_of",
    "parse_file",
    "query_words",
    "split_identifier",
    "words",
]

PARSED = 1 << 20
"""Most characters that are parsed; longer files are generated."""
MINIFIED = 300
"""Mean characters a line above which code is minified, and its symbols mean nothing."""

_NOTHING = Outline()
_READERS = {"sql": sql.outline, "script": script.outline, "sections": sections.outline}


def parse_file(path: str, text: str, *, chunk_size: int = 500) -> ParsedFile:
    """Cut one file into chunks and find its symbols.

    Args:
        path: Its name relative to the project; says the language and gives the cards words.
        text: Its content, line ends as they are. The chunks of code rejoin to exactly this.
        chunk_size: Characters a chunk, Markdown only.
    """
    language = row_of_text(path, text)
    if language is MARKDOWN:
        return ParsedFile(language.name, _markdown(text, chunk_size))
    lines = Lines(text)
    known, problem = _outline(text, lines, language)
    spans = syntax.split(lines, known.blocks()) if known.units else windows.windows(text, lines)
    symbols = tuple(unit.symbol for unit in known.units)
    chunks = _chunks(path, text, lines, spans, known)
    return ParsedFile(language.name, chunks, symbols, known.imports, problem)


def _outline(text: str, lines: Lines, language: Language) -> tuple[Outline, str]:
    """Return what the parser knows, or nothing and the reason."""
    if not (language.grammar or language.reader) or not text:
        return _NOTHING, ""
    if len(text) > PARSED:
        return _NOTHING, f"longer than {PARSED} characters: not parsed"
    if len(text) > MINIFIED * len(lines) and len(text) > MINIFIED * 10:
        return _NOTHING, "minified: not parsed" if language.complete else ""
    try:
        return _READERS.get(language.reader, outline)(text, lines, language), ""
    except Exception as error:  # noqa: BLE001 - chunking never fails; a parser's defect costs symbols, not the file
        return _NOTHING, f"not parsed: {error}"


def _chunks(
    path: str, text: str, lines: Lines, spans: Sequence[Span], known: Outline
) -> tuple[Chunk, ...]:
    first_lines = [unit.symbol.start_line for unit in known.units]
    chunks = []
    for position, (start, end) in enumerate(spans):
        first, last = lines.number(start), lines.number(max(end - 1, start))
        # A line cut in two begins in the piece that has its first character.
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
    """Return the innermost symbol that began before a line and is still open there."""
    return next((u.symbol.qualified for u in reversed(before) if u.symbol.end_line >= line), "")


def _markdown(text: str, chunk_size: int) -> tuple[Chunk, ...]:
    """Cut Markdown; an agreement has one card, whatever the number of its chunks."""
    lines = Lines(text)
    agreed = _agreement_card(text)
    paths = markdown.heading_path(text)
    chunks = []
    for position, (start, end) in enumerate(markdown.split(text, chunk_size)):
        above = bisect_right(paths, start, key=lambda path: path[0])
        if agreed is None:
            card = text_card(paths[above - 1][1] if above else "", text[start:end])
        else:
            card = "" if position else agreed
        span = lines.number(start), lines.number(end - 1)
        chunks.append(Chunk(position, text[start:end], *span, (), card))
    return tuple(chunks)


def _agreement_card(text: str) -> str | None:
    if not re.match(r"\s*---", text):
        return None
    from code_intel.chunking.agreement import card_of

    return card_of(text)
