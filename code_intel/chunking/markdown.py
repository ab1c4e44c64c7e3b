"""Split Markdown by devrag's rule, so that positions match those in devrag's databases.

Text of at most `size` characters is one chunk. Longer text is split at blank lines, and paragraphs
are joined while they fit. A longer paragraph is split after the last sentence in the second half of
`size`, else at `size`. Chunks have no white space at their ends, so they do not rejoin to the text.
"""

import re
from collections.abc import Iterator

from code_intel.chunking.spans import Span

_BLANK = re.compile(r"(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)\s*")
_SENTENCE_ENDS = frozenset(".!?\n。")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")
_LINE = re.compile(r"[^\r\n]+")


def split(text: str, size: int) -> list[Span]:
    """Return the spans of the chunks, each at most `size` characters; none for blank text."""
    trimmed = _trim(text, 0, len(text))
    if trimmed[0] == trimmed[1]:
        return []
    if trimmed[1] - trimmed[0] <= size:
        return [trimmed]
    return [piece for span in _pack(text, size) if (piece := _trim(text, *span))[0] < piece[1]]


def heading_path(text: str) -> list[tuple[int, str]]:
    """Return (offset, `Title > Section > Part`) of each heading outside code blocks."""
    titles: list[tuple[int, str]] = []
    paths: list[tuple[int, str]] = []
    fence = ""
    for line in _LINE.finditer(text):
        if mark := _FENCE.match(line[0]):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line[0])):
            level = len(heading[1])
            titles = [(depth, title) for depth, title in titles if depth < level]
            titles.append((level, heading[2]))
            paths.append((line.start(), " > ".join(title for _, title in titles)))
    return paths


def _pack(text: str, size: int) -> Iterator[Span]:
    """Join neighbouring paragraphs while their span is at most `size`."""
    current: Span | None = None
    for start, end in _paragraphs(text):
        if current and end - current[0] <= size:
            current = current[0], end
            continue
        if current:
            yield current
        current = (start, end) if end - start <= size else None
        if current is None:
            yield from _cut(text, start, end, size)
    if current:
        yield current


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for blank in _BLANK.finditer(text):
        if (span := _trim(text, start, blank.start()))[0] < span[1]:
            yield span
        start = blank.end()
    if (span := _trim(text, start, len(text)))[0] < span[1]:
        yield span


def _cut(text: str, start: int, end: int, size: int) -> Iterator[Span]:
    while end - start > size:
        stop = start + size
        for offset in range(stop, start + max(1, size // 2), -1):
            if text[offset - 1] in _SENTENCE_ENDS:
                stop = offset
                break
        yield start, stop
        start = stop
    yield start, end


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
