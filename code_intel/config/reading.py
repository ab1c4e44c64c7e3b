"""Read and check configuration files of any format."""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from code_intel.errors import ConfigError
from code_intel.foundation.text import counted

MAX_CONFIG_BYTES = 4 * 1024 * 1024
"""Maximum size of a configuration file."""
MAX_WARNINGS = 10
"""Maximum number of unknown keys that are named in warnings."""
MAX_KEY_CHARS = 64
"""Maximum length of a key that a message repeats."""
MAX_DOTS = 1000
"""Maximum number of dots in a line of TOML: long dotted keys take quadratic time."""
_NAME = re.compile(rf"[\w.$@-]{{1,{MAX_KEY_CHARS}}}")
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_regular_file(path: Path, max_bytes: int = MAX_CONFIG_BYTES) -> bytes:
    """Return the bytes of a regular file; a repository may contain a link to a device or a pipe.

    Raises:
        OSError: The file is missing, unreadable, not regular, or larger than `max_bytes`.
    """
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(f"it is larger than {max_bytes // 1024**2} MiB")
    return data


def toml_values(text: str) -> dict[str, Any]:
    """Return the values of a TOML file, which others may have written.

    Raises:
        ValueError: It is not TOML, or too deeply nested.
    """
    import tomllib  # imported late to keep the handshake fast

    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise ValueError(f"a line has more than {MAX_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


# A condition, not a switch.
def require(path: Path, key: str, is_valid: bool, expected: str) -> None:  # noqa: FBT001
    """Refuse an invalid value with an error that names the file and the key.

    Raises:
        ConfigError: `is_valid` is false.
    """
    if not is_valid:
        raise ConfigError(f"{path}: {key} must be {expected}.", details={"field": key})


def unknown_key_warnings(where: str, given: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return warnings about unknown keys, with the most similar known key.

    Keys come from a file, so warnings quote only keys that are names, and only the first of them.
    """
    from difflib import get_close_matches  # rarely needed

    others = [key for key in given if key not in known]
    warnings = []
    for key in others[:MAX_WARNINGS]:
        similar = get_close_matches(key[:MAX_KEY_CHARS], known, n=1)
        suggestion = f"; did you mean {similar[0]}?" if similar else f"; known: {', '.join(known)}."
        name = printable_key(key)
        warnings.append(
            f"{f'{where}.{name}' if where else name} is unknown and ignored{suggestion}"
        )
    if rest := len(others) - len(warnings):
        warnings.append(
            f"{counted(rest, 'more key')}{f' of {where}' if where else ''}: unknown and ignored."
        )
    return warnings


def printable_key(key: str) -> str:
    """Return a key for a message, or a placeholder if the key is not a name."""
    return key if _NAME.fullmatch(key) else "(a key that is not a name)"
