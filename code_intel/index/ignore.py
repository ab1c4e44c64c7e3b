"""Git's ignore rules where there is no git: nested .gitignore files, the innermost first.

A folder that is ignored is not entered, so a pattern has to match a path itself and never what is
below it; `pathspec` makes the expressions, which also match what is below.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from code_intel.index.corpus import EXCLUDED_FOLDERS, MADE, NEVER_FOLDERS
from code_intel.index.reading import read_inside

Rules = Sequence[tuple[bool, re.Pattern[str]]]
"""(whether it ignores, what), one a line."""
_FOLDER = "ps_d"
"""pathspec's name for the slash after a matched folder."""


def walk_folder(base: Path, *, rules: bool) -> Iterator[str]:
    """List the files below `base`, as git would if it were a repository, default excludes aside.

    A folder that cannot be read is listed itself, with a slash.

    Args:
        base: A real folder.
        rules: Whether nested .gitignore files and the default excludes count.
    """
    excluded = EXCLUDED_FOLDERS if rules else NEVER_FOLDERS
    waiting: list[tuple[str, Mapping[str, Rules]]] = [("", {})]
    while waiting:
        folder, known = waiting.pop()
        try:
            entries = sorted(os.scandir(base / folder), key=lambda entry: entry.name)
        except OSError:
            yield folder  # unreadable is not empty
            continue
        if rules and folder and _made(folder, entries):
            continue
        if rules and any(entry.name == ".gitignore" for entry in entries):
            known = {**known, folder: _read(base, f"{folder}.gitignore")}
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in excluded and not _ignored(f"{path}/", known):
                    waiting.append((f"{path}/", known))
            elif not _ignored(path, known):
                yield path


def _made(folder: str, entries: Iterable[os.DirEntry[str]]) -> bool:
    """Whether a tool made this folder; by its name alone `vendor` may as well be people who sell."""
    name = folder.rstrip("/").rpartition("/")[2]
    return any(MADE.get(entry.name) in {"", name} for entry in entries)


def _read(base: Path, name: str) -> Rules:
    """Read the rules of a `.gitignore`; like git, ignore one that is a link."""
    try:
        text = read_inside(base, name).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ()
    patterns = (_pattern(line) for line in text.split("\n"))
    return [(bool(p.include), p.regex) for p in patterns if p is not None and p.regex is not None]


def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    """Read a line; one that is no pattern, such as a lone `!`, says nothing, as in git."""
    try:
        return GitIgnoreSpecPattern(line)
    except GitIgnorePatternError:
        return None


def _ignored(path: str, known: Mapping[str, Rules]) -> bool:
    """Ask the innermost file first and its last line first; the first that matches decides."""
    for folder in sorted(known, key=len, reverse=True):
        for include, regex in reversed(known[folder]):
            if _matches(regex, path[len(folder) :]):
                return include
    return False


def _matches(regex: re.Pattern[str], path: str) -> bool:
    """Whether an expression matches `path` itself; a folder's path ends in a slash."""
    if _FOLDER not in regex.groupindex:
        found = regex.search(path)
        # `a/**` means what is in the folder, not the folder.
        return found is not None and not (path.endswith("/") and found.end() == len(path))
    slashes = [found.start(_FOLDER) for found in regex.finditer(path)]
    return bool(slashes) and slashes[-1] in {-1, len(path) - 1}
