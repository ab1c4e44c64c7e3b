"""Define queries and results of text searches."""

from dataclasses import dataclass
from typing import NamedTuple

MAX_LINE = 500
"""Characters of a line in a result."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A matching line: path relative to the root, 1-based line number, the line without its end.

    `spans` are (text, start, end) within the line. Secret values are masked.
    """

    file: str
    line: int
    content: str
    spans: tuple[tuple[str, int, int], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextMatches:
    """The matches, ordered by path and line.

    Attributes:
        matches: The lines.
        truncated: Whether there were more, or the search ended early.
        note: What the reader must know about the search, or empty.
    """

    matches: tuple[TextMatch, ...]
    truncated: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for.

    Attributes:
        pattern: A regular expression, or plain text when `literal`.
        literal: Match the pattern as a whole word of plain text.
        path: Folder or file to search, relative to the root.
        file_type: A ripgrep type such as `py`, or empty.
        case_sensitive: Whether case matters.
        context_lines: Lines before and after each match.
        max_results: Maximum number of matches.
    """

    pattern: str
    literal: bool = False
    path: str = "."
    file_type: str = ""
    case_sensitive: bool = True
    context_lines: int = 0
    max_results: int = 100


class FileListing(NamedTuple):
    """Files, relative to the root, by name.

    Attributes:
        names: As on disk; invalid UTF-8 is kept as surrogates.
        truncated: Whether the listing ended early.
        note: What the reader must know about the listing, or empty.
    """

    names: tuple[str, ...]
    truncated: bool = False
    note: str = ""
