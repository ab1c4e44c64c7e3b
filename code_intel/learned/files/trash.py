"""Keep deleted and replaced agreements in `.code-intel/trash`, named by time and original name.

For example, `20261122T143000-送料_fee-1a2b3c4d.md` was in the agreements folder, and
`billing/20261122T143000-x.md` in its subfolder `billing`.
"""

import os
import re
import stat
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import NotFoundError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import counted
from code_intel.learned.recording import MapFiles

_TIME_FORMAT = "%Y%m%dT%H%M%S"
_NAME = re.compile(r"(\d{8}T\d{6})(?:\.\d+)?-(.+)\Z", re.DOTALL)
ON_DISK = MapFiles()
"""Writes files without recording anything."""
MAX_NAME_BYTES = 200
"""Limit of the original file name, so that a time fits before it."""


class TrashEntry(NamedTuple):
    """A file in the trash.

    Attributes:
        name: The name of the file, relative to the trash.
        path: The file.
        at: The time when the file was moved to the trash.
        origin: The original path, relative to the agreements folder.
    """

    name: str
    path: Path
    at: datetime
    origin: str

    def read(self) -> bytes:
        """Return the content of the file.

        Raises:
            StorageError: The file cannot be read.
        """
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}.") from error


def folder_of(settings: Settings) -> Path:
    """Return the folder of the trash.

    Raises:
        StorageError: The folder is a symbolic link, which must not be followed.
    """
    top = settings.state / "trash"
    if top.is_symlink():
        raise StorageError(
            f"{top} is a symbolic link.",
            hint="Remove the link. The folder is created when needed.",
        )
    return top


def keep(
    settings: Settings, name: str, data: bytes, *, now: datetime, files: MapFiles = ON_DISK
) -> Path:
    """Write a new file to the trash, with secrets masked; return its path.

    Args:
        settings: The project.
        name: The original path, relative to the agreements folder.
        data: The content of the file.
        now: The current time, with an offset.
        files: Writes the file.

    Raises:
        StorageError: The file could not be written.
    """
    data = masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    path = folder_of(settings) / name
    number = 1
    while True:
        time = now.astimezone(UTC).strftime(_TIME_FORMAT) + (f".{number}" if number > 1 else "")
        target = path.with_name(f"{time}-{_shortened(path.name)}")
        try:
            files.create(target, data)
        except StorageError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
            number += 1
        else:
            return target


def copy(settings: Settings, path: Path, *, now: datetime, files: MapFiles = ON_DISK) -> Path:
    """Copy a file to the trash before it is replaced; return the path of the copy.

    Raises:
        StorageError: The file cannot be read or copied.
    """
    is_agreement = path.is_relative_to(settings.agreements)
    name = path.relative_to(settings.agreements).as_posix() if is_agreement else path.name
    try:
        data = files.read(path) if files.dry else path.read_bytes()
        return keep(settings, name, data, now=now, files=files)
    except OSError as error:
        raise StorageError(f"{path} cannot be copied to the trash: {error.strerror}.") from error


def move(settings: Settings, path: Path, *, now: datetime, files: MapFiles = ON_DISK) -> Path:
    """Move a file to the trash; return its new path.

    Raises:
        StorageError: The file cannot be read, copied or removed.
    """
    target = copy(settings, path, now=now, files=files)
    files.remove(path)
    return target


def contents(settings: Settings) -> list[TrashEntry]:
    """Return the files in the trash, oldest first, without links and hidden files.

    Raises:
        StorageError: The trash cannot be listed, or is a symbolic link.
    """
    top = folder_of(settings)
    found: list[TrashEntry] = []
    for folder, _, names in os.walk(top, onerror=_raise_storage_error):
        for name in names:
            path = Path(folder, name)
            if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                found.append(_entry(path, path.relative_to(top).as_posix()))
    return sorted(found, key=lambda entry: (entry.at, entry.name))


def discard(settings: Settings, files: Iterable[TrashEntry]) -> None:
    """Remove files from the trash permanently, and folders that become empty."""
    top = folder_of(settings)
    for entry in files:
        durable.remove(entry.path, flushed=False)
        for folder in entry.path.relative_to(top).parents:
            if folder != Path():
                durable.remove_folder(top / folder)


def named(settings: Settings, name: str) -> TrashEntry:
    """Return the file in the trash with this name, or whose name ends with it.

    Raises:
        NotFoundError: There is no such file, or there are several.
    """
    everything = contents(settings)
    found = [entry for entry in everything if entry.name == name]
    found = found or [entry for entry in everything if name and entry.name.endswith(name)]
    if len(found) == 1:
        return found[0]
    several = f"{counted(len(found), 'file')} in the trash match {name}" if found else ""
    raise NotFoundError(
        f"{several or f'No file in the trash is called {name}'}.",
        hint="`code-intel map trash list` shows the names.",
        details={"field": "name"},
    )


def _entry(path: Path, name: str) -> TrashEntry:
    found = _NAME.match(path.name)
    if found is None:  # this program did not put it there
        at = datetime.fromtimestamp(path.lstat().st_mtime, UTC).replace(microsecond=0)
        return TrashEntry(name, path, at, name)
    try:
        at = datetime.strptime(found[1], _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        at = datetime.min.replace(tzinfo=UTC)
    return TrashEntry(name, path, at, Path(name).with_name(found[2]).as_posix())


def _shortened(name: str) -> str:
    """Shorten a name to `MAX_NAME_BYTES`, keeping its suffix."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= MAX_NAME_BYTES:
        return name
    suffix = Path(name).suffix.encode("utf-8", "surrogateescape")[-20:]
    return (data[: MAX_NAME_BYTES - len(suffix)].decode(errors="ignore")) + suffix.decode(
        errors="ignore"
    )


def _raise_storage_error(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StorageError(f"{error.filename} cannot be listed: {error.strerror}.") from error
