"""Find what this user may not read or write in a project, such as files of another user."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from code_intel.config import Settings
from code_intel.config.writable_folders import is_writable
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted, visible
from code_intel.index import walk
from code_intel.index.doctor import IndexFinding

MAX_NAMES = 3


def permission_findings(settings: Settings) -> list[IndexFinding]:
    """Return a warning about places that cannot be written, and one about unreadable sources."""
    places = (
        settings.state,
        settings.agreements,
        settings.state_dir,
        *(config.db_path for config in (settings.map, settings.forest)),
    )
    sealed = [place for place in dict.fromkeys(places) if not is_writable(place)]
    found = [
        IndexFinding(
            "warning",
            f"This user cannot write {_listed(_names(settings, sealed))}{_owner(sealed[0])}. "
            "Searching works; what is learned or indexed cannot be stored.",
            "Change the owner or the mode, or work as the owner.",
        )
        for _ in sealed[:1]
    ]
    if unread := list(_unreadable(settings)):
        what = f"{counted(len(unread), 'source file')} cannot be read: {_listed(unread)}."
        remedy = "Let this user read them, or leave them out in .gitignore."
        found.append(IndexFinding("warning", what, remedy))
    return found


def _unreadable(settings: Settings) -> Iterator[str]:
    with suppress(CodeIntelError):  # the findings about the index say so
        for name, file in walk.scan(settings.forest).files.items():
            if not os.access(file.real, os.R_OK):
                yield name


def _names(settings: Settings, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        inside = path.is_relative_to(settings.root)
        yield path.relative_to(settings.root).as_posix() if inside else str(path)


def _owner(path: Path) -> str:
    existing = next(each for each in (path, *path.parents) if os.path.lexists(each))
    with suppress(KeyError, NotImplementedError, OSError):
        return f" (owner: {existing.owner()})"
    return ""


def _listed(names: Iterable[str]) -> str:
    shown = [visible(name) for name in names]
    return ", ".join(shown[:MAX_NAMES]) + (", …" if len(shown) > MAX_NAMES else "")
