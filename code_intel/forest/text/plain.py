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


def is_plain(question: TextQuery) -> bool:
    """Return whether the pattern contains no special characters."""
    return question.literal or not _SPECIAL.search(question.pattern)


def search(root: Path, question: TextQuery, path: str, deadline: float) -> TextMatches:
    """Return the matching lines below `path`, without hidden files, as ripgrep does.

    A file has the type of the question if its name ends with it.
    """
    ends = time.monotonic() + deadline
    words = re.escape(question.pattern)
    if question.literal:
        words = rf"(?<!\w){words}(?!\w)"
    pattern = re.compile(words, re.NOFLAG if question.case_sensitive else re.IGNORECASE)
    found: list[TextMatch] = []
    for file in sorted(_files(root, path)):
        if question.file_type and not file.endswith(f".{question.file_type}"):
            continue
        found += _in_file(root, file, pattern, question)
        if len(found) > question.max_results or time.monotonic() > ends:
            break
    cut = len(found) > question.max_results or time.monotonic() > ends
    return TextMatches(tuple(found[: question.max_results]), cut)


def names(root: Path, path: str, file_type: str) -> tuple[str, ...]:
    """Return the files below `path` that `search` would read."""
    ending = f".{file_type}" if file_type else ""
    return tuple(file for file in _files(root, path) if file.endswith(ending))


def _files(root: Path, path: str) -> Iterator[str]:
    if (root / path).is_file():
        yield path
        return
    base = root / path
    prefix = "" if path == "." else f"{path}/"
    for name in _listed(base):
        if not any(part.startswith(".") for part in name.split("/")) and not name.endswith("/"):
            yield prefix + name


def _listed(base: Path) -> list[str]:
    listed = None
    with suppress(StorageError):  # git did not answer in time
        listed = git_files(base)
    return list(walk_folder(base, rules=True)) if listed is None else listed


def _in_file(
    root: Path, name: str, pattern: re.Pattern[str], question: TextQuery
) -> list[TextMatch]:
    try:
        data = read_inside(root, name)
    except (OSError, ValueError):
        return []
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    if not text or not pattern.search(text):
        return []
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    around = question.context_lines
    return [
        TextMatch(
            name,
            place + 1,
            line[:MAX_LINE],
            tuple((m[0], m.start(), m.end()) for m in found),
            tuple(each[:MAX_LINE] for each in lines[max(place - around, 0) : place]),
            tuple(each[:MAX_LINE] for each in lines[place + 1 : place + 1 + around]),
        )
        for place, line in enumerate(lines)
        if (found := list(pattern.finditer(line)))
    ]
