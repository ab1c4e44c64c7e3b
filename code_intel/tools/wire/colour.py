"""Colour an answer for a terminal.

The colours are added to the text that is also printed elsewhere, and change no character of it.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from code_intel.chunking.words import words

CODES: Mapping[str, int] = MappingProxyType(
    {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
)
"""The parameters of the escape sequence that selects each style."""


def _words(statuses: Iterable[str]) -> str:
    """Return a pattern of words where the commands print them as a status or a level.

    These are: in brackets, at the start of a line before a space, and after `status` in `map show`.
    """
    one = f"(?:{'|'.join(statuses)})"
    return rf"(?:^|(?<=  ))\[{one}\]|^{one}(?= )|(?<=^  status     ){one}\b"


COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "good": (_words(("valid",)), "green"),
        "doubtful": (
            _words(("changed", "unchecked", "expired", "unconfirmed", "warning")),
            "yellow",
        ),
        "bad": (_words(("broken", "conflict", "invalid", "rejected", "error")), "red"),
        "heading": (r"^(?:Agreements|Source \(unverified\)):$", "bold"),
        "place": (
            r"(?:^(?:\d+\. )?|(?<=^   )|(?<=^  file       ))\S[^:\n]*:\d+(?:-\d+)?(?=  |$)",
            "cyan",
        ),
        "file": (r"^\d+\. \S+\.\w+(?=  |$)", "cyan"),
        "symbol": (r"(?<= → )\S+(?=$|  | \()", "bold"),
        "reasons": (r"(?<=  )\[[^\]\n]+\]$", "dim"),
        "note": (r"^Note: .*$", "dim"),
    }
)
"""The pattern and the style of each part of an answer; the first pattern that matches counts."""
_PARTS = re.compile(
    "|".join(f"(?P<{name}>{pattern})" for name, (pattern, _) in COLOURS.items()), re.MULTILINE
)

_INDENTED = re.compile("^   .*$", re.MULTILINE)
"""A line of a file in an answer."""
_WORD = re.compile(r"[^\W_]\w*", re.ASCII)


def coloured(text: str, marks: Collection[str] = ()) -> str:
    """Return the text of an answer with colours.

    Words of indented lines that have one of the index tokens `marks` are bold.
    """
    text = _PARTS.sub(_styled, text)
    return _INDENTED.sub(lambda line: _marked(line[0], frozenset(marks)), text) if marks else text


def _marked(line: str, marks: frozenset[str]) -> str:
    def mark(word: re.Match[str]) -> str:
        return word[0] if marks.isdisjoint(words(word[0])) else styled(word[0], "bold")

    return line if "\x1b" in line else _WORD.sub(mark, line)


def styled(text: str, style: str) -> str:
    """Return a text with the escape sequences that select a style and reset it."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m"


def _styled(part: re.Match[str]) -> str:
    return styled(part[0], COLOURS[str(part.lastgroup)][1])
