"""Add and remove the block of our lines in a `.gitignore`."""

import re
from collections.abc import Sequence

from code_intel.cli.setup.marked_block import BlockMarks, with_block, without_block
from code_intel.foundation import state_folder

MARKS = BlockMarks(b"# code-intel: begin", b"# code-intel: end")
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def pattern(path: str) -> str:
    """Return the line that ignores a file and the files that SQLite and locks create beside it."""
    return _SPECIAL.sub(r"\\\1", path) + "*"


def merged(before: bytes | None, lines: Sequence[str]) -> bytes | None:
    """Return the file with a block of the `lines` that it does not contain elsewhere."""
    match = MARKS.find(before or b"")
    outside = (before or b"").replace(match[0], b"") if match else before or b""
    missing = [line for line in map(str.encode, lines) if line not in outside.splitlines()]
    return with_block(before, MARKS, missing) if missing else before


def with_state_lines(before: bytes | None) -> bytes:
    """Return the `.gitignore` of `.code-intel` with its missing lines, except those it negates."""
    if before is None:
        return state_folder.GITIGNORE_TEXT
    lines = [line for line in state_folder.GITIGNORE_TEXT.splitlines() if not line.startswith(b"#")]
    wanted = [line.decode() for line in lines if b"!" + line not in before.splitlines()]
    return merged(before, wanted) or before


def removed(text: bytes) -> bytes | None:
    """Return the file as it was before `merged`; None if there was no file."""
    return without_block(text, MARKS)
