"""Spell a path as the disk does, so that each file has one name in every Unicode form.

On Linux, `café` with a composed and with a combining é are two names; if only one of them exists,
either spelling means that file. On macOS and Windows they are one name, and case is ignored, too.
"""

import os
import sys
import unicodedata
from pathlib import Path

EXACT = sys.platform not in {"darwin", "win32"}
"""Whether this system distinguishes these names."""


def spelled(path: Path) -> Path:
    """Return an absolute path with each part spelled as in its folder; missing parts stay."""
    if (EXACT and os.path.lexists(path)) or (EXACT and str(path).isascii()):
        return path
    found = Path(path.anchor)
    for part in path.parts[1:]:
        found /= _name_on_disk(found, part)
    return found


def same_name(one: str, other: str) -> bool:
    """Return whether two names are equal except for their Unicode form."""
    return one == other or composed(one) == composed(other)


def composed(name: str) -> str:
    """Return a name in Unicode form NFC."""
    return unicodedata.normalize("NFC", name)


def _name_on_disk(folder: Path, name: str) -> str:
    """Return the name in `folder` that matches `name`; `name` itself if none or several do."""
    exists = os.path.lexists(folder / name)
    if exists and EXACT:
        return name
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return name
    if name in names:
        return name
    if exists:
        candidates = (
            other for other in names if composed(other).casefold() == composed(name).casefold()
        )
        return next((other for other in candidates if _is_same_file(folder, name, other)), name)
    found = [other for other in names if same_name(other, name)]
    return found[0] if len(found) == 1 else name


def _is_same_file(folder: Path, name: str, other: str) -> bool:
    try:
        return (folder / name).samefile(folder / other)
    except OSError:
        return False
