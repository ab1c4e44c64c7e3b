"""A file's name as the disk spells it: one file has one name, whatever Unicode form a caller writes it in.

Linux takes `café` with a composed and with a combining é for two names; when only one of them is there,
it is what was meant. macOS and Windows take them, and letters of either case, for one.
"""

import os
import sys
import unicodedata
from pathlib import Path

EXACT = sys.platform not in {"darwin", "win32"}
"""Whether a name that exists is spelled as it was asked for."""


def spelled(path: Path) -> Path:
    """Return an absolute path with every part as its folder lists it; what is not there stays as it is."""
    if (EXACT and os.path.lexists(path)) or (EXACT and str(path).isascii()):
        return path
    found = Path(path.anchor)
    for part in path.parts[1:]:
        found /= _listed(found, part)
    return found


def spelled_below(root: Path, file: str) -> str:
    """Return a path relative to `root`, or an absolute one, in the same way."""
    if EXACT and file.isascii():
        return file
    asked = root / file
    found = spelled(asked)
    if found == asked:
        return file
    return found.relative_to(root).as_posix() if found.is_relative_to(root) else str(found)


def same_name(one: str, other: str) -> bool:
    """Whether two names differ in their Unicode form at most."""
    return one == other or composed(one) == composed(other)


def composed(name: str) -> str:
    """Return a name in the form in which two spellings of it are equal (NFC)."""
    return unicodedata.normalize("NFC", name)


def _listed(folder: Path, name: str) -> str:
    """Return the name among those of `folder` that `name` means; `name` where none does, or several do."""
    there = os.path.lexists(folder / name)
    if there and EXACT:
        return name
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return name
    if name in names:
        return name
    if there:
        alike = (
            other for other in names if composed(other).casefold() == composed(name).casefold()
        )
        return next((other for other in alike if _is_one(folder, name, other)), name)
    found = [other for other in names if same_name(other, name)]
    return found[0] if len(found) == 1 else name


def _is_one(folder: Path, name: str, other: str) -> bool:
    try:
        return (folder / name).samefile(folder / other)
    except OSError:
        return False
