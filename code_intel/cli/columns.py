"""Fit text into terminal columns. East Asian characters take two columns."""

from collections.abc import Iterator

from code_intel.session.frame import display_width


def cut(text: str, columns: int) -> str:
    """Return as much of a text as fits."""
    return next(wrapped(text, columns, most=1), "")


def wrapped(text: str, columns: int, most: int = 0) -> Iterator[str]:
    """Yield a text in lines of at most `columns`, at most `most` of them; `…` marks a cut."""
    number = 0
    while text:
        number += 1
        end = _fitting(text, columns)
        if number == most and end < len(text):
            yield text[: _fitting(text, columns - 1)].rstrip() + "…"
            return
        space = text.rfind(" ", end // 2, end + 1) if end < len(text) else -1
        end = space if space > 0 else end
        yield text[:end].rstrip()
        text = text[end:].lstrip()


def _fitting(text: str, columns: int) -> int:
    """Return the number of characters that fit."""
    for end, char in enumerate(text):
        columns -= display_width(char)
        if columns < 0:
            return max(end, 1)
    return len(text)
