"""Ask git which agreements have been merged into the trunk (docs/decisions/0013).

An agreement on an unmerged branch does not count as confirmed by the team.
"""

import os
from functools import lru_cache
from pathlib import Path

from code_intel.config import Settings
from code_intel.foundation import git
from code_intel.learned.files.stat_cache import Stat, file_stat

_REFERENCES = ("HEAD", "packed-refs", "config", "index", "reftable/tables.list")
"""Files that, with the loose references, determine git's branches and the files it tracks."""


def trunk_ids(settings: Settings) -> frozenset[str]:
    """Return the object ids of the files of the map in the project's trunk.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    folder = repository(settings)
    try:
        subfolders = tuple(
            Path(os.path.relpath(each, folder)).as_posix()
            for each in (settings.agreements, *settings.decisions)
        )
    except ValueError:  # on another drive
        return frozenset()
    commits = git.trunk(folder, settings.trunk)
    inside = tuple(each for each in subfolders if not each.startswith("../"))
    try:
        return frozenset().union(*(_blobs(folder, commit, inside) for commit in commits))
    except FileNotFoundError:
        return frozenset()


def is_carried(settings: Settings) -> bool:
    """Return whether git tracks the state store, which may then come from another machine."""
    try:
        return bool(git.run(settings.state, "ls-files", "-z", "--", "state.db*"))
    except TimeoutError:
        return True


def is_as_committed(settings: Settings, name: str) -> bool:
    """Return whether git tracks a file in the state folder and it has no uncommitted changes."""
    try:
        tracked = git.run(settings.state, "ls-files", "-z", "--", name)
        return (
            bool(tracked) and git.run(settings.state, "diff", "--quiet", "HEAD", "--", name) == b""
        )
    except TimeoutError:
        return False


def repository(settings: Settings) -> Path:
    """Return the folder whose repository determines what was merged.

    For agreements inside the project, this is the project's repository, never a repository within
    it such as a submodule that a branch has added. An agreements folder outside the project, which
    the owner has configured explicitly, uses its own repository.
    """
    inside = Path(os.path.normpath(settings.agreements)).is_relative_to(settings.root)
    return settings.root if inside else settings.agreements


def reference_stats(folder: Path) -> tuple[Stat, ...]:
    """Return the stats of the files that determine git's branches; empty without a repository.

    Git updates a loose reference by renaming a file, which changes the stat of its folder.
    """
    found = _git_folders(folder)
    paths = [str(place / name) for place in found for name in _REFERENCES]
    for place in found:
        paths += _folders_below(str(place / "refs"))
    return tuple(map(file_stat, paths))


@lru_cache(maxsize=8)
def _blobs(folder: Path, commit: str, subfolders: tuple[str, ...]) -> frozenset[str]:
    """Return the object ids of a commit's regular files in some subfolders.

    Raises:
        FileNotFoundError: Git cannot list the commit.
        TimeoutError: Git did not answer in time.
    """
    listed = git.run(
        folder, "ls-tree", "-r", "-z", commit, "--", *(f"{each}/" for each in subfolders)
    )
    if listed is None:
        raise FileNotFoundError(f"git cannot list {commit}.")
    facts = (record.partition(b"\t")[0] for record in listed.split(b"\0"))
    # symbolic links and submodules are left out
    return frozenset(each.split(b" ")[-1].decode() for each in facts if each.startswith(b"100"))


def _git_folders(folder: Path) -> list[Path]:
    """Return the git folder of the work tree, and the shared one if that is different."""
    for above in (folder, *folder.parents):
        mark = above / ".git"
        if mark.is_dir():
            return [mark]
        if mark.is_file():
            own = _path_in(mark, "gitdir:", above)
            has_shared = (own / "commondir").is_file()
            shared = _path_in(own / "commondir", "", own) if has_shared else own
            return [own, *([shared] if shared != own else [])]
    return []


def _path_in(file: Path, prefix: str, base: Path) -> Path:
    try:
        text = file.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return base
    return Path(os.path.normpath(base / text.removeprefix(prefix).strip()))


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
