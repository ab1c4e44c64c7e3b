"""Where an index, sessions and query plans go when nobody may write the project: the user's own folders.

A read-only project is answered for all the same; only learning needs the project (docs/decisions/0037).
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path, PureWindowsPath

from code_intel.config.index_config import STATE_FOLDER, IndexConfig


def is_writable(path: Path) -> bool:
    """Whether something can be written at `path`, or made: says the nearest folder above that is there."""
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    effective = os.access in os.supports_effective_ids
    return os.access(there, os.W_OK, effective_ids=effective)


def placed(config: IndexConfig, cache: Path) -> IndexConfig:
    """Return the config, its database in `cache` where there is none and none can be made."""
    database = config.db_path
    if os.path.lexists(database) or is_writable(database.parent):
        return config
    name = hashlib.sha256(os.fsencode(os.path.realpath(database))).hexdigest()[:32]
    elsewhere = cache / "indexes" / name / database.name
    note = f"{database.parent} cannot be written, so the index is {elsewhere}"
    return replace(config, db_path=elsewhere, notes=(*config.notes, note))


def is_inside(text: str) -> bool:
    """Whether a text names a folder that can only be inside the project, and is neither git's nor our state."""
    path = PureWindowsPath(text)  # takes both separators, as the same file may on another system
    parts = {part.casefold() for part in path.parts}
    anywhere = path.drive or path.root or text.startswith("~") or "\0" in text
    return bool(parts) and not anywhere and not parts & {"..", ".git", STATE_FOLDER}


def plans_folder(folder: Path, cache: Path) -> Path:
    """Return where query plans are kept: in `cache` where `folder` is not there and cannot be made."""
    if is_writable(folder):
        return folder
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return cache / "plans" / name
