"""Describe the change of one file, and check that it is allowed."""

import difflib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_intel.config import STATE_FOLDER, Settings, default_config
from code_intel.config.reading import read_regular_file
from code_intel.errors import ConfigError, StorageError
from code_intel.foundation.text import counted

MAX_DIFF_BYTES = 200_000
"""Changed lines are shown for files up to this size."""
MAX_CHANGED_FILE_BYTES = 256 * 1024 * 1024
"""Larger files are not changed."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of a file.

    Attributes:
        path: The file.
        before: Its content, None if there is no file.
        after: Its content afterwards, None to remove it.
        why: The reason, as a clause.
        is_derived: Whether it can be rebuilt. It is removed last and is not copied.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    why: str = ""
    is_derived: bool = False

    @property
    def action(self) -> str:
        """One of `keep`, `create`, `update` and `remove`."""
        if self.before == self.after:
            return "keep"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "update"

    def diff_lines(self, root: Path) -> list[str]:
        """Return the unified diff of an update; no lines for other changes."""
        if self.action != "update" or not (self.before and self.after is not None):
            return []
        if max(len(self.before), len(self.after)) > MAX_DIFF_BYTES:
            growth = len(self.after) - len(self.before)
            return [f"({'+' if growth > 0 else ''}{counted(growth, 'byte')})"]
        name = self.path.relative_to(root).as_posix()
        old, new = (
            text.decode(errors="replace").splitlines() for text in (self.before, self.after)
        )
        return list(difflib.unified_diff(old, new, name, name, lineterm="", n=1))


def content(path: Path) -> bytes | None:
    """Return a file's bytes, None if there is no file."""
    return path.read_bytes() if path.is_file() else None


def current(path: Path) -> bytes | None:
    """Return a file's bytes, None if it is missing.

    Raises:
        StorageError: It cannot be read or is not a regular file.
    """
    try:
        return read_regular_file(path, MAX_CHANGED_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def name_in(root: Path, path: Path) -> str:
    """Return a path relative to the project, or absolute if it is outside."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def is_inside(path: Path, root: Path) -> bool:
    """Return whether a path, with links resolved, is in the project and not in `.git`."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(root) and ".git" not in real.relative_to(root).parts


def check_inside(change: FileChange, root: Path) -> FileChange:
    """Return the change if its file is in the project.

    A repository may contain links to files outside it, such as a shell's start-up file.

    Args:
        change: A change of a file below the project.
        root: The project, with links resolved.

    Raises:
        ConfigError: A link leads out of the project or into `.git`.
    """
    if change.action != "keep" and not is_inside(change.path, root):
        real = os.path.realpath(change.path)
        raise ConfigError(
            f"{change.path} is a link that leads out of the project, to {real}.",
            hint="Replace the link with a file, then run the command again. Nothing was changed.",
        )
    return change


def check_writable(change: FileChange, root: Path) -> FileChange:
    """Return the change if its file, below the project `root`, may be written.

    Raises:
        ConfigError: It is read-only, is not a file, or fails `check_inside`.
    """
    path = check_inside(change, root).path
    if change.action == "keep":
        return change
    if change.before is not None and not path.stat().st_mode & 0o222:
        raise ConfigError(
            f"{path} is read-only.",
            hint="Make it writable, then run the command again. Nothing was changed.",
        )
    parent = next((p for p in path.parents if p.exists() or p.is_symlink()), path.parent)
    if (path.exists() and not path.is_file()) or not parent.is_dir():
        obstacle = path if path.exists() else parent
        raise ConfigError(
            f"{obstacle} is not a {'file' if obstacle == path else 'folder'}.",
            hint="Move it away, then run the command again. Nothing was changed.",
        )
    return change


def to_json(document: dict[str, Any]) -> bytes:
    """Return the bytes of a JSON file."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def databases(settings: Settings) -> list[Path]:
    """Return the paths where databases inside the project are, were or will be."""
    paths = []
    for config in (settings.map, settings.forest):
        written = default_config(config.corpus)["db_path"]
        if not config.path.is_file():
            paths.append(Path(os.path.normpath(settings.root / written)))
        paths += [config.db_path, settings.state / Path(written).name]
    return [path for path in dict.fromkeys(paths) if path.is_relative_to(settings.root)]


def is_hidden(settings: Settings, path: Path) -> bool:
    """Return whether `.code-intel/.gitignore` hides a database from git."""
    return path.is_relative_to(settings.root / STATE_FOLDER) and path.suffix == ".db"
