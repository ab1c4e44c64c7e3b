"""What reading a configuration has in common, whatever its format."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from code_intel.errors import ConfigError


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
