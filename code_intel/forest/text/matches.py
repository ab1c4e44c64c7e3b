"""Define queries and results of text searches."""

from dataclasses import dataclass
from typing import NamedTuple

MAX_LINE = 500
"""Maximum characters of a line in a result."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A matching line: path relative to the root, number from 1, content without the line ending.

    `spans` are the matches (text, start, end) in the line. Secret values are masked.
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
        matches: The matching lines.
        truncated: Whether there are more, or the search ended early.
        note: Why the result is incomplete, or empty.
    """

    matches: tuple[TextMatch, ...]
    truncated: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to search for.

    Attributes:
        pattern: A regular expression, or plain text when `literal`.
        literal: Match the pattern as a whole word of plain text.
        path: Folder or file to search, relative to the root.
        file_type: A ripgrep type such as `py`, or empty.
        case_sensitive: Whether case matters.
        context_lines: Lines before and after each match.
        max_results: Maximum number of matches.
        unignored: Whether to search ignored and hidden files, too.
    """

    pattern: str
    literal: bool = False
    path: str = "."
    file_type: str = ""
    case_sensitive: bool = True
    context_lines: int = 0
    max_results: int = 100
    unignored: bool = False


class FileListing(NamedTuple):
    """A list of files.

    Attributes:
        names: Paths relative to the root, as on disk; invalid UTF-8 becomes surrogates.
        truncated: Whether the listing ended early.
        note: Why the listing may be incomplete, or empty.
    """

    names: tuple[str, ...]
    truncated: bool = False
    note: str = ""
