"""Choose folders of the user for the index and query plans of a read-only project.

Such a project can be searched; only learning needs to write to it (docs/decisions/0037).
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path, PureWindowsPath

from code_intel.config.index_config import STATE_FOLDER, IndexConfig


def is_writable(path: Path) -> bool:
    """Return whether `path` can be written or created; checks the nearest existing path."""
    existing = next(each for each in (path, *path.parents) if os.path.lexists(each))
    effective = os.access in os.supports_effective_ids
    return os.access(existing, os.W_OK, effective_ids=effective)


def with_writable_database(config: IndexConfig, cache: Path) -> IndexConfig:
    """Return the config, with its database in `cache` if it cannot be created."""
    database = config.db_path
    if os.path.lexists(database) or is_writable(database.parent):
        return config
    cached = cached_database(config, cache)
    note = f"{database.parent} cannot be written, so the index is stored at {cached}"
    return replace(config, db_path=cached, notes=(*config.notes, note))


def cached_database(config: IndexConfig, cache: Path) -> Path:
    """Return the path of a database in the user's cache, instead of the configured one."""
    real = os.path.realpath(config.db_path)
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:32]
    return cache / "indexes" / name / config.db_path.name


def is_inside(text: str) -> bool:
    """Return whether a folder is inside the project but not in `.git` or `.code-intel`."""
    path = PureWindowsPath(text)  # accepts both separators
    parts = {part.casefold() for part in path.parts}
    is_absolute = path.drive or path.root or text.startswith("~") or "\0" in text
    return bool(parts) and not is_absolute and not parts & {"..", ".git", STATE_FOLDER}


def plans_folder(folder: Path, cache: Path) -> Path:
    """Return the folder of query plans: `folder`, or one in `cache` if it cannot be written."""
    if is_writable(folder):
        return folder
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return cache / "plans" / name
