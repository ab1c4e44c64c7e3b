"""Say which commit, branch and repository a work tree belongs to, for the shared index.

Nothing here needs the network. Everything returns nothing without git or a repository.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from code_intel.foundation import git

_SCP = re.compile(r"(?:[^@/:]+@)?[^/:@]+:(?!//)(?P<path>.+)")
"""`git@host:team/shop.git`, as ssh writes an address."""
TRACKED_TIMEOUT_S = 30.0


def ancestors(folder: Path, limit: int) -> list[str]:
    """Return HEAD and the commits before it, latest first; a shallow clone has few of them."""
    try:
        listed = git.run(folder, "rev-list", "--topo-order", f"-n{limit}", "HEAD")
    except TimeoutError:
        return []
    return (listed or b"").decode().split()


def branch(folder: Path) -> str:
    """Return the branch that is checked out; empty if HEAD is detached."""
    return _line(folder, "symbolic-ref", "--quiet", "--short", "HEAD")


def default_branch(folder: Path) -> str:
    """Return the default branch of the remote, if it is known."""
    name = _line(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    return name.partition("/")[2]


def repository_name(folder: Path) -> str:
    """Return the name of a repository by its remote, with the folder below its root.

    >>> _name_of("git@example.com:team/shop.git")
    'team/shop'
    >>> _name_of("https://example.com/scm/team/shop")
    'scm/team/shop'
    """
    remotes = _line(folder, "remote").split("\n")
    remote = "origin" if "origin" in remotes else remotes[0]
    name = _name_of(_line(folder, "config", "--get", f"remote.{remote}.url")) if remote else ""
    prefix = _line(folder, "rev-parse", "--show-prefix").strip("/")
    return f"{name}/{prefix}".strip("/") if name else ""


def tracked(folder: Path) -> frozenset[str] | None:
    """Return the files below a folder that git tracks and compares; None if git fails.

    Files marked `skip-worktree` or `assume-unchanged` are left out: `git status` does not say
    whether they differ from the commit.
    """
    try:
        listed = git.run(folder, "ls-files", "-v", "-z", timeout=TRACKED_TIMEOUT_S)
    except TimeoutError:
        return None
    if listed is None:
        return None
    return frozenset(os.fsdecode(line[2:]) for line in listed.split(b"\0") if line[:1] == b"H")


def _line(folder: Path, *arguments: str) -> str:
    """Return the output of git as text; empty if it fails."""
    try:
        return os.fsdecode(git.run(folder, *arguments) or b"").strip()
    except TimeoutError:
        return ""


def _name_of(url: str) -> str:
    """Return the path of a remote's address, without `.git`; empty for a folder."""
    match = _SCP.fullmatch(url)
    if "://" in url:
        parts = urlsplit(url)
        path = parts.path if parts.scheme != "file" else ""
    else:
        path = match["path"] if match else ""
    return unquote(path).strip("/").removesuffix(".git").strip("/")
