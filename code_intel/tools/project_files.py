"""Files that a caller names: which exist, which had changed before a session began."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.grep import confined
from code_intel.git import changed_from, committed_since, dirty_files
from code_intel.session.journal import MOST_BASELINE
from code_intel.session.paths import plain_path
from code_intel.session.state import Session
from code_intel.spelling import same_name

Files = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=200)]


def existing_files(root: Path, files: Iterable[str]) -> set[str]:
    """Return those of `files` that exist inside the project, links followed; `a.py:34` is `a.py`."""
    found = set()
    for file in files:
        with suppress(UsageError):
            if (root / confined(root, plain_path(file))).is_file():
                found.add(file)
    return found


def spelled_files(root: Path, files: Iterable[str]) -> list[str]:
    """Return `files` as the disk spells them, so that a session knows one file by one name."""
    found = []
    for file in files:
        plain = plain_path(file)
        with suppress(UsageError, ValueError):
            asked = confined(root, plain) if plain else plain
            if asked != plain and same_name(asked, plain):
                found.append(asked)
                continue
        found.append(file)
    return found


def baseline(root: Path) -> dict[str, str]:
    """Return the content hashes of the files that differ from HEAD now, empty for those that are gone.

    {} where git cannot tell. What a session did not change itself is no success of its own.
    """
    dirty = (dirty_files(root) or ())[:MOST_BASELINE]
    return {file: digest_of(root / file) for file in dirty}


def changed_in(root: Path, session: Session) -> bool | None:
    """Whether an explored file is another one than when the session began; None where git cannot tell."""
    explored = tuple(dict.fromkeys((*session.explored_files, *session.planned_files)))
    if not explored:
        return False
    dirty = dirty_files(root, explored)
    if dirty is None:
        return None
    before = session.baseline
    if any(digest_of(root / file) != before.get(file) for file in dirty):
        return True
    # What was changed before the session and is committed as it was then is no work of the session's.
    moved = [
        file
        for file in explored
        if file not in dirty and (file not in before or digest_of(root / file) != before[file])
    ]
    return bool(moved) and committed_since(root, session.started_at, moved)


def written_since(root: Path, session: Session, files: Iterable[str]) -> dict[str, bytes]:
    """Return those of `files` that were written since the session began, with what the commit before had of each.

    {} where git cannot tell, or more had changed before than a session remembers.
    """
    if session.commit is None or len(session.baseline) >= MOST_BASELINE:
        return {}
    changed = changed_from(root, session.commit, sorted(files)) or {}
    before = session.baseline
    return {
        file: content
        for file, content in changed.items()
        if file not in before or digest_of(root / file) != before[file]
    }


def digest_of(path: Path) -> str:
    """Return the hex SHA-256 of a file, empty when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
