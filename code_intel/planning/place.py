"""`.gistdex`: where plans and knowledge are; `docs/plans.md` has the layout (seed 003 §4).

Nothing is written through a link: a repository may carry one to anywhere (docs/decisions/0041).
"""

import os
from pathlib import Path

from code_intel.config import Settings
from code_intel.config.reading import read_regular_file
from code_intel.errors import StorageError
from code_intel.foundation import durable

CONFIG = "config.json"
INDEX = "index.json"
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

    The first one gets a `.gitignore`: for the whole root, or only for the cache if others
    created the root.
    """
    path = file_in(root, folder, INDEX).parent
    cache = root / "cache"
    hidden = cache if root.exists() else root
    if not cache.exists() and not os.path.lexists(hidden / ".gitignore"):
        durable.sweep(hidden)
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


def _refuse_links(base: Path, *parts: str) -> None:
    path = base
    for part in parts:
        path /= part
        if os.path.islink(path):  # noqa: PTH114 - False also for a name that is too long
            raise StorageError(
                f"{path} is a link, which is not allowed here.",
                hint="Remove the link. A folder is created when needed.",
                details={"field": "plans_dir"},
            )
