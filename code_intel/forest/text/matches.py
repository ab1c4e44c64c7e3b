"""What a search for text is asked and answers, whoever carries it out."""

from dataclasses import dataclass
from typing import NamedTuple

MAX_LINE = 500
"""Characters of a line that are shown."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One matching line: path relative to the root, 1-based line, the line without its end.

    `spans` are (text, first character, character after the last) within the line. Secret values are masked.
    """

    file: str
    line: int
    content: str
    spans: tuple[tuple[str, int, int], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextMatches:
    """What was found, in order of path and line.

    Attributes:
        matches: The lines.
        truncated: Whether there was more, or the search was cut short.
        note: What the reader must know of how it was searched, or empty.
    """

    matches: tuple[TextMatch, ...]
    truncated: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for.

    Attributes:
        pattern: A regular expression, or plain text when `literal`.
        literal: Take the pattern as text, and only where it is a whole word.
        path: Folder or file to look in, relative to the root.
        file_type: A ripgrep type such as `py`, or empty.
        case_sensitive: As it says.
        context_lines: Lines before and after each match.
        max_results: At most this many matches in all.
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
        names: As the disk has them; bytes that are no UTF-8 are surrogates.
        truncated: Whether the listing was cut short.
        note: What the reader must know of how they were listed, or empty.
    """

    names: tuple[str, ...]
    truncated: bool = False
    note: str = ""
