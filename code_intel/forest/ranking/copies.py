"""Find near-duplicates: built files, declarations and vendored files beside their source."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from code_intel.forest.ranking.evidence import File

# (ending, distance from the source); the first match counts. Other files are source.
_DISTANCES = (
    (re.compile(r"\.map$"), 4),
    (re.compile(r"\.min\.[a-z]+$"), 3),
    (re.compile(r"\.d\.[cm]?ts$"), 2),
    (re.compile(r"\.[cm]?jsx?$|\.css$"), 1),
)
_ENDINGS = re.compile(r"(?:\.min|\.d|\.esm|\.cjs|\.umd)?(?:\.[a-z0-9]+)?(?:\.map)?$", re.IGNORECASE)
_BUILD_PARTS = frozenset(
    {"src", "lib", "dist", "build", "out", "esm", "cjs", "es", "umd", "types", "typings", "bundle"}
)
MIN_SHARED_RATIO = 0.5
"""Share of its lines that a near-duplicate has in common with the original."""
MIN_LINES = 5
"""Lines that a file must have to be compared, because many short `__init__.py` files are equal."""
_MIN_LINE_CHARS = 9


def near_duplicates(files: Sequence[File], factors: Mapping[str, float]) -> set[str]:
    """Return the paths of near-duplicates of other files with the same stem.

    The texts of files that share a stem must have been read. `factors` are the path factors by kind
    of file, so that a bundle in `dist/` is no original.
    """
    found: set[str] = set()
    for family in families(files):
        lines = {file.path: _lines(file) for file in family}
        # Source comes first, then the shallowest path, because copies are usually deeper.
        paths = sorted(lines, key=lambda p: (-factors[p], _source_distance(p), p.count("/"), p))
        originals: list[str] = []
        for path in paths:
            if any(_is_near_duplicate(path, original, lines) for original in originals):
                found.add(path)
            else:
                originals.append(path)
    return found


def families(files: Sequence[File]) -> list[list[File]]:
    """Return the files that share a stem with another one, by stem."""
    by_stem: dict[str, list[File]] = defaultdict(list)
    for file in files:
        by_stem[stem(file.path)].append(file)
    return [family for family in by_stem.values() if len(family) > 1]


def stem(path: str) -> str:
    """Return a file's name without the endings that builds add.

    >>> stem("dist/api.min.js.map")
    'api'
    """
    return _ENDINGS.sub("", path.rpartition("/")[2]).lower()


def _source_distance(path: str) -> int:
    return next((distance for pattern, distance in _DISTANCES if pattern.search(path.lower())), 0)


def _is_near_duplicate(path: str, original: str, lines: Mapping[str, set[str]]) -> bool:
    """Return whether a file is built from another one or has most of its lines in common."""
    is_further = _source_distance(path) > _source_distance(original)
    if is_further and _source_folder(path) == _source_folder(original):
        return True
    own, shared = lines[path], lines[path] & lines[original]
    return len(own) >= MIN_LINES and len(shared) >= MIN_SHARED_RATIO * len(own)


def _source_folder(path: str) -> tuple[str, ...]:
    """Return a file's folders without those that builds add or drop."""
    return tuple(part for part in path.split("/")[:-1] if part.lower() not in _BUILD_PARTS)


def _lines(file: File) -> set[str]:
    """Return the distinct long lines of a file's chunks."""
    return {
        line
        for row in file.rows
        for line in map(str.strip, file.texts[row.id].splitlines())
        if len(line) >= _MIN_LINE_CHARS
    }
