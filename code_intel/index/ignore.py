"""Apply git's ignore rules without git: nested .gitignore files, the innermost first.

Ignored folders are not entered, so a pattern need only match the path itself. The expressions of
`pathspec` also match everything below a matched folder, which `_matches` excludes.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.index.corpus import EXCLUDED_FOLDERS, NEVER_FOLDERS, TOOL_MARKERS
from code_intel.index.safe_files import read_inside

if TYPE_CHECKING:  # most projects are in git, and need no patterns
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Expression = Any
"""An expression of `re` or of `re2`, which has no types."""
Rules = Sequence[tuple[bool, Expression]]
"""(whether the line ignores, its expression) for each line of a .gitignore file."""
MAX_STARS = 3
"""Of an expression for `re`; one of them may be that of the folders before the name."""
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
    found = (
        (bool(p.include), _in_linear_time(p.regex))
        for p in patterns
        if p is not None and p.regex is not None
    )
    return [(include, regex) for include, regex in found if regex is not None]


def _pattern(line: str) -> "GitIgnoreSpecPattern | None":
    """Parse a line; return None for an invalid pattern, such as a lone `!` or the range `[z-a]`."""
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        return GitIgnoreSpecPattern(line)
    except (GitIgnorePatternError, re.error):
        return None


def _in_linear_time(regex: re.Pattern[str]) -> Expression | None:
    """Return an expression that takes linear time: `re` tries all ways to divide a name by stars.

    It is None if there is no such expression.
    """
    if regex.pattern.count("*") <= MAX_STARS:
        return regex
    import re2  # slower than `re` for short names

    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    try:
        return re2.compile(_encodable(regex.pattern), options)
    except re2.error:
        return None


def _encodable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ignored(path: str, rules_by_folder: Mapping[str, Rules]) -> bool:
    """Return whether a path is ignored: the last match in the innermost .gitignore decides."""
    for folder in sorted(rules_by_folder, key=len, reverse=True):
        for include, regex in reversed(rules_by_folder[folder]):
            if _matches(regex, path[len(folder) :]):
                return include
    return False


def _matches(regex: Expression, path: str) -> bool:
    """Return whether an expression matches `path` itself, not only a folder above it."""
    path = path if isinstance(regex, re.Pattern) else _encodable(path)
    if _FOLDER not in regex.groupindex:
        found = regex.search(path)
        # `a/**` matches what is in the folder, not the folder.
        return found is not None and not (path.endswith("/") and found.end() == len(path))
    group = regex.groupindex[_FOLDER]  # re2 knows groups by number only
    slashes = [found.start(group) for found in regex.finditer(path)]
    return bool(slashes) and slashes[-1] in {-1, len(path) - 1}
