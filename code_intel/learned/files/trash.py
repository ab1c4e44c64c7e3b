"""`.code-intel/trash`: what was deleted or replaced stays there, under its time, in the folder it was in.

`20261122T143000-送料_fee-1a2b3c4d.md` lay in the agreements folder itself; below `trash/billing` is what lay
in its folder `billing`. Earlier versions kept pairs of learned_pairs.json there, too, each as a JSON object.
"""

import json
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
from code_intel.learned.files import pairs
from code_intel.learned.files.pairs import Pair

_STAMP = "%Y%m%dT%H%M%S"
_NAMED = re.compile(r"(\d{8}T\d{6})(?:\.\d+)?-(.+)\Z", re.DOTALL)
_NUMBERED = re.compile(r"\d+-(.+)\Z", re.DOTALL)
"""How an earlier version told two of one second apart."""
NAME_BYTES = 200
"""Most bytes of a file's own name in the trash, where a time stands before it."""


class TrashEntry(NamedTuple):
    """One file of the trash.

    Attributes:
        name: Relative to the trash; what it is called by.
        path: The file.
        at: When it went there.
        origin: Where it was, relative to the agreements folder; a pair's is where its agreement would be.
    """

    name: str
    path: Path
    at: datetime
    origin: str

    @property
    def is_pair(self) -> bool:
        """Whether it is a pair of learned_pairs.json, and no agreement."""
        return self.path.suffix == ".json"


def folder_of(settings: Settings) -> Path:
    """Return where the trash is.

    Raises:
        StorageError: It is a link: what that leads to is not ours to fill and to empty.
    """
    top = settings.state / "trash"
    if top.is_symlink():
        raise StorageError(
            f"{top} is a link.", hint="Remove the link; a folder is made in its place when needed."
        )
    return top


def keep(settings: Settings, name: str, data: bytes, *, now: datetime) -> Path:
    """Write `data` to the trash, secrets masked, over nothing that is there; return where it is.

    Args:
        settings: The project.
        name: What it was called, relative to the agreements folder.
        data: What it said.
        now: With an offset.

    Raises:
        StorageError: The disk refused.
    """
    data = masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    place = folder_of(settings) / name
    number = 1
    while True:
        stamp = now.astimezone(UTC).strftime(_STAMP) + (f".{number}" if number > 1 else "")
        target = place.with_name(f"{stamp}-{_fitting(place.name)}")
        try:
            durable.create(target, data)
        except StorageError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
            number += 1
        else:
            return target


def pair_of(kept: TrashEntry) -> Pair | None:
    """Return the pair that a file of the trash holds; None if it holds none that can be read."""
    try:
        document = {"version": pairs.PAIRS_VERSION, "pairs": [json.loads(kept.path.read_bytes())]}
    except (OSError, ValueError, RecursionError):
        return None
    return next(iter(pairs.parse(json.dumps(document).encode()).pairs), None)


def copy(settings: Settings, path: Path, *, now: datetime) -> Path:
    """Keep a file as it is, before something else is written in its place; return where the copy is.

    Raises:
        StorageError: It cannot be read or kept.
    """
    inside = path.is_relative_to(settings.agreements)
    name = path.relative_to(settings.agreements).as_posix() if inside else path.name
    try:
        return keep(settings, name, path.read_bytes(), now=now)
    except OSError as error:
        raise StorageError(f"{path} cannot be copied to the trash: {error.strerror}.") from error


def move(settings: Settings, path: Path, *, now: datetime) -> Path:
    """Keep a file and take it away; return where it is kept.

    Raises:
        StorageError: It cannot be read, kept or removed.
    """
    kept = copy(settings, path, now=now)
    durable.remove(path)
    return kept


def contents(settings: Settings) -> list[TrashEntry]:
    """Return everything in the trash, oldest first; links and what is being written are none of it.

    Raises:
        StorageError: It is there and cannot be listed, or is a link.
    """
    top = folder_of(settings)
    found: list[TrashEntry] = []
    for folder, _, names in os.walk(top, onerror=_refuse):
        siblings = frozenset(names)
        for name in names:
            path = Path(folder, name)
            if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                found.append(_kept(path, path.relative_to(top).as_posix(), siblings))
    return sorted(found, key=lambda kept: (kept.at, kept.name))


def discard(settings: Settings, files: Iterable[TrashEntry]) -> None:
    """Remove files of the trash for good, and the folders that are empty then."""
    top = folder_of(settings)
    for kept in files:
        durable.remove(kept.path, flushed=False)
        for folder in kept.path.relative_to(top).parents:
            if folder != Path():
                durable.remove_folder(top / folder)


def named(settings: Settings, name: str) -> TrashEntry:
    """Return what a name of `contents` stands for; the end of it is enough where nothing else has it.

    Raises:
        NotFoundError: Nothing in the trash is called so, or several are.
    """
    everything = contents(settings)
    found = [kept for kept in everything if kept.name == name]
    found = found or [kept for kept in everything if name and kept.name.endswith(name)]
    if len(found) == 1:
        return found[0]
    many = f"{counted(len(found), 'file')} in the trash are called {name}" if found else ""
    raise NotFoundError(
        f"{many or f'Nothing in the trash is called {name}'}.",
        hint="Take a name from `code-intel map trash list`.",
        details={"field": "name"},
    )


def _kept(path: Path, name: str, siblings: frozenset[str]) -> TrashEntry:
    found = _NAMED.match(path.name)
    if found is None:  # somebody else put it there
        at = datetime.fromtimestamp(path.lstat().st_mtime, UTC).replace(microsecond=0)
        return TrashEntry(name, path, at, name)
    try:
        at = datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        at = datetime.min.replace(tzinfo=UTC)
    rest = found[2]
    older = _NUMBERED.match(rest)
    if older and f"{found[1]}-{older[1]}" in siblings:
        rest = older[1]
    return TrashEntry(name, path, at, Path(name).with_name(rest).as_posix())


def _fitting(name: str) -> str:
    """Return a name that leaves room for a time before it; its end stays."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= NAME_BYTES:
        return name
    suffix = Path(name).suffix.encode("utf-8", "surrogateescape")[-20:]
    return (data[: NAME_BYTES - len(suffix)].decode(errors="ignore")) + suffix.decode(
        errors="ignore"
    )


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StorageError(f"{error.filename} cannot be listed: {error.strerror}.") from error
