"""Keep what files of a repository name inside its clone (docs/decisions/0100).

A configuration or a link that comes with a clone could name any file of the user: to have it
indexed and shown, or to have a database or agreements written there.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from code_intel.config.index_config import STATE_FOLDER, IndexConfig
from code_intel.config.writable_folders import cached_database
from code_intel.errors import ConfigError
from code_intel.foundation.state_folder import is_within

ALLOW = "CODE_INTEL_OUTSIDE_FOLDERS may name folders that are allowed"
BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite writes beside a database, also through links."""
NOT_INDEXED = f"document_patterns: {{text}} is outside the project and not indexed; {ALLOW}."
NOT_USED = (
    f"db_path is outside the project or beside links, so the index is stored at {{path}}; {ALLOW}."
)


def clone_of(root: Path) -> Path:
    """Return the real folder of the git work tree that contains a project, or of the project.

    A work tree that is the user's home folder does not count: it contains all projects.
    """
    real = Path(os.path.realpath(root))
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - fails without a home
    above = takewhile(lambda folder: folder not in {home, Path(real.anchor)}, (real, *real.parents))
    return next((folder for folder in above if (folder / ".git").exists()), real)


def could_be_written_by(root: Path, folder: Path) -> bool:
    """Return whether a folder of the user is inside the clone, so that a commit may bring it."""
    return is_within(folder, clone_of(root))


def is_allowed(path: Path, folders: Sequence[Path]) -> bool:
    """Return whether a path, with its links resolved, is in one of some real folders."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(folder) for folder in folders)


def confined(config: IndexConfig, folders: Sequence[Path], cache: Path) -> IndexConfig:
    """Return a configuration without the patterns and the database that lead out of `folders`."""
    kept = tuple(
        text
        for text in config.patterns
        if is_allowed(config.path.parent / without_glob(text), folders)
    )
    notes = [NOT_INDEXED.format(text=text) for text in config.patterns if text not in kept]
    database = config.db_path
    inside = is_allowed(database, (*folders, Path(os.path.realpath(cache))))
    if not inside or any(os.path.islink(f"{database}{suffix}") for suffix in BESIDE):  # noqa: PTH114
        database = cached_database(config, cache)
        notes.append(NOT_USED.format(path=database))
    notes = [f"{config.path}: {note}" for note in notes]
    return replace(
        config,
        patterns=kept,
        db_path=database,
        within=tuple(folders),
        notes=(*config.notes, *notes),
    )


def without_glob(pattern: str) -> Path:
    """Return the folder of a pattern: its parts before the first glob."""
    parts = Path(os.path.expanduser(pattern)).parts  # noqa: PTH111 - fails without a home
    return Path(*takewhile(lambda part: not set("*?[") & set(part), parts))


def check_state_folder(root: Path, folders: Sequence[Path]) -> None:
    """Refuse a `.code-intel` that is a link, or has one, that leads out of `folders`.

    Raises:
        ConfigError: There is such a link; the error names it.
    """
    state = root / STATE_FOLDER
    try:
        with os.scandir(state) as entries:
            links = [Path(entry.path) for entry in entries if entry.is_symlink()]
    except OSError:  # it is missing, or a broken link
        links = []
    for path in (state, *links):
        if path.is_symlink() and not is_allowed(path, folders):
            raise ConfigError(
                f"{path} is a link that leads out of the project.",
                hint=f"Remove the link, or allow its target: {ALLOW}.",
                details={"field": "outside_folders"},
            )
