"""Where files are kept before they are changed: `.code-intel/backup/<time>`, by their names in the project.

Git never carries them: a client's settings may hold secrets.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from code_intel import durable, ignored

FOLDER = "backup"
MOST = 1000
"""Runs of one second."""


def made(state: Path) -> Path:
    """Return the folder of all copies, which git leaves alone whatever else it is told.

    Raises:
        StorageError: The disk refused.
    """
    if not (hides := state / FOLDER / ignored.FILE).exists():
        durable.replace(hides, b"*\n")
    return state / FOLDER


def keep(state: Path, root: Path, files: Mapping[Path, bytes]) -> Path | None:
    """Keep copies of files that are about to change; return their folder, None where there are no files.

    Args:
        state: The project's `.code-intel`.
        root: The project: copies have the names that files have in it.
        files: What each has now.

    Raises:
        StorageError: The disk refused.
    """
    if not files:
        return None
    folder = _free(made(state))
    for path, data in files.items():
        mode = path.stat().st_mode & 0o777
        durable.create(folder / path.relative_to(root), data, mode)
    return folder


def _free(folder: Path) -> Path:
    """Return a folder that is not there, named by the time."""
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (name, *(f"{name}-{count}" for count in range(2, MOST)))
    return next(folder / one for one in names if not (folder / one).exists())
