"""Compare texts line by line, for pages that show what has changed or will change."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from code_intel.foundation.redaction import masked

CONTEXT_LINES = 3
Kind = Literal["added", "removed", "same", "gap"]
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True)
class DiffLine:
    """A line of a comparison.

    Attributes:
        kind: Whether it is only in the new text, only in the old text, in both, or stands for lines
            that are left out.
        text: The line.
        old: Its number in the old text; 0 if it is not there.
        new: Its number in the new text; 0 if it is not there.
    """

    kind: Kind
    text: str = ""
    old: int = 0
    new: int = 0

    @property
    def sign(self) -> str:
        """The sign before the line in a unified diff."""
        return {"added": "+", "removed": "-"}.get(self.kind, "")


def compare(before: str, after: str) -> list[DiffLine]:
    """Return the lines that differ between two texts, with a few lines around; secrets are masked.

    Args:
        before: The old text; empty for a new file.
        after: The new text; empty for a file that is removed.
    """
    old, new = (masked(text).removesuffix("\n").split("\n") for text in (before, after))
    patch = difflib.unified_diff(
        old if before else [], new if after else [], lineterm="", n=CONTEXT_LINES
    )
    return list(_lines(list(patch)[2:]))


def _lines(patch: Sequence[str]) -> Iterator[DiffLine]:
    old = new = 0
    for line in patch:
        if hunk := _HUNK.match(line):
            if old:
                yield DiffLine("gap")
            old, new = int(hunk[1]), int(hunk[2])
        elif line.startswith("+"):
            yield DiffLine("added", line[1:], 0, new)
            new += 1
        elif line.startswith("-"):
            yield DiffLine("removed", line[1:], old, 0)
            old += 1
        elif line.startswith(" "):
            yield DiffLine("same", line[1:], old, new)
            old, new = old + 1, new + 1


def side_by_side(left: str, right: str) -> tuple[list[DiffLine], list[DiffLine]]:
    """Return the lines of two texts that differ, each with a few lines around; secrets are masked.

    A gap stands for lines that are left out between them.
    """
    old, new = (masked(text).removesuffix("\n").split("\n") for text in (left, right))
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        for side in filter(None, (removed, added)):
            side.append(DiffLine("gap"))
        for tag, first, last, start, end in group:
            same = tag == "equal"
            removed += [
                DiffLine("same" if same else "removed", old[at], at + 1)
                for at in range(first, last)
            ]
            added += [
                DiffLine("same" if same else "added", new[at], at + 1) for at in range(start, end)
            ]
    return removed, added
