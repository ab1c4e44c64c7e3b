"""A file, and what is to be said of it; and a file's content as a plan needs it."""

from pathlib import Path
from typing import NamedTuple

from code_intel.config.reading import regular
from code_intel.errors import StorageError

MAX_BYTES = 256 * 1024 * 1024
"""Most of a file that a migration looks at."""


class Note(NamedTuple):
    """A file's name relative to the project, and a sentence or half of one."""

    file: str
    text: str


def content(path: Path) -> bytes | None:
    """Return a file's bytes, or None where there is no file.

    Raises:
        StorageError: It is there but cannot be read, or is no file.
    """
    try:
        return regular(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def name_in(root: Path, path: Path) -> str:
    """Return a path as reports and lists name it: relative to the project, absolute outside it."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
