"""Where files are kept before they are changed: `.code-intel/backup/<time>`, by their names in the project.

Git never carries them: a client's settings may hold secrets.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from code_intel import durable, ignored

FOLDER = "backup"


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
    folder = free(made(state), datetime.now(UTC))
    for path, data in files.items():
        mode = path.stat().st_mode & 0o777
        durable.create(folder / path.relative_to(root), data, mode)
    return folder


def free(folder: Path, now: datetime) -> Path:
    """Return a folder below, named by the time, with nothing in it but what a process that died has begun to write."""
    name = f"{now:%Y%m%dT%H%M%SZ}"
    places = chain((folder / name,), (folder / f"{name}-{number}" for number in count(2)))
    return next(one for one in places if all(path.suffix == ".tmp" for path in one.glob("*")))
