"""Find the files of the project that an event names."""

import os
from collections.abc import Iterable, Iterator
from glob import iglob
from itertools import islice
from pathlib import Path

from code_intel.session.write_gate import real_files

MAX_EXPANDED = 200
"""Maximum files that one pattern of a shell command stands for."""
_MAX_WILD_PARTS = 2
"""Maximum parts of a path with a pattern; more of them would read too many folders."""
_GLOB_CHARS = frozenset("*?[")


def files_to_write(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the absolute paths that concern the project, with patterns expanded.

    A file is outside the project if neither its path nor the file it leads to is inside.
    """
    return [path for path in dict.fromkeys(_expanded(root, paths)) if _is_inside(root, path)]


def existing_files(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the files that exist inside the project, relative to the root, without links."""
    # Functions of `os` raise no error for a name that is too long.
    files = (path for path in _expanded(root, paths) if os.path.isfile(path))  # noqa: PTH113
    return list(dict.fromkeys(real_files(root, files)))


def relative_file(root: Path, path: str) -> str:
    """Return the path of a file relative to the root, with links resolved; "" if it is outside."""
    return next(iter(real_files(root, [path])), "")


def _is_inside(root: Path, path: str) -> bool:
    bases = {os.path.normpath(root), os.path.realpath(root)}
    places = (os.path.normpath(path), os.path.realpath(path))
    return any(place.startswith(f"{base}{os.sep}") for place in places for base in bases)


def _expanded(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield paths, and instead of a pattern the paths that match it; skip unusable ones."""
    for path in paths:
        if not path or "\0" in path:
            continue
        if _GLOB_CHARS.isdisjoint(path) or os.path.lexists(path):
            yield path
        elif _can_expand(root, path):
            yield from islice(iglob(path), MAX_EXPANDED)  # noqa: PTH207 - paths are text


def _can_expand(root: Path, pattern: str) -> bool:
    """Return whether a pattern stays inside the project and reads few folders."""
    parts = pattern.split("/")
    first = next(n for n, part in enumerate(parts) if not _GLOB_CHARS.isdisjoint(part))
    wild = sum(not _GLOB_CHARS.isdisjoint(part) for part in parts)
    return wild <= _MAX_WILD_PARTS and _is_inside(root, "/".join([*parts[:first], "x"]))
