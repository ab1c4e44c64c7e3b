"""Ask git which contents the team has merged into the trunk (docs/decisions/0013).

Files of a branch that is not merged are not agreed on, whatever they say.
"""

import os
from functools import lru_cache
from pathlib import Path

from code_intel.config import Settings
from code_intel.foundation import git
from code_intel.learned.files.stat_cache import Stat, file_stat

_REFERENCES = ("HEAD", "packed-refs", "config", "index", "reftable/tables.list")
"""Files that, with loose references, determine what a commit's name means and what git tracks."""


def trunk_ids(settings: Settings) -> frozenset[str]:
    """Return the ids of the contents below the agreements folder that the project's trunk holds.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    folder = repository(settings)
    try:
        below = Path(os.path.relpath(settings.agreements, folder)).as_posix()
    except ValueError:  # on another drive
        return frozenset()
    commits = git.trunk(folder, settings.trunk)
    try:
        return frozenset().union(*(_blobs(folder, commit, below) for commit in commits))
    except FileNotFoundError:
        return frozenset()


def is_carried(settings: Settings) -> bool:
    """Return whether git tracks the state store; then it may come from another machine."""
    try:
        return bool(git.run(settings.state, "ls-files", "-z", "--", "state.db*"))
    except TimeoutError:
        return True


def is_as_committed(settings: Settings, name: str) -> bool:
    """Return whether git tracks a file of the state folder, and it equals the commit."""
    try:
        tracked = git.run(settings.state, "ls-files", "-z", "--", name)
        return (
            bool(tracked) and git.run(settings.state, "diff", "--quiet", "HEAD", "--", name) == b""
        )
    except TimeoutError:
        return False


def repository(settings: Settings) -> Path:
    """Return the folder whose repository determines what was merged.

    For agreements inside the project it is the project's repository, and never one within it, such
    as a submodule that a branch has added. Agreements elsewhere are the owner's explicit choice and
    use their own repository.
    """
    inside = Path(os.path.normpath(settings.agreements)).is_relative_to(settings.root)
    return settings.root if inside else settings.agreements


def reference_stats(folder: Path) -> tuple[Stat, ...]:
    """Return the stats of the files that determine git's commits; empty without a repository.

    A reference that moves is renamed into place, which changes its folder.
    """
    found = _git_folders(folder)
    paths = [str(place / name) for place in found for name in _REFERENCES]
    for place in found:
        paths += _folders_below(str(place / "refs"))
    return tuple(map(file_stat, paths))


@lru_cache(maxsize=8)
def _blobs(folder: Path, commit: str, below: str) -> frozenset[str]:
    """Return the object ids of the regular files of a commit in that folder.

    Raises:
        FileNotFoundError: Git cannot list the commit.
        TimeoutError: Git did not answer in time.
    """
    listed = git.run(folder, "ls-tree", "-r", "-z", commit, "--", f"{below}/")
    if listed is None:
        raise FileNotFoundError(f"git cannot list {commit}.")
    facts = (record.partition(b"\t")[0] for record in listed.split(b"\0"))
    # links and submodules hold no content
    return frozenset(each.split(b" ")[-1].decode() for each in facts if each.startswith(b"100"))


def _git_folders(folder: Path) -> list[Path]:
    """Return the folder of the work tree's own references, and the shared one if different."""
    for above in (folder, *folder.parents):
        mark = above / ".git"
        if mark.is_dir():
            return [mark]
        if mark.is_file():
            own = _named_in(mark, "gitdir:", above)
            has_shared = (own / "commondir").is_file()
            shared = _named_in(own / "commondir", "", own) if has_shared else own
            return [own, *([shared] if shared != own else [])]
    return []


def _named_in(file: Path, before: str, base: Path) -> Path:
    try:
        text = file.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return base
    return Path(os.path.normpath(base / text.removeprefix(before).strip()))


def _folders_below(folder: str) -> list[str]:
    """Return `folder` and every folder in it."""
    found = [folder]
    try:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return found
    for each in sorted(inner):
        found += _folders_below(each)
    return found
