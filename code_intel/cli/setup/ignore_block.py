"""Add and remove one marked block in a `.gitignore`; every other byte stays.

The block ends with a newline only if the file did before, so that removing it restores every byte.
"""

import re
from collections.abc import Sequence

from code_intel.foundation import state_folder

BEGIN, END = b"# code-intel: begin", b"# code-intel: end"
_BLOCK = re.compile(
    rb"^" + BEGIN + rb"\r?\n(?:(?!" + BEGIN + rb").*\n)*?" + END + rb"(?:\r?\n|\Z)", re.MULTILINE
)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def pattern(path: str) -> str:
    """Return the line that ignores a file and the files that SQLite and locks create beside it."""
    return _SPECIAL.sub(r"\\\1", path) + "*"


def merged(before: bytes | None, lines: Sequence[str]) -> bytes | None:
    """Return the file with a block of the `lines` that it does not contain elsewhere."""
    match = _BLOCK.search(before or b"")
    outside = (before or b"").replace(match[0], b"") if match else before or b""
    missing = [line for line in map(str.encode, lines) if line not in outside.splitlines()]
    if not missing:
        return before
    block = b"\n".join((BEGIN, *missing, END))
    if before is None:
        return block + b"\n"
    if match:
        return before.replace(match[0], block + match[0][match[0].index(END) + len(END) :])
    if before.endswith(b"\n"):
        return before + block + b"\n"
    return before + (b"\n" if before else b"") + block


def with_state_lines(before: bytes | None) -> bytes:
    """Return the `.gitignore` of `.code-intel` with its missing lines, except those it negates."""
    if before is None:
        return state_folder.GITIGNORE_TEXT
    lines = [line for line in state_folder.GITIGNORE_TEXT.splitlines() if not line.startswith(b"#")]
    wanted = [line.decode() for line in lines if b"!" + line not in before.splitlines()]
    return merged(before, wanted) or before


def removed(text: bytes) -> bytes | None:
    """Return the file as it was before `merged`; None if there was no file."""
    match = _BLOCK.search(text)
    if match is None:
        return text
    if match[0].endswith(b"\n"):
        return text.replace(match[0], b"") or None
    return text[: match.start()].removesuffix(b"\n")
