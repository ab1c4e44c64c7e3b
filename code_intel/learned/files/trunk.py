"""Which agreements the team has merged: what git's trunk holds, byte for byte (docs/decisions/0013).

A branch that is checked out and not merged has agreed nothing, whatever its files say.
"""

import hashlib
import os
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path

from code_intel.config import Settings
from code_intel.foundation import git
from code_intel.index.safe_files import read_plain


def merged_paths(settings: Settings, paths: Collection[Path]) -> set[Path]:
    """Return those files that are, line ends aside, what the project's trunk holds.

    Two questions to git for all of them; the second is asked once for each state of the trunk. A git
    that cannot say, or not in time, has merged nothing.
    """
    folder = repository(settings)
    found: set[Path] = set()
    try:
        below = Path(os.path.relpath(settings.agreements, folder)).as_posix()
        for commit in git.trunk(folder, settings.trunk):
            blobs = _blobs(folder, commit, below)
            found |= {path for path in paths if _is_held(path, blobs)}
            if len(found) == len(paths):
                break
    except OSError:  # TimeoutError among them
        pass
    return found


def is_carried(settings: Settings) -> bool:
    """Whether git carries this project's state store: then it is whoever's committed it, and no memory."""
    try:
        return bool(git.run(settings.state, "ls-files", "-z", "--", "state.db*"))
    except TimeoutError:
        return True


def is_as_committed(settings: Settings, name: str) -> bool:
    """Whether git carries a file of the state folder, and it says what the commit does: git wrote it, nobody else."""
    try:
        carried = git.run(settings.state, "ls-files", "-z", "--", name)
        return (
            bool(carried) and git.run(settings.state, "diff", "--quiet", "HEAD", "--", name) == b""
        )
    except TimeoutError:
        return False


def repository(settings: Settings) -> Path:
    """Return the folder whose repository says what was merged.

    Agreements inside the project are the project's own business: a repository within it, such as a
    submodule that a branch has added, has no say. Those elsewhere are the owner's explicit choice.
    """
    inside = Path(os.path.normpath(settings.agreements)).is_relative_to(settings.root)
    return settings.root if inside else settings.agreements


@lru_cache(maxsize=8)
def _blobs(folder: Path, commit: str, below: str) -> frozenset[str]:
    """Return the object ids of the files of a commit in that folder, whatever they are called.

    Raises:
        OSError: Git could not say; a commit never changes, but that may.
    """
    listed = git.run(folder, "ls-tree", "-r", "-z", commit, "--", f"{below}/")
    if listed is None:
        raise FileNotFoundError(f"git cannot list {commit}.")
    facts = (record.partition(b"\t")[0] for record in listed.split(b"\0"))
    # regular files; links and submodules hold nothing
    return frozenset(each.split(b" ")[-1].decode() for each in facts if each.startswith(b"100"))


def _is_held(path: Path, blobs: frozenset[str]) -> bool:
    try:
        data = read_plain(path)
    except OSError:
        return False
    length = len(next(iter(blobs), ""))
    return not blobs.isdisjoint(_object_ids((data, data.replace(b"\r\n", b"\n")), length))


def _object_ids(contents: Iterable[bytes], length: int) -> set[str]:
    """Return git's blob ids: SHA-1, or SHA-256 in repositories made with it."""
    kind = "sha1" if length == 40 else "sha256"  # noqa: PLR2004 - hex digits of SHA-1
    return {hashlib.new(kind, b"blob %d\0" % len(data) + data).hexdigest() for data in contents}
