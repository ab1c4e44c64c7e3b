"""Search for plain words where ripgrep is missing or broken.

Regular expressions are not supported, because Python's engine takes exponential time for some.
"""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from code_intel.chunking import decode
from code_intel.errors import StorageError
from code_intel.forest.text.matches import MAX_LINE, TextMatch, TextMatches, TextQuery
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.ignore import walk_folder
from code_intel.index.safe_files import read_inside
from code_intel.index.walk import git_files

_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


def is_plain(query: TextQuery) -> bool:
    """Return whether the pattern contains no special characters."""
    return query.literal or not _SPECIAL.search(query.pattern)


def search(root: Path, query: TextQuery, path: str, timeout_s: float) -> TextMatches:
    """Return the matching lines below `path`, without hidden files, as ripgrep does.

    The names of files with a type are assumed to end with it.
    """
    deadline = time.monotonic() + timeout_s
    words = re.escape(query.pattern)
    if query.literal:
        words = rf"(?<!\w){words}(?!\w)"
    pattern = re.compile(words, re.NOFLAG if query.case_sensitive else re.IGNORECASE)
    found: list[TextMatch] = []
    for file in sorted(_files(root, path, unignored=query.unignored)):
        if query.file_type and not file.endswith(f".{query.file_type}"):
            continue
        found += _matches_in_file(root, file, pattern, query)
        if len(found) > query.max_results or time.monotonic() > deadline:
            break
    is_cut = len(found) > query.max_results or time.monotonic() > deadline
    return TextMatches(tuple(found[: query.max_results]), is_cut)


def list_names(root: Path, path: str, file_type: str) -> tuple[str, ...]:
    """Return the files below `path` that `search` would read."""
    ending = f".{file_type}" if file_type else ""
    return tuple(file for file in _files(root, path) if file.endswith(ending))


def _files(root: Path, path: str, *, unignored: bool = False) -> Iterator[str]:
    if (root / path).is_file():
        yield path
        return
    base = root / path
    prefix = "" if path == "." else f"{path}/"
    if unignored:
        yield from (f"{prefix}{name}" for name in walk_folder(base, rules=False))
        return
    for name in _list_folder(base):
        if not any(part.startswith(".") for part in name.split("/")) and not name.endswith("/"):
            yield prefix + name


def _list_folder(base: Path) -> list[str]:
    listed = None
    with suppress(StorageError):  # git did not answer in time
        listed = git_files(base)
    return list(walk_folder(base, rules=True)) if listed is None else listed


def _matches_in_file(
    root: Path, name: str, pattern: re.Pattern[str], query: TextQuery
) -> list[TextMatch]:
    try:
        data = read_inside(root, name)
    except (OSError, ValueError):
        return []
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    if not text or not pattern.search(text):
        return []
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    context = query.context_lines
    return [
        TextMatch(
            name,
            index + 1,
            line[:MAX_LINE],
            tuple((m[0], m.start(), m.end()) for m in found),
            tuple(near[:MAX_LINE] for near in lines[max(index - context, 0) : index]),
            tuple(near[:MAX_LINE] for near in lines[index + 1 : index + 1 + context]),
        )
        for index, line in enumerate(lines)
        if (found := list(pattern.finditer(line)))
    ]
