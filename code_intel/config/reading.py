"""What reading a configuration has in common, whatever its format."""

from pathlib import Path

from code_intel.errors import ConfigError


def require(path: Path, key: str, good: bool, expected: str) -> None:  # noqa: FBT001 - a condition, not a switch
    """Refuse a value that is not as expected, naming file and key.

    Raises:
        ConfigError: `good` is false.
    """
    if not good:
        raise ConfigError(f"{path}: {key} must be {expected}.", details={"field": key})
