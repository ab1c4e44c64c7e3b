"""Check whether files that a caller names exist, and whether this session has changed them."""

import hashlib
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.foundation.git import changed_from, committed_since, dirty_files
from code_intel.foundation.spelling import same_name
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.safe_files import read_inside, stat_inside
from code_intel.session.journal import MAX_BASELINE_FILES
from code_intel.session.paths import plain_path
from code_intel.session.state import Session

MAX_BASELINE_BYTES = 64 << 20
"""Maximum bytes of changed files to hash when a session starts."""
_STAT = "stat:"
"""Prefix of a fingerprint that was computed without reading the file."""
FileList = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=200)]


def existing_files(root: Path, files: Iterable[str]) -> set[str]:
    """Return the files that exist in the project; links are followed, and `a.py:34` is `a.py`."""
    found = set()
    for file in files:
        with suppress(UsageError):
            if (root / confined(root, plain_path(file))).is_file():
                found.add(file)
    return found


def spelled_files(root: Path, files: Iterable[str]) -> list[str]:
    """Return `files` spelled as on disk, so that each file has only one name in a session."""
    found = []
    for file in files:
        plain = plain_path(file)
        with suppress(UsageError, ValueError):
            spelled = confined(root, plain) if plain else plain
            if spelled != plain and same_name(spelled, plain):
                found.append(spelled)
                continue
        found.append(file)
    return found


def baseline(root: Path) -> dict[str, str]:
    """Return a fingerprint of each file that differs from HEAD; {} if git cannot tell.

    They show later which changes were made before the session. Tracked files are hashed, up to
    `MAX_BASELINE_BYTES` in total. Untracked files are not read.
    """
    found, remaining = {}, MAX_BASELINE_BYTES
    for file, tracked in islice((dirty_files(root) or {}).items(), MAX_BASELINE_FILES):
        state = stat_inside(root, file) if tracked else None
        remaining -= min(state.st_size, MAX_FILE_BYTES) if state else 0
        found[file] = fingerprint(root, file, hashed=tracked and remaining >= 0)
    return found


def changed_in(root: Path, session: Session) -> bool | None:
    """Return whether an explored file has changed in this session; None if git cannot tell."""
    explored = tuple(dict.fromkeys((*session.explored_files, *session.planned_files)))
    if not explored:
        return False
    dirty = dirty_files(root, explored)
    if dirty is None:
        return None
    before = session.baseline
    if any(not is_unchanged(root, file, before) for file in dirty):
        return True
    # A change from before the session may have been committed in the meantime.
    moved = [
        file for file in explored if file not in dirty and not is_unchanged(root, file, before)
    ]
    return bool(moved) and committed_since(root, session.started_at, moved)


def written_since(root: Path, session: Session, files: Iterable[str]) -> dict[str, bytes]:
    """Return the files written since the session began, with their content at its first commit.

    Return {} if git cannot tell, or if too many files had been changed before the session.
    """
    if session.commit is None or len(session.baseline) >= MAX_BASELINE_FILES:
        return {}
    changed = changed_from(root, session.commit, sorted(files)) or {}
    before = session.baseline
    return {
        file: content for file, content in changed.items() if not is_unchanged(root, file, before)
    }


def is_unchanged(root: Path, file: str, before: Mapping[str, str]) -> bool:
    """Return whether a file has the same fingerprint as when the session began."""
    mark = before.get(file)
    return mark is not None and mark == fingerprint(root, file, hashed=not mark.startswith(_STAT))


def fingerprint(root: Path, file: str, *, hashed: bool) -> str:
    """Return a text that changes when a file changes; empty if there is no such file.

    With `hashed`, it is the SHA-256 of a regular file of at most 1 MiB. Otherwise it consists of
    the size and the times of the file or link. Links are never followed.
    """
    state = stat_inside(root, file)
    if state is None:
        return ""
    if hashed and stat.S_ISREG(state.st_mode) and state.st_size <= MAX_FILE_BYTES:
        with suppress(OSError, ValueError):
            return hashlib.sha256(read_inside(root, file)).hexdigest()
    return f"{_STAT}{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}"
