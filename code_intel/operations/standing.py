"""Find out where code that was seen or quoted before stands now."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from code_intel.session.state import Print
from code_intel.tools.context.prints import Windows, place_of, split_lines


class Standing(NamedTuple):
    """Where code of a file stands now.

    Attributes:
        state: `unchanged`, `moved` to other lines, `changed`, or `gone` with its file.
        first: The first line now; 0 if unknown.
        last: The last line now; 0 if unknown.
    """

    state: str
    first: int = 0
    last: int = 0


def standing_of_prints(
    prints: Sequence[Print], lines: Sequence[str], windows: Windows | None = None
) -> Standing:
    """Return where printed blocks of lines stand in the current lines of their file.

    `windows` is the same for all blocks of a file, and empty at first.
    """
    windows = {} if windows is None else windows
    places = [place_of(each, lines, windows) for each in prints]
    if not all(places):
        return Standing("changed", prints[0].first, max(each.last for each in prints))
    moves = {place.start - each.first for place, each in zip(places, prints, strict=True)}
    # Blocks that have moved by different distances have other lines between them now.
    state = "changed" if len(moves) > 1 else "moved" if moves != {0} else "unchanged"
    first, last = min(each.start for each in places), max(each.stop - 1 for each in places)
    return Standing(state, first, last)


def standing_of_quote(quote: str, lines: Sequence[str], first: int = 0) -> Standing:
    """Return where a quote stands in the current lines of its file.

    Indentation and blank lines do not count.

    Args:
        quote: The quote.
        lines: The current lines.
        first: The line where it stood; 0 if that is unknown, so that it cannot have moved.
    """
    wanted = [text for _, text in _said(split_lines(quote))]
    said = list(_said(lines))
    found = [
        Standing("unchanged", said[start][0], said[start + len(wanted) - 1][0])
        for start, (_, text) in enumerate(said)
        if wanted
        and text == wanted[0]
        and [each for _, each in said[start : start + len(wanted)]] == wanted
    ]
    if not found:
        return Standing("changed")
    place = min(found, key=lambda each: abs(each.first - first)) if first else found[0]
    blank = len(split_lines(quote)) - len(split_lines(quote.lstrip("\n")))
    return place._replace(state="moved") if first and place.first != first + blank else place


def _said(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Yield number and text of the lines that are not blank."""
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            yield number, text
