"""What `init` writes into a project, and a change of one file as a plan shows it."""

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

LONGEST_SHOWN = 200_000
"""Bytes up to which a plan shows what changes in a file, line by line."""
MAX_BYTES = 256 * 1024 * 1024
"""Most of a file that is changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file and what becomes of it.

    Attributes:
        path: The file.
        before: Its content, None where there is no file.
        after: Its content afterwards, None to remove it.
        why: The reason, in words.
        is_derived: Whether it can be rebuilt. It is removed last and is not copied.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    why: str = ""
    is_derived: bool = False

    @property
    def action(self) -> str:
        """What applying it does, in one word."""
        if self.before == self.after:
            return "keep"
        if self.after is None:
            return "remove"
        return "create" if self.before is None else "update"

    def lines(self, root: Path) -> list[str]:
        """Return what an update changes, as a unified diff; nothing for any other change."""
        if self.action != "update" or not (self.before and self.after is not None):
            return []
        if max(len(self.before), len(self.after)) > LONGEST_SHOWN:
            more = len(self.after) - len(self.before)
            return [f"({'+' if more > 0 else ''}{counted(more, 'byte')})"]
        name = self.path.relative_to(root).as_posix()
        old, new = (
            text.decode(errors="replace").splitlines() for text in (self.before, self.after)
        )
        return list(difflib.unified_diff(old, new, name, name, lineterm="", n=1))


def content(path: Path) -> bytes | None:
    """Return a file's bytes, or None where there is no file."""
    return path.read_bytes() if path.is_file() else None


def current(path: Path) -> bytes | None:
    """Return a file's bytes, or None where there is nothing.

    Raises:
        StorageError: It is there but cannot be read, or is no file.
    """
    try:
        return read_regular_file(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def name_in(root: Path, path: Path) -> str:
    """Return a path as reports and lists name it: relative to the project, absolute outside it."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, its links followed, is the project's, and not in git's own folder."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(root) and ".git" not in real.relative_to(root).parts


def check_inside(change: Change, root: Path) -> Change:
    """Return the change if what it writes is the project's: a repository may carry links that lead out of it.

    What stands outside may be read by a shell, or by a client for all projects.

    Args:
        change: Of a file below the project.
        root: The project, links resolved.

    Raises:
        ConfigError: A link leads out of the project, or into git's own folder.
    """
    if change.action != "keep" and not is_inside(change.path, root):
        real = os.path.realpath(change.path)
        raise ConfigError(
            f"{change.path} leads out of the project, to {real}; it was left as it is.",
            hint="Put a file in the place of the link, then call this again; nothing has changed.",
        )
    return change


def check_writable(change: Change, root: Path) -> Change:
    """Return the change if its file, below the project `root`, may be made or written.

    Raises:
        ConfigError: It says that it is not to be written, something else is in its place, or see `check_inside`.
    """
    path = check_inside(change, root).path
    if change.action == "keep":
        return change
    if change.before is not None and not path.stat().st_mode & 0o222:
        raise ConfigError(
            f"{path} is read-only; it was left as it is.",
            hint="Make it writable, then call this again; nothing has changed.",
        )
    blocked = next((p for p in path.parents if p.exists() or p.is_symlink()), path.parent)
    if (path.exists() and not path.is_file()) or not blocked.is_dir():
        wrong = path if path.exists() else blocked
        raise ConfigError(
            f"{wrong} is in the place of a {'file' if wrong == path else 'folder'}.",
            hint="Move it away, then call this again; nothing has changed.",
        )
    return change


def pretty(document: dict[str, Any]) -> bytes:
    """Return a JSON file as we write it."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def databases(settings: Settings) -> list[Path]:
    """Return where databases of the project are, were before it was set up, or will be, as far as inside."""
    found = []
    for config in (settings.map, settings.forest):
        written = default_config(config.corpus)["db_path"]
        if not config.path.is_file():
            found.append(Path(os.path.normpath(settings.root / written)))
        found += [config.db_path, settings.state / Path(written).name]
    return [path for path in dict.fromkeys(found) if path.is_relative_to(settings.root)]


def hidden(settings: Settings, path: Path) -> bool:
    """Whether `.code-intel/.gitignore` hides a database from git."""
    return path.is_relative_to(settings.root / STATE_FOLDER) and path.suffix == ".db"
