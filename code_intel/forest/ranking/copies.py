"""Near-copies: built files, declarations and vendored twins that crowd out their source."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from code_intel.forest.ranking.evidence import File

# (name ends in, how far it is from source); the first that fits. Everything else is source.
_RANKS = (
    (re.compile(r"\.map$"), 4),
    (re.compile(r"\.min\.[a-z]+$"), 3),
    (re.compile(r"\.d\.[cm]?ts$"), 2),
    (re.compile(r"\.[cm]?jsx?$|\.css$"), 1),
)
_ENDINGS = re.compile(r"(?:\.min|\.d|\.esm|\.cjs|\.umd)?(?:\.[a-z0-9]+)?(?:\.map)?$", re.IGNORECASE)
_BUILD_PARTS = frozenset(
    {"src", "lib", "dist", "build", "out", "esm", "cjs", "es", "umd", "types", "typings", "bundle"}
)
SHARED = 0.5
"""Share of a file's lines that another has too when it is a copy of it."""
FEWEST = 5
"""Lines a file must have to be called a copy for them: many an `__init__.py` reads the same."""
_SHORTEST_LINE = 9


def derived(files: Sequence[File], standing: Mapping[str, float]) -> set[str]:
    """Return the paths of files that repeat a better one of the same name among `files`.

    `standing` is what a path alone makes of a file, 0 to 1: a bundle in `dist/` is never the original.
    """
    families: dict[str, list[File]] = defaultdict(list)
    for file in files:
        families[stem(file.path)].append(file)
    found: set[str] = set()
    for family in families.values():
        if len(family) == 1:
            continue
        lines = {file.path: _lines(file) for file in family}
        # Sources first; among equals the shortest path, for copies lie deeper.
        paths = sorted(lines, key=lambda p: (-standing[p], _rank(p), p.count("/"), p))
        originals: list[str] = []
        for path in paths:
            if any(_repeats(path, original, lines) for original in originals):
                found.add(path)
            else:
                originals.append(path)
    return found


def stem(path: str) -> str:
    """Return a file's name without what building adds: `api.min.js.map` is `api`."""
    return _ENDINGS.sub("", path.rpartition("/")[2]).lower()


def _rank(path: str) -> int:
    return next((rank for pattern, rank in _RANKS if pattern.search(path.lower())), 0)


def _repeats(path: str, original: str, lines: Mapping[str, set[str]]) -> bool:
    """Tell whether a file is made from another, or is a second copy of it."""
    if _rank(path) > _rank(original) and _place(path) == _place(original):
        return True
    mine = lines[path]
    return len(mine) >= FEWEST and len(mine & lines[original]) >= SHARED * len(mine)


def _place(path: str) -> tuple[str, ...]:
    """Return a file's folders but for those that building adds or drops."""
    return tuple(part for part in path.split("/")[:-1] if part.lower() not in _BUILD_PARTS)


def _lines(file: File) -> set[str]:
    """Return the lines that say something, of the chunks that were found."""
    lines = (line.strip() for row in file.rows for line in row.text.splitlines())
    return {line for line in lines if len(line) >= _SHORTEST_LINE}
