"""Format a pack of files as Markdown, XML or plain text, so that no file can break the format.

Every page closes the fences and elements that it opens. Invisible characters are shown as escapes,
because packs are only for reading.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.chunking import language_of
from code_intel.foundation.text import visible

Format = Literal["markdown", "xml", "plain"]
MIN_FENCE_CHARS = 3
"""Minimum number of backticks in a fence."""
_TICKS = re.compile(r"`+")
_NO_XML = re.compile("[\ufffe\uffff\U0001fffe-\U0001ffff]")


class Piece(NamedTuple):
    """A range of lines of one file.

    Attributes:
        name: Name of the file.
        first: Number of the first line; 0 if the file is empty.
        last: Number of the last line.
        lines: Number of lines in the file.
        text: The lines, joined by line feeds.
    """

    name: str
    first: int
    last: int
    lines: int
    text: str

    @property
    def is_whole_file(self) -> bool:
        """Whether it contains the complete file."""
        return self.first <= 1 and self.last == self.lines


class Writer(NamedTuple):
    """The functions of a format.

    Attributes:
        contents: Formats the table of contents from (title, rows).
        piece: Formats a range of lines.
        page: Joins (title, parts) into a page.
    """

    contents: Callable[[str, Sequence[str]], str]
    piece: Callable[[Piece], str]
    page: Callable[[str, Sequence[str]], str]


def _markdown_contents(title: str, rows: Sequence[str]) -> str:
    listed = "".join(f"- {_code(row)}\n" for row in rows)
    return f"# {_code(title)}\n\n{listed}"


def _markdown_piece(piece: Piece) -> str:
    """Return a heading, and the lines in a fence longer than any run of backticks in them."""
    text = visible(piece.text, keep="\n\t")
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, MIN_FENCE_CHARS)
    language = language_of(piece.name)
    head = f"## {_code(piece.name)}{_lines(piece)}"
    return f"{head}\n\n{fence}{'' if language == 'text' else language}\n{text}\n{fence}\n"


def _xml_contents(title: str, rows: Sequence[str]) -> str:
    del title  # the page's element has it
    listed = "".join(f"<entry>{_xml(row)}</entry>\n" for row in rows)
    return f"<contents>\n{listed}</contents>\n"


def _xml_piece(piece: Piece) -> str:
    attributes = f'lines="{piece.first}-{piece.last}" of="{piece.lines}"'
    return f"<file path={_quoted(piece.name)} {attributes}>\n{_xml(piece.text)}\n</file>\n"


def _plain_contents(title: str, rows: Sequence[str]) -> str:
    listed = "".join(f"    {visible(row)}\n" for row in rows)
    return f"==== {visible(title)} ====\n{listed}"


def _plain_piece(piece: Piece) -> str:
    """Return a header line and the lines of the file, indented so that none looks like a header."""
    text = "\n".join(f"    {line}" for line in visible(piece.text, keep="\n\t").split("\n"))
    return f"==== {visible(piece.name)}{_lines(piece)} ====\n{text}\n"


WRITERS: Mapping[Format, Writer] = MappingProxyType(
    {
        "markdown": Writer(
            _markdown_contents, _markdown_piece, lambda _title, parts: "\n".join(parts)
        ),
        "xml": Writer(
            _xml_contents,
            _xml_piece,
            lambda title, parts: f"<pack path={_quoted(title)}>\n{''.join(parts)}</pack>\n",
        ),
        "plain": Writer(_plain_contents, _plain_piece, lambda _title, parts: "\n".join(parts)),
    }
)


def _lines(piece: Piece) -> str:
    if not piece.first:
        return " (empty)"
    return "" if piece.is_whole_file else f" (lines {piece.first}-{piece.last} of {piece.lines})"


def _code(name: str) -> str:
    """Return a name, which may contain backticks, as inline code in Markdown."""
    shown = visible(name)
    ticks = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    gap = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{ticks}{gap}{shown}{gap}{ticks}"


def _quoted(name: str) -> str:
    return f'"{escape(_NO_XML.sub("?", visible(name)))}"'


def _xml(text: str) -> str:
    return escape(_NO_XML.sub("?", visible(text, keep="\n\t")), quote=False)
