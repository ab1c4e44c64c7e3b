"""`.code-intel/trash`: what was deleted or replaced without anybody's word stays there, under its time."""

from datetime import datetime
from pathlib import Path

from code_intel import durable
from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.redaction import masked


def keep(settings: Settings, name: str, data: bytes, *, now: datetime) -> Path:
    """Write `data` to the trash, secrets masked, over nothing that is there; return where it is."""
    folder = settings.state / "trash"
    target, number = folder / f"{now:%Y%m%dT%H%M%S}-{name}", 1
    while target.exists():
        number += 1
        target = folder / f"{now:%Y%m%dT%H%M%S}-{number}-{name}"
    durable.replace(
        target, masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    )
    return target


def copy(settings: Settings, path: Path, *, now: datetime) -> None:
    """Keep a file as it is, before something else is written in its place.

    Raises:
        StorageError: It cannot be read or kept.
    """
    try:
        keep(settings, path.name, path.read_bytes(), now=now)
    except OSError as error:
        raise StorageError(f"{path} cannot be copied to the trash: {error.strerror}.") from error


def move(settings: Settings, path: Path, *, now: datetime) -> None:
    """Keep a file and take it away.

    Raises:
        StorageError: It cannot be read, kept or removed.
    """
    copy(settings, path, now=now)
    try:
        path.unlink()
    except OSError as error:
        raise StorageError(f"{path} cannot be moved to the trash: {error.strerror}.") from error
