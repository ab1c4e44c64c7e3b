"""Note the lines of files that answers contain, and find out which of them are still current.

Lines are noted in blocks of at most `MAX_BLOCK_LINES`, so that an edit invalidates only the block
around it. A block that has only moved within its file still counts.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from code_intel.chunking import decode
from code_intel.index.corpus import MAX_FILE_BYTES, SECRET_REASON, refusal
from code_intel.index.safe_files import read_inside
from code_intel.session.state import Print, Session
from code_intel.tools.context.gateway import GatewayContext

MAX_BLOCK_LINES = 10
_DIGEST_CHARS = 16
_LINE_ENDING = re.compile(r"\r\n|\r|\n")
_SIGNATURE_END = " \t:{=;"

Windows = dict[int, dict[str, list[int]]]
"""Where each digest stands in a text, by the number of lines of a block."""


class Passage(NamedTuple):
    """Text of an answer that claims to be the lines of a file from `first` on."""

    file: str
    first: int
    text: str


def print_of(file: str, first: int, lines: Sequence[str]) -> Print:
    """Return the note of consecutive lines; `file` is relative to the root."""
    return Print(file, first, first + len(lines) - 1, _digest(lines))


def prints_of(file: str, first: int, lines: Sequence[str]) -> tuple[Print, ...]:
    """Return the notes of consecutive lines, in blocks.

    >>> [(item.first, item.last) for item in prints_of("a.py", 3, ["x = 1"] * 12)]
    [(3, 12), (13, 14)]
    """
    return tuple(
        print_of(file, first + start, lines[start : start + MAX_BLOCK_LINES])
        for start in range(0, len(lines), MAX_BLOCK_LINES)
    )


def prints_in(context: GatewayContext, passages: Iterable[Passage]) -> tuple[Print, ...]:
    """Return the notes of the lines in `passages` that stand in the files now; this blocks.

    A line that an answer shows cut, or in an earlier state, is left out. White space at both ends
    and what follows a signature (`:`, `{`) need not be shown.
    """
    found: list[Print] = []
    by_file: dict[str, list[Passage]] = {}
    for passage in passages:
        by_file.setdefault(passage.file, []).append(passage)
    for file, group in by_file.items():
        lines = current_text(context, file)
        numbers = {number for passage in group for number in _shown_lines(passage, lines)}
        for first, last in _runs(numbers):
            found += prints_of(file, first, lines[first - 1 : last])
    return tuple(found)


def current_lines(context: GatewayContext, session: Session) -> Mapping[str, frozenset[int]]:
    """Return the numbers of the current lines that this session has printed, by file; this blocks.

    A line that has changed since it was printed is left out.
    """
    return lines_of_prints(context, (item for call in session.calls for item in call.printed))


def place_of(item: Print, lines: Sequence[str], windows: Windows | None = None) -> range:
    """Return the numbers of the lines of a text where a printed block stands; empty if nowhere.

    `windows` is the same for all blocks of a text, and empty at first.
    """
    return _where(item, lines, {} if windows is None else windows)


def lines_of_prints(
    context: GatewayContext, printed: Iterable[Print]
) -> Mapping[str, frozenset[int]]:
    """Return the numbers of the printed lines that still stand in their files; this blocks."""
    by_file: dict[str, dict[Print, None]] = {}
    for item in printed:
        by_file.setdefault(item.file, {})[item] = None
    found = {}
    for file, prints in by_file.items():
        lines = current_text(context, file)
        windows: Windows = {}
        numbers = {number for item in prints for number in _where(item, lines, windows)}
        if numbers:
            found[file] = frozenset(numbers)
    return found


def current_text(context: GatewayContext, file: str) -> list[str]:
    """Return the lines of a file as answers show them; [] if it must not or cannot be read."""
    if refusal(file) == SECRET_REASON:
        return []
    try:
        data = read_inside(context.root, file)
    except (OSError, ValueError):
        return []
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    return [] if text is None else split_lines(text)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, without line endings."""
    lines = _LINE_ENDING.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def _digest(lines: Iterable[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]


def _shown_lines(passage: Passage, lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines that a passage shows whole."""
    for number, shown in enumerate(split_lines(passage.text), passage.first):
        if 0 < number <= len(lines) and _same(shown, lines[number - 1]):
            yield number


def _same(shown: str, line: str) -> bool:
    """Return whether a shown line is `line`."""
    one, other = shown.strip(), line.strip()
    return one == other or (bool(one) and one == other.rstrip(_SIGNATURE_END))


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers."""
    ordered = enumerate(sorted(numbers))
    for _, group in groupby(ordered, key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def _where(item: Print, lines: Sequence[str], windows: Windows) -> range:
    """Return the numbers of the lines where a printed block stands now: the nearest place."""
    size = item.last - item.first + 1
    if item.last <= len(lines) and _digest(lines[item.first - 1 : item.last]) == item.digest:
        return range(item.first, item.last + 1)
    if size not in windows:
        windows[size] = _starts_by_digest(lines, size)
    starts = windows[size].get(item.digest, [])
    first = min(starts, key=lambda start: abs(start - item.first), default=0)
    return range(first, first + size) if first else range(0)


def _starts_by_digest(lines: Sequence[str], size: int) -> dict[str, list[int]]:
    """Return the first lines of all blocks of a size, by digest."""
    found: dict[str, list[int]] = {}
    for first in range(1, len(lines) - size + 2):
        found.setdefault(_digest(lines[first - 1 : first - 1 + size]), []).append(first)
    return found
