"""What reading a configuration has in common, whatever its format."""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from code_intel.errors import ConfigError

MAX_BYTES = 4 * 1024 * 1024
"""Most of a configuration."""
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def regular(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file: a repository may carry a link to a device, which never ends or never begins.

    Raises:
        OSError: It is gone or unreadable, no regular file, or larger than `most` bytes.
    """
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"it is larger than {most // 1024**2} MiB")
    return data


def require(path: Path, key: str, good: bool, expected: str) -> None:  # noqa: FBT001 - a condition, not a switch
    """Refuse a value that is not as expected, naming file and key.

    Raises:
        ConfigError: `good` is false.
    """
    if not good:
        raise ConfigError(f"{path}: {key} must be {expected}.", details={"field": key})


def unknown_keys(where: str, given: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return a warning for every key of `given` that nobody reads, with the likely meant one."""
    from difflib import get_close_matches  # seldom needed

    notes = []
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}."
            name = f"{where}.{key}" if where else key
            notes.append(f"{name} is not known and ignored{meant}")
    return notes
