"""Colour an answer for a terminal.

The colours are added to the text that is also printed elsewhere, and change no character of it.
`rich` decides whether the terminal shows colours: not if it is `dumb`, or NO_COLOR is set.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from rich.console import Console
from rich.style import Style


def _words(words: Iterable[str]) -> str:
    """Return a pattern of words where the commands print them as a status or a level.

    These are: in brackets, at the start of a line before a space, and after `status` in `map show`.
    """
    one = f"(?:{'|'.join(words)})"
    return rf"(?:^|(?<=  ))\[{one}\]|^{one}(?= )|(?<=^  status     ){one}\b"


COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "good": (_words(("valid",)), "green"),
        "doubtful": (
            _words(("changed", "unchecked", "expired", "unconfirmed", "warning")),
            "yellow",
        ),
        "bad": (_words(("broken", "conflict", "invalid", "error")), "red"),
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


def coloured(text: str) -> str:
    """Return the text of an answer with colours, if standard output shows them."""
    console = Console()
    if console.no_color or console.color_system is None or console.legacy_windows:
        return text
    return _PARTS.sub(_styled, text)


def _styled(part: re.Match[str]) -> str:
    return Style.parse(COLOURS[str(part.lastgroup)][1]).render(part[0])
