"""Find wrong git settings for the map's files: ignored agreements, committed memory.

`doctor` and `status` report them. No answer of a server waits for git here.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.foundation import git
from code_intel.foundation.text import counted, visible

MACHINE_FILES = ("state.db*", "learned_pairs.json*", "sessions", "trash")
"""Files beside the agreements that belong to one machine (docs/decisions/0039)."""
MAX_FILES_NAMED = 3


class GitProblem(NamedTuple):
    """A problem and its remedy."""

    what: str
    remedy: str


def misshared(settings: Settings) -> list[GitProblem]:
    """Return the problems; none without a repository or without git."""
    try:
        return [*_hidden(settings), *_carried(settings), *_missing(settings)]
    except TimeoutError as error:
        return [GitProblem(str(error), "")]


def _hidden(settings: Settings) -> Iterator[GitProblem]:
    folder, name = settings.agreements, "new.md"
    if not folder.is_dir() or git.run(folder, "check-ignore", "-q", "--", name) is None:
        return
    rule = os.fsdecode(git.run(folder, "check-ignore", "-v", "--", name) or b"")
    where = visible(rule.partition("\t")[0]) or "a rule"
    what = f"Git ignores the agreements ({where}): what is learned here is not shared."
    yield GitProblem(what, "Remove that line, or make it more specific.")


def _carried(settings: Settings) -> Iterator[GitProblem]:
    names = _listed(settings.state, *MACHINE_FILES)
    if names:
        what = (
            f"Git tracks {_named(names)}, which belongs to one machine only. "
            "Copies from other machines are ignored."
        )
        hint = "Run `git rm --cached` on it and commit. `code-intel init` keeps it out of git."
        yield GitProblem(what, hint)


def _missing(settings: Settings) -> Iterator[GitProblem]:
    """Report agreements that git tracks but did not check out, and unresolved merges."""
    rows = [row.partition("\t") for row in _listed(settings.state, "-t", "-s", "--", ".")]
    below = os.path.relpath(settings.agreements, settings.state)
    names: dict[str, list[str]] = {}
    for facts, _, name in rows:
        if Path(name).is_relative_to(below) and (facts[0] == "S" or not facts.endswith(" 0")):
            names.setdefault("S" if facts[0] == "S" else "M", []).append(Path(name).name)
    if waiting := list(dict.fromkeys(names.get("M", ()))):
        what = f"An unresolved merge conflict affects {_named(waiting)}."
        yield GitProblem(what, "Edit it and run `git add` on it, or remove it with `git rm`.")
    if out := names.get("S"):
        what = f"A sparse checkout leaves out {counted(len(out), 'agreement')}, {_named(out)}."
        yield GitProblem(what, "Run `git sparse-checkout add` with their folder.")


def _listed(folder: Path, *words: str) -> list[str]:
    """Return the rows of `git ls-files` for a folder; none outside a repository."""
    listed = git.run(folder, "ls-files", "-z", *words) if folder.is_dir() else None
    return [os.fsdecode(row) for row in (listed or b"").split(b"\0") if row]


def _named(names: list[str]) -> str:
    shown = ", ".join(map(visible, names[:MAX_FILES_NAMED]))
    return shown + (
        f" and {len(names) - MAX_FILES_NAMED} more" if len(names) > MAX_FILES_NAMED else ""
    )
