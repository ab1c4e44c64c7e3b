"""`.gistdex`: where plans and knowledge are (seed 003 §4; docs/decisions/0041).

    .gistdex/
    ├── .gitignore            `*`: a cache, and what agents asked
    ├── config.json           limits, defaults, presets; see `settings`
    └── cache/
        ├── plans/            {planId}.json and index.json
        └── knowledge/        {topic}-{8 hex}.md and index.json

Nothing is written through a link: a repository may carry one to anywhere.
"""

import os
from pathlib import Path

from code_intel.config import Settings
from code_intel.config.own_files import PLANS_FOLDER
from code_intel.config.reading import read_regular_file
from code_intel.errors import StorageError
from code_intel.foundation import durable

FOLDER = PLANS_FOLDER
CONFIG = "config.json"
INDEX = "index.json"
OWN_ENTRIES = frozenset({CONFIG, "cache"})
PLANS, KNOWLEDGE = "cache/plans", "cache/knowledge"
PLAN_LOCK_TIMEOUT_S = 2.0
"""Seconds to wait for another process that writes."""
MAX_PLAN_FILE_BYTES = 8 * 1024 * 1024
"""Most of one file that is read."""

IGNORED = b"""\
# A cache, and what agents have asked: rebuilt by planning again.
# To share config.json, with its presets, add a line `!config.json` and one `!.gitignore`.
*
"""


def root_of(settings: Settings) -> Path:
    """Return the folder of a project's plans; the setting `plans_dir` moves it.

    Raises:
        StorageError: A link is on the way to it within the project.
    """
    root = settings.plans_dir
    if root.is_relative_to(settings.root):
        _refuse_links(settings.root, *root.relative_to(settings.root).parts)
    return root


def is_own_file(settings: Settings, path: str | Path) -> bool:
    """Return whether plans may use a document: not the files of plans themselves."""
    return (settings.root / path).is_relative_to(settings.plans_dir)


def file_in(root: Path, *parts: str) -> Path:
    """Return a file below the root, `file_in(root, PLANS, INDEX)`, whose way has no link.

    Raises:
        StorageError: It has one.
    """
    path = root.joinpath(*parts)
    _refuse_links(root.parent, root.name, *path.relative_to(root).parts)
    return path


def prepared(root: Path, folder: str) -> Path:
    """Return a folder below the root, created if missing; see `file_in`.

    The first one gets a `.gitignore`: for the whole root, or only for the cache if the root has
    other files.
    """
    path = file_in(root, folder, INDEX).parent
    cache = root / "cache"
    if not cache.exists():
        hidden = cache if _has_others(root) else root
        if not os.path.lexists(hidden / ".gitignore"):
            durable.replace(hidden / ".gitignore", IGNORED)
    durable.make_folder(path)
    return path


def read(path: Path, most: int = MAX_PLAN_FILE_BYTES) -> bytes:
    """Return a regular file's bytes.

    Raises:
        FileNotFoundError: There is no such file.
        StorageError: It is no regular file, too large, or unreadable.
    """
    try:
        return read_regular_file(path, most)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _has_others(root: Path) -> bool:
    """Return whether a folder has files that are not of plans; such files stay visible to git."""
    try:
        names = [child.name for child in root.iterdir()]
    except OSError:  # it is created next, or that fails
        return False
    return any(name not in OWN_ENTRIES and name[0] != "." for name in names)


def _refuse_links(base: Path, *parts: str) -> None:
    path = base
    for part in parts:
        path /= part
        try:
            is_link = path.is_symlink()
        except OSError as error:  # a name longer than any disk has
            raise StorageError(f"{path} cannot be read: {error.strerror}.") from error
        if is_link:
            raise StorageError(
                f"{path} is a link, which is not allowed here.",
                hint="Remove the link. A folder is created when needed.",
                details={"field": "plans_dir"},
            )
