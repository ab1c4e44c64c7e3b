"""Add and remove one marked block in a `.gitignore`; every other byte stays.

The block ends with a newline only if the file before it did, so that it can be removed to the byte.
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
    """Return the line that ignores a file and the files that SQLite and locks put beside it."""
    return _SPECIAL.sub(r"\\\1", path) + "*"


def merged(before: bytes | None, lines: Sequence[str]) -> bytes | None:
    """Return the file with a block of those `lines` that it does not contain elsewhere."""
    found = _BLOCK.search(before or b"")
    around = (before or b"").replace(found[0], b"") if found else before or b""
    missing = [line for line in map(str.encode, lines) if line not in around.splitlines()]
    if not missing:
        return before
    block = b"\n".join((BEGIN, *missing, END))
    if before is None:
        return block + b"\n"
    if found:
        return before.replace(found[0], block + found[0][found[0].index(END) + len(END) :])
    if before.endswith(b"\n"):
        return before + block + b"\n"
    return before + (b"\n" if before else b"") + block


def hiding(before: bytes | None) -> bytes:
    """Return the `.gitignore` of `.code-intel` with missing lines, except those that it negates."""
    if before is None:
        return state_folder.GITIGNORE_TEXT
    lines = [line for line in state_folder.GITIGNORE_TEXT.splitlines() if not line.startswith(b"#")]
    wanted = [line.decode() for line in lines if b"!" + line not in before.splitlines()]
    return merged(before, wanted) or before


def without(text: bytes) -> bytes | None:
    """Return the file as it was before `merged`; None if there was none."""
    found = _BLOCK.search(text)
    if found is None:
        return text
    if found[0].endswith(b"\n"):
        return text.replace(found[0], b"") or None
    return text[: found.start()].removesuffix(b"\n")
