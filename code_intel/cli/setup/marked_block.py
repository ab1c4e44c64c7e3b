"""Add, replace and remove one marked block in a text file; every other byte stays.

The block ends with a newline only if the file did before, so that removing it restores every byte.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class BlockMarks(NamedTuple):
    """The first and the last line of a block, and the blank lines before it."""

    begin: bytes
    end: bytes
    gap: bytes = b""

    def find(self, text: bytes) -> re.Match[bytes] | None:
        """Return the match of the block."""
        begin, end = re.escape(self.begin), re.escape(self.end)
        pattern = rb"^" + begin + rb"\r?\n(?:(?!" + begin + rb").*\n)*?" + end + rb"(?:\r?\n|\Z)"
        return re.search(pattern, text, re.MULTILINE)


def with_block(before: bytes | None, marks: BlockMarks, lines: Sequence[bytes]) -> bytes:
    """Return the file with a block of these lines, in place of the block that it has."""
    block = b"\n".join((marks.begin, *lines, marks.end))
    if before is None:
        return block + b"\n"
    match = marks.find(before)
    if match:
        old = match[0]
        return before.replace(old, block + old[old.rindex(marks.end) + len(marks.end) :])
    if before.endswith(b"\n"):
        return before + marks.gap + block + b"\n"
    return before + (b"\n" + marks.gap if before else b"") + block


def without_block(text: bytes, marks: BlockMarks) -> bytes | None:
    """Return the file as it was before `with_block`; None if there was no file."""
    match = marks.find(text)
    if match is None:
        return text
    head, rest = text[: match.start()], text[match.end() :]
    if match[0].endswith(b"\n"):
        if head.endswith(b"\n" + marks.gap):
            head = head.removesuffix(marks.gap)
        return head + rest or None
    return head.removesuffix(b"\n" + marks.gap)
