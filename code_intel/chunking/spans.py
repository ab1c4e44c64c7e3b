r"""Convert between character offsets, byte offsets and line numbers of a text.

Parsers count bytes and know only `\n`; editors also end a line at `\r\n` and `\r`. All spans are
(start, end) in characters, end excluded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, count
from operator import add

Span = tuple[int, int]

MAX_CHARS = 8000
"""Length of the longest chunk, about 70 wide lines of code; longer lines are split."""

_FIRST_BYTE = -64
_LINE_ENDING = re.compile(r"\r\n|\r|\n")


class Lines:
    """The line starts of a text; line numbers are 1-based, as in editors."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self._text = text
        self.starts = [0, *_ends(text)]
        if len(self.starts) > 1 and self.starts[-1] == self.length:
            self.starts.pop()

    def __len__(self) -> int:
        return len(self.starts)

    def number(self, offset: int) -> int:
        """Return the line of the character at `offset`."""
        return bisect_right(self.starts, offset)

    def start(self, number: int) -> int:
        """Return the offset of the start of line `number`; after the last line, the text's end."""
        return self.starts[number - 1] if number <= len(self.starts) else self.length

    def is_blank(self, number: int) -> bool:
        """Return whether a line has only white space."""
        return not self._text[slice(*self.span(number, number))].strip()

    def next_nonblank(self, number: int) -> int:
        """Return the first line from `number` on that is not blank, or the line after the last."""
        while number <= len(self.starts) and self.is_blank(number):
            number += 1
        return number

    def span(self, first: int, last: int) -> Span:
        """Return the span of lines `first` to `last`, with line endings."""
        return self.start(first), self.start(last + 1)


def _ends(text: str) -> Iterable[int]:
    """Return the offsets after each line ending."""
    if "\r" in text:
        return (match.end() for match in _LINE_ENDING.finditer(text))
    *lines, _ = text.split("\n")  # much faster than matches
    return map(add, accumulate(map(len, lines)), count(1))


class Offsets:
    """Convert byte offsets in the UTF-8 form of a text to character offsets."""

    def __init__(self, text: str, encoded: bytes) -> None:
        self._characters: list[int] | None = None
        if len(encoded) != len(text):
            import numpy as np

            # Bytes 10xxxxxx (below -64 if signed) continue a character; all others begin one.
            begins = np.frombuffer(encoded, dtype=np.int8) >= _FIRST_BYTE
            self._characters = [0, *np.cumsum(begins).tolist()]

    def character(self, byte: int) -> int:
        """Return the character offset of a byte that begins a character, or of the text's end."""
        return byte if self._characters is None else self._characters[byte]

    def byte(self, character: int) -> int:
        """Return the byte offset of a character, or of the text's end."""
        known = self._characters
        return character if known is None else bisect_right(known, character) - 1


def split_long(spans: Iterable[Span], limit: int = MAX_CHARS) -> Iterator[Span]:
    """Split spans that are longer than `limit`."""
    for start, end in spans:
        for piece in range(start, max(end, start + 1), limit):
            yield piece, min(piece + limit, end)
