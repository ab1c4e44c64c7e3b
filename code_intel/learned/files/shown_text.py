"""Show the text of a file in an editor, and write it back without loss.

The editor shows secrets masked and hidden characters as escapes. So each line that a person leaves
as it was shown gets back its original text.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

from code_intel.chunking.decode import decode
from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

_MASK = re.compile(r"x\*+")
_LIKE_A_MASK = re.compile(r"x\*{3,}")
_KEPT = "\n\t"


class _Line(NamedTuple):
    """A line of a file: as it is, with secrets masked, and as an editor shows it."""

    original: str
    masked: str
    shown: str


def shown_text(data: bytes) -> str:
    """Return the text of a file as an editor shows it: with LF, and nothing secret or hidden."""
    try:
        return "\n".join(line.shown for line in _lines(data.decode("utf-8")))
    except UnicodeDecodeError:
        text = decode(data) or data.decode("utf-8", "replace")
        return visible(with_lf(text), keep=_KEPT)


def with_lf(text: str) -> str:
    """Return a text with LF as its line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def written_bytes(old: bytes, text: str) -> bytes:
    """Return what to write for a text that a person has edited. Secrets in new lines are masked.

    Args:
        old: The file as it was when it was shown.
        text: The edited text.

    Raises:
        UsageError: A changed line contains a masked secret or an escaped character, or lines that
            were shown alike cannot be distinguished, or the file is not UTF-8.
    """
    text = with_lf(text)
    if text == shown_text(old):
        return old
    try:
        lines = _lines(old.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError(
            "The file is not UTF-8 text, so it cannot be written here without loss.",
            hint="Convert the file to UTF-8 with an editor.",
            details={"field": "text"},
        ) from None
    written = "\n".join(_restored(lines, text)).rstrip("\n") + "\n"
    is_crlf = b"\r\n" in old and b"\n" not in old.replace(b"\r\n", b"")
    return (written.replace("\n", "\r\n") if is_crlf else written).encode("utf-8", "replace")


def _lines(text: str) -> list[_Line]:
    text = text.replace("\r\n", "\n")  # a single CR is a hidden character of its line
    pairs = zip(text.split("\n"), masked(text).split("\n"), strict=True)
    return [_Line(line, safe, visible(safe, keep=_KEPT)) for line, safe in pairs]


def _restored(lines: list[_Line], text: str) -> Iterator[str]:
    """Yield the lines of an edited text, with the originals of those that were left as shown."""
    originals: defaultdict[str, deque[str]] = defaultdict(deque)
    for line in lines:
        for form in {line.masked, line.shown}:
            originals[form].append(line.original)
    marks = {mark for line in lines for mark in _marks_of(line)}
    given, safe = text.split("\n"), masked(text).split("\n")
    keys = [
        next((form for form in forms if form in originals), None)
        for forms in zip(given, safe, strict=True)
    ]
    counts = Counter(keys)
    for number, (key, new) in enumerate(zip(keys, safe, strict=True), 1):
        known = None if key is None else originals[key]
        if known is None:
            if any(mark in new for mark in marks) or (marks and _LIKE_A_MASK.search(new)):
                raise _lossy(number, "contains a masked secret or an escaped character")
            yield new
        elif len(set(known)) == 1:
            yield known[0]
        elif counts[key] == len(known):
            known.rotate(-1)
            yield known[-1]
        else:
            raise _lossy(number, "is shown like another line with another masked secret")


def _marks_of(line: _Line) -> Iterator[str]:
    """Yield the masks and escapes that a line is shown with."""
    if line.masked != line.original:
        for mask in _MASK.finditer(line.masked):
            if line.original[mask.start() : mask.end()] != mask[0] and len(mask[0]) > 1:
                yield mask[0]
    if line.shown != line.masked:
        for char in set(line.masked):
            if (escape := visible(char, keep=_KEPT)) != char:
                yield escape


def _lossy(number: int, why: str) -> UsageError:
    return UsageError(
        f"Line {number} {why}, so it cannot be written here without loss. Nothing was written.",
        hint="Leave this line as it was, or change the file with an editor.",
        details={"field": "text", "line": number},
    )
