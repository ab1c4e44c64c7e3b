"""How a pack of files is written: Markdown, XML or plain text, each in a way that no file can break out of.

Every page is whole by itself: a fence or an element that it opens, it closes. Characters that nobody can
see are escapes, since a pack is for reading and not for writing back.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.chunking import language_of
from code_intel.foundation.text import visible

Format = Literal["markdown", "xml", "plain"]
FENCE = 3
"""Fewest backticks of a fence."""
_TICKS = re.compile(r"`+")
_NO_XML = re.compile("[\ufffe\uffff\U0001fffe-\U0001ffff]")


class Piece(NamedTuple):
    """Lines of one file; `first` is 0 where it has none.

    Attributes:
        name: Of the file.
        first: Number of the first line.
        last: Number of the last one.
        lines: How many the file has.
        text: Those lines, with one line feed between two of them.
    """

    name: str
    first: int
    last: int
    lines: int
    text: str

    @property
    def whole(self) -> bool:
        """Whether it is all of the file."""
        return self.first <= 1 and self.last == self.lines


class Writer(NamedTuple):
    """What a format does.

    Attributes:
        contents: (title, rows) -> the table of contents.
        piece: Lines of a file.
        page: (title, parts) -> the parts joined.
    """

    contents: Callable[[str, Sequence[str]], str]
    piece: Callable[[Piece], str]
    page: Callable[[str, Sequence[str]], str]


def _markdown_contents(title: str, rows: Sequence[str]) -> str:
    listed = "".join(f"- {_code(row)}\n" for row in rows)
    return f"# {_code(title)}\n\n{listed}"


def _markdown_piece(piece: Piece) -> str:
    """Return a heading, and the lines in a fence longer than any row of backticks in them."""
    text = visible(piece.text, keep="\n\t")
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, FENCE)
    language = language_of(piece.name)
    head = f"## {_code(piece.name)}{_lines(piece)}"
    return f"{head}\n\n{fence}{'' if language == 'text' else language}\n{text}\n{fence}\n"


def _xml_contents(title: str, rows: Sequence[str]) -> str:
    del title  # the page's element has it
    listed = "".join(f"<entry>{_xml(row)}</entry>\n" for row in rows)
    return f"<contents>\n{listed}</contents>\n"


def _xml_piece(piece: Piece) -> str:
    place = f'lines="{piece.first}-{piece.last}" of="{piece.lines}"'
    return f"<file path={_quoted(piece.name)} {place}>\n{_xml(piece.text)}\n</file>\n"


def _plain_contents(title: str, rows: Sequence[str]) -> str:
    listed = "".join(f"    {visible(row)}\n" for row in rows)
    return f"==== {visible(title)} ====\n{listed}"


def _plain_piece(piece: Piece) -> str:
    """Return a line of ours and those of the file, indented, so that none of them looks like one."""
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
    return "" if piece.whole else f" (lines {piece.first}-{piece.last} of {piece.lines})"


def _code(name: str) -> str:
    """Return a name as Markdown's inline code, whatever backticks it has."""
    shown = visible(name)
    ticks = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    gap = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{ticks}{gap}{shown}{gap}{ticks}"


def _quoted(name: str) -> str:
    return f'"{escape(_NO_XML.sub("?", visible(name)))}"'


def _xml(text: str) -> str:
    return escape(_NO_XML.sub("?", visible(text, keep="\n\t")), quote=False)
