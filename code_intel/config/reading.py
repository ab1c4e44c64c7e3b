"""What reading a configuration has in common, whatever its format."""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from code_intel.errors import ConfigError
from code_intel.text import counted

MAX_BYTES = 4 * 1024 * 1024
"""Most of a configuration."""
MOST_NAMED, LONGEST_KEY = 10, 64
"""Keys that are named in warnings, and characters of one that is a name."""
_NAME = re.compile(rf"[\w.$@-]{{1,{LONGEST_KEY}}}")
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
    """Return a warning for every key of `given` that nobody reads, with the likely meant one.

    A warning is ours and the key a file's: what is no name is not repeated, and of many the first are told.
    """
    from difflib import get_close_matches  # seldom needed

    others = [key for key in given if key not in known]
    notes = []
    for key in others[:MOST_NAMED]:
        near = get_close_matches(key[:LONGEST_KEY], known, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}."
        name = named(key)
        notes.append(f"{f'{where}.{name}' if where else name} is not known and ignored{meant}")
    if rest := len(others) - len(notes):
        notes.append(
            f"{counted(rest, 'more key')}{f' of {where}' if where else ''}: not known and ignored."
        )
    return notes


def named(key: str) -> str:
    """Return a key of a file as a message of ours may have it: a name, or that it is none."""
    return key if _NAME.fullmatch(key) else "(a key that is no name)"
