"""Where an index and sessions go when nobody may write the project: the user's own folders.

A read-only project is answered for all the same; only learning needs the project (docs/decisions/0037).
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from code_intel.config.index_config import IndexConfig


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
