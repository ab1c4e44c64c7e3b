"""Find git problems with the map's files, such as ignored agreements or a committed state store.

`doctor` and `status` report them. Servers do not run these checks.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.foundation import git
from code_intel.foundation.text import counted, visible

MACHINE_FILES = ("state.db*", "learned_pairs.json*", "sessions", "trash")
"""Files in the state folder that belong to one machine (docs/decisions/0039)."""
MAX_FILES_NAMED = 3


class GitProblem(NamedTuple):
    """A problem and its remedy."""

    what: str
    remedy: str


def misshared(settings: Settings) -> list[GitProblem]:
    """Return the problems; an empty list without git or a repository."""
    try:
        checks = (_refused, _ignored, _tracked, _not_checked_out)
        return [problem for check in checks for problem in check(settings)]
    except TimeoutError as error:
        return [GitProblem(str(error), "")]


def _refused(settings: Settings) -> Iterator[GitProblem]:
    """Yield a repository that git does not read, such as one of another user."""
    folders = (settings.root, *settings.root.parents)
    top = next((each for each in folders if os.path.lexists(each / ".git")), None)
    if top is None or shutil.which("git") is None:
        return
    if git.run(settings.root, "rev-parse", "--git-dir") is None:
        yield GitProblem(
            f"Git does not read the repository {visible(str(top))}. Its history, its ignored files "
            "and what is on the main branch are unknown.",
            "`git status` says why. If another user owns it and you trust it, run "
            f"`git config --global --add safe.directory {visible(str(top))}`.",
        )


def _ignored(settings: Settings) -> Iterator[GitProblem]:
    folder, name = settings.agreements, "new.md"
    if not folder.is_dir() or git.run(folder, "check-ignore", "-q", "--", name) is None:
        return
    rule = os.fsdecode(git.run(folder, "check-ignore", "-v", "--", name) or b"")
    source = visible(rule.partition("\t")[0]) or "a rule"
    what = f"Git ignores the agreements ({source}): what is learned here is not shared."
    yield GitProblem(what, "Remove that line, or make it more specific.")


def _tracked(settings: Settings) -> Iterator[GitProblem]:
    names = _listed(settings.state, *MACHINE_FILES)
    if names:
        what = (
            f"Git tracks {_list_of(names)}, which belongs to one machine only. "
            "Copies from other machines are ignored."
        )
        hint = "Run `git rm --cached` on it and commit. `code-intel init` keeps it out of git."
        yield GitProblem(what, hint)


def _not_checked_out(settings: Settings) -> Iterator[GitProblem]:
    """Yield unresolved merges, and agreements that a sparse checkout leaves out."""
    rows = [row.partition("\t") for row in _listed(settings.state, "-t", "-s", "--", ".")]
    folder = os.path.relpath(settings.agreements, settings.state)
    names: dict[str, list[str]] = {}
    for facts, _, name in rows:
        if Path(name).is_relative_to(folder) and (facts[0] == "S" or not facts.endswith(" 0")):
            names.setdefault("S" if facts[0] == "S" else "M", []).append(Path(name).name)
    if unmerged := list(dict.fromkeys(names.get("M", ()))):
        what = f"An unresolved merge conflict affects {_list_of(unmerged)}."
        yield GitProblem(what, "Edit it and run `git add` on it, or remove it with `git rm`.")
    if left_out := names.get("S"):
        count = counted(len(left_out), "agreement")
        what = f"A sparse checkout leaves out {count}, {_list_of(left_out)}."
        yield GitProblem(what, "Run `git sparse-checkout add` with their folder.")


def _listed(folder: Path, *words: str) -> list[str]:
    """Return the rows of `git ls-files` for a folder; an empty list outside a repository."""
    listed = git.run(folder, "ls-files", "-z", *words) if folder.is_dir() else None
    return [os.fsdecode(row) for row in (listed or b"").split(b"\0") if row]


def _list_of(names: list[str]) -> str:
    shown = ", ".join(map(visible, names[:MAX_FILES_NAMED]))
    return shown + (
        f" and {len(names) - MAX_FILES_NAMED} more" if len(names) > MAX_FILES_NAMED else ""
    )
