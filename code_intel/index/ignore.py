"""Apply git's ignore rules without git: nested .gitignore files, the innermost first.

Ignored folders are not entered, so a pattern need only match the path itself. The expressions of
`pathspec` also match everything below a matched folder, which `_matches` excludes.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from code_intel.index.corpus import EXCLUDED_FOLDERS, NEVER_FOLDERS, TOOL_MARKERS
from code_intel.index.safe_files import read_inside

if TYPE_CHECKING:  # most projects are in git, and need no patterns
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Rules = Sequence[tuple[bool, re.Pattern[str]]]
"""(whether the line ignores, its expression) for each line of a .gitignore file."""
_FOLDER = "ps_d"
"""pathspec's name for the slash after a matched folder."""


def walk_folder(base: Path, *, rules: bool) -> Iterator[str]:
    """List the files below `base` as git would, without folders that are excluded by default.

    A folder that cannot be read is itself listed, with a trailing slash.

    Args:
        base: A folder without links in its path.
        rules: Whether .gitignore files and the default excludes apply.
    """
    excluded = EXCLUDED_FOLDERS if rules else NEVER_FOLDERS
    pending: list[tuple[str, Mapping[str, Rules]]] = [("", {})]
    while pending:
        folder, rules_by_folder = pending.pop()
        try:
            entries = sorted(os.scandir(base / folder), key=lambda entry: entry.name)
        except OSError:
            yield folder  # an unreadable folder is not empty
            continue
        if rules and folder and _is_generated(folder, entries):
            continue
        if rules and any(entry.name == ".gitignore" for entry in entries):
            rules_by_folder = {**rules_by_folder, folder: _read(base, f"{folder}.gitignore")}
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in excluded and not _ignored(f"{path}/", rules_by_folder):
                    pending.append((f"{path}/", rules_by_folder))
            elif not _ignored(path, rules_by_folder):
                yield path


def _is_generated(folder: str, entries: Iterable[os.DirEntry[str]]) -> bool:
    """Return whether a marker file shows that a tool created this folder."""
    name = folder.rstrip("/").rpartition("/")[2]
    return any(TOOL_MARKERS.get(entry.name) in {"", name} for entry in entries)


def _read(base: Path, name: str) -> Rules:
    """Read the rules of a .gitignore file; like git, ignore a file that is a symbolic link."""
    try:
        text = read_inside(base, name).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ()
    patterns = (_pattern(line) for line in text.split("\n"))
    return [(bool(p.include), p.regex) for p in patterns if p is not None and p.regex is not None]


def _pattern(line: str) -> "GitIgnoreSpecPattern | None":
    """Parse a line; return None for a pattern that git ignores as invalid, such as a lone `!`."""
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        return GitIgnoreSpecPattern(line)
    except GitIgnorePatternError:
        return None


def _ignored(path: str, rules_by_folder: Mapping[str, Rules]) -> bool:
    """Return whether a path is ignored: the last match in the innermost .gitignore decides."""
    for folder in sorted(rules_by_folder, key=len, reverse=True):
        for include, regex in reversed(rules_by_folder[folder]):
            if _matches(regex, path[len(folder) :]):
                return include
    return False


def _matches(regex: re.Pattern[str], path: str) -> bool:
    """Return whether an expression matches `path` itself, not only a folder above it."""
    if _FOLDER not in regex.groupindex:
        found = regex.search(path)
        # `a/**` matches what is in the folder, not the folder.
        return found is not None and not (path.endswith("/") and found.end() == len(path))
    slashes = [found.start(_FOLDER) for found in regex.finditer(path)]
    return bool(slashes) and slashes[-1] in {-1, len(path) - 1}
