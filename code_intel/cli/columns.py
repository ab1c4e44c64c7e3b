"""Fit text into terminal columns. East Asian characters take two columns."""

from collections.abc import Iterator

from code_intel.session.frame import display_width


def cut(text: str, columns: int) -> str:
    """Return the beginning of a text that fits into `columns`; `…` marks a cut."""
    return next(wrapped(text, columns, limit=1), "")


def wrapped(text: str, columns: int, limit: int = 0) -> Iterator[str]:
    """Yield a text in lines of at most `columns`; `…` marks a cut after `limit` lines, if given."""
    number = 0
    while text:
        number += 1
        end = _fitting_length(text, columns)
        if number == limit and end < len(text):
            end = _fitting_length(text, columns - 1)
            yield (text[:end].rstrip() if display_width(text[:end]) < columns else "") + "…"
            return
        space = text.rfind(" ", end // 2, end + 1) if end < len(text) else -1
        end = space if space > 0 else end
        yield text[:end].rstrip()
        text = text[end:].lstrip()


def _fitting_length(text: str, columns: int) -> int:
    """Return the number of characters that fit."""
    for end, char in enumerate(text):
        columns -= display_width(char)
        if columns < 0:
            return max(end, 1)
    return len(text)
