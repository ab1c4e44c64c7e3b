"""Split a file with the conflict markers of git into its sides."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from code_intel.learned.files import agreements
from code_intel.learned.files.agreements import AgreementEntry

_MARKER = re.compile(r"(<{7,}|\|{7,}|={7,}|>{7,})(?: (.*))?$")
_NEXT = {"<": "ours", "|": "base", "=": "theirs", ">": ""}
"""The side to which the lines after a marker belong, by the marker's first character."""
_AFTER = {"": "<", "ours": "|=", "base": "=", "theirs": ">"}
"""The markers that may follow within each side."""


class Side(NamedTuple):
    """One side of a conflict: the whole text of the file, as that side has it.

    Attributes:
        name: What git calls the side, such as the name of a branch.
        text: The text.
        entry: What the text says, or why it cannot be read.
    """

    name: str
    text: str
    entry: AgreementEntry


class Sides(NamedTuple):
    """The sides of a file with conflict markers; `base` only if git has written it."""

    ours: Side
    theirs: Side
    base: Side | None


@dataclass(slots=True)
class _Reading:
    """The lines of each side, up to the line that was read last."""

    lines: dict[str, list[str]] = field(
        default_factory=lambda: {"ours": [], "base": [], "theirs": []}
    )
    names: dict[str, str] = field(default_factory=dict)
    at: str = ""

    def take(self, line: str) -> None:
        """Add a line to the sides to which it belongs."""
        marker = _MARKER.match(line.rstrip("\r"))
        if marker and marker[1][0] in _AFTER[self.at]:
            kind = marker[1][0]
            side = "theirs" if kind == ">" else _NEXT[kind]
            if marker[2]:
                self.names.setdefault(side, marker[2].strip())
            self.at = _NEXT[kind]
            if kind == "|":
                self.names.setdefault("base", "")
            return
        for side in [self.at] if self.at else self.lines:
            self.lines[side].append(line)


def sides_of(path: Path, text: str) -> Sides | None:
    """Return the sides of a file; None if it has no complete conflict."""
    reading = _Reading()
    for line in text.split("\n"):
        reading.take(line)
    if reading.at or "theirs" not in reading.names:
        return None

    def side(name: str) -> Side:
        whole = "\n".join(reading.lines[name])
        entry = agreements.parsed(path, whole.encode("utf-8", "replace"))
        return Side(reading.names.get(name, ""), whole, entry)

    return Sides(side("ours"), side("theirs"), side("base") if "base" in reading.names else None)
