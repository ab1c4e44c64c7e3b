"""Find the lines of files in the text that a tool of a client printed.

The text is compared with the files, so the options of the program that printed it do not matter.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from code_intel.tools.context.prints import Passage, split_lines

MIN_RUN = 3
"""Lines in a row that show a passage of a file; fewer do if one of them is distinctive."""
MIN_DISTINCTIVE_CHARS = 8
"""Characters of a line that stands once in its file and in a row of fewer lines."""
MAX_OUTPUT_LINES = 20_000
MAX_SEARCHED_NAMES = 500
"""Maximum names of files that are looked up in the results of a search."""
_MAX_STARTS = 50
"""Maximum places of a file that are compared for one printed line."""
_NUMBERED = re.compile(r"\s*(\d{1,7})(?:\t|[:|│-] ?|  ?)(.*)")
_FOUND = (
    re.compile(r"(?P<file>[^:]+):(?P<line>\d{1,7}):(?P<text>.*)"),
    re.compile(r"(?P<file>.+?)-(?P<line>\d{1,7})-(?P<text>.*)"),
    re.compile(r"(?P<file>[^:]+)(?P<line>):(?P<text>.*)"),
)
"""A line that was found, a line around it, and a line without its number."""
_NOTEBOOK = ".ipynb"


class _Lines(NamedTuple):
    """The lines of a file: as they are, as a client shows them, and where each stands."""

    raw: Sequence[str]
    shown: Sequence[str]
    places: Mapping[str, Sequence[int]]


def passages_in(
    output: str, files: Sequence[str], read: Callable[[str], Sequence[str]]
) -> list[Passage]:
    """Return the lines of named files that a text shows, with or without their numbers.

    Args:
        output: The text.
        files: The files, relative to the root.
        read: Returns the current lines of a file.
    """
    printed = [line.rstrip() for line in islice(split_lines(output), MAX_OUTPUT_LINES)]
    numbered = [_NUMBERED.fullmatch(line) for line in printed]
    found: list[Passage] = []
    for file in files:
        lines = _lines_of(file, read(file))
        found += [
            Passage(file, first + 1, "\n".join(lines.raw[first : first + count]))
            for first, count in _runs(printed, lines)
        ]
        found += [
            Passage(file, int(match[1]), lines.raw[int(match[1]) - 1])
            for match in numbered
            if match and _is_line(lines.shown, int(match[1]), match[2])
        ]
    return found


def search_results_in(
    output: str, locate: Callable[[str], str], read: Callable[[str], Sequence[str]]
) -> list[Passage]:
    """Return the lines that a search printed as `file:line:text` or `file:text`.

    Args:
        output: The text.
        locate: Returns the path of a file relative to the root; "" if there is no such file.
        read: Returns the current lines of a file.
    """
    known: dict[str, str] = {}
    found = []
    for line in islice(split_lines(output), MAX_OUTPUT_LINES):
        for match in filter(None, (form.fullmatch(line.rstrip()) for form in _FOUND)):
            named, text = match["file"], match["text"]
            if named not in known:
                known[named] = locate(named) if len(known) < MAX_SEARCHED_NAMES else ""
            if file := known[named]:
                lines = read(file)
                number = int(match["line"]) if match["line"] else _place_of(text, lines)
                if _is_line(lines, number, text):
                    found.append(Passage(file, number, lines[number - 1]))
                break
    return found


def _lines_of(file: str, raw: Sequence[str]) -> _Lines:
    shown = [_in_cell(line) if file.endswith(_NOTEBOOK) else line.rstrip() for line in raw]
    places: dict[str, list[int]] = {}
    for place, line in enumerate(shown):
        places.setdefault(line, []).append(place)
    return _Lines(raw, shown, places)


def _in_cell(line: str) -> str:
    r"""Return a line of a notebook's source as its cell shows it.

    >>> _in_cell('    "import os\\\\n",')
    'import os'
    """
    try:
        text = json.loads(line.strip().rstrip(","))
    except ValueError:
        return line.rstrip()
    return text.rstrip() if isinstance(text, str) else line.rstrip()


def _runs(printed: Sequence[str], lines: _Lines) -> Iterator[tuple[int, int]]:
    """Yield where lines of a file stand in a text: the first, counted from 0, and their number."""
    place = 0
    while place < len(printed):
        # A run does not begin with an empty line: it stands in too many places.
        starts = lines.places.get(printed[place], ())[:_MAX_STARTS] if printed[place] else ()
        count, first = max(
            ((_common(printed, place, lines.shown, start), -start) for start in starts),
            default=(0, 0),
        )
        if count and _is_passage(lines, -first, count):
            yield -first, count
            place += count
        else:
            place += 1


def _common(printed: Sequence[str], place: int, shown: Sequence[str], start: int) -> int:
    """Return how many lines are the same from two places on."""
    limit = min(len(printed) - place, len(shown) - start)
    return next((n for n in range(limit) if printed[place + n] != shown[start + n]), limit)


def _is_passage(lines: _Lines, first: int, count: int) -> bool:
    shown = lines.shown[first : first + count]
    if count == len(lines.shown) or (count >= MIN_RUN and any(shown)):
        return True
    return any(
        len(lines.places[line]) == 1 and len(line.strip()) >= MIN_DISTINCTIVE_CHARS
        for line in shown
    )


def _is_line(lines: Sequence[str], number: int, text: str) -> bool:
    return (
        0 < number <= len(lines)
        and bool(text.strip())
        and lines[number - 1].strip() == text.strip()
    )


def _place_of(text: str, lines: Sequence[str]) -> int:
    """Return the number of the only line with this text; 0 without one, or with several."""
    places = [n for n, line in enumerate(lines, 1) if line.strip() == text.strip()]
    return places[0] if len(places) == 1 else 0
