"""Read commits with the whole text of their files, before and after.

One git process prints many commits: a patch whose context is the whole file contains both texts.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.foundation import git

WHOLE_FILE = "-U1000000"
LIST_TIMEOUT_S = 30.0
PATCH_TIMEOUT_S = 60.0
MAX_CHANGED_LINES = 3000
"""A file with more changed lines was moved, generated or formatted."""

_FORMAT = "--format=%x00%x01%H%x00%P%x00%an%x00%B%x00"
_RECORD = re.compile(rb"\x00\x01(?=[0-9a-f]{40,64}\x00)")
_FIRST_PARENT = "--diff-merges=first-parent"
_QUOTED = re.compile(rb"\\([0-7]{3}|.)")


class CommitNames(NamedTuple):
    """A commit and the files that it changed, relative to the folder.

    The files of a merge are those in which it differs from its first parent: what it merged.
    """

    id: str
    is_merge: bool
    author: str
    message: str
    files: tuple[str, ...]


class FilePatch(NamedTuple):
    """One changed file.

    Attributes:
        old: Its path before; empty if it was added.
        new: Its path after; empty if it was deleted.
        before: Its text before.
        after: Its text after.
        removed: Lines of `before` that are gone, and that no new line replaces.
        added: Lines of `after` that are new.
    """

    old: str
    new: str
    before: str
    after: str
    removed: tuple[int, ...]
    added: tuple[int, ...]


def commit_names(folder: Path, limit: int) -> list[CommitNames] | None:
    """Return the last `limit` commits of HEAD, latest first; None if git fails."""
    options = (_FIRST_PARENT, "--name-only", "--no-renames", "--relative", "-z", _FORMAT)
    try:
        listed = git.run(folder, "log", f"-n{limit}", *options, "HEAD", timeout=LIST_TIMEOUT_S)
    except TimeoutError:
        return None
    return None if listed is None else [*map(_named, _RECORD.split(listed)[1:])]


def renames(folder: Path, limit: int) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the old and new names of the files that each of the last commits renamed."""
    options = (_FIRST_PARENT, "-M", "--diff-filter=R", "--name-status", "--relative", "-z", _FORMAT)
    try:
        listed = git.run(folder, "log", f"-n{limit}", *options, "HEAD", timeout=LIST_TIMEOUT_S)
    except TimeoutError:
        return {}
    found = {}
    for record in _RECORD.split(listed or b"")[1:]:
        commit, _, _, _, names = record.split(b"\0", 4)
        fields = [*filter(None, (os.fsdecode(name).strip("\n") for name in names.split(b"\0")))]
        pairs = tuple(zip(fields[1::3], fields[2::3], strict=False))
        if pairs:
            found[commit.decode()] = pairs
    return found


def file_patches(
    folder: Path, ids: Sequence[str], files: Sequence[str]
) -> dict[str, tuple[FilePatch, ...]] | None:
    """Return the patches of some commits, limited to `files`, by commit; None if git fails."""
    options = (_FIRST_PARENT, WHOLE_FILE, "-M", "--relative", "--no-ext-diff", "--no-textconv")
    walk = ("--no-walk=unsorted", _FORMAT, *ids, "--", *files)
    try:
        listed = git.run(folder, "log", *options, *walk, timeout=PATCH_TIMEOUT_S)
    except TimeoutError:
        return None
    if listed is None:
        return None
    found = {}
    for record in _RECORD.split(listed)[1:]:
        commit, _, _, _, patch = record.split(b"\0", 4)
        found[commit.decode()] = tuple(_patches(patch))
    return found


def _named(record: bytes) -> CommitNames:
    commit, parents, author, message, names = record.split(b"\0", 4)
    files = (os.fsdecode(name.lstrip(b"\n")) for name in names.split(b"\0"))
    return CommitNames(
        commit.decode(),
        b" " in parents,
        author.decode(errors="replace"),
        message.decode(errors="replace"),
        tuple(name for name in files if name),
    )


def _patches(patch: bytes) -> Iterator[FilePatch]:
    for part in re.split(rb"(?m)^diff --git ", patch)[1:]:
        head, found, body = part.partition(b"\n@@ ")
        names = dict(
            line.split(b" ", 1) for line in head.split(b"\n") if line[:4] in {b"--- ", b"+++ "}
        )
        if found and len(names) == 2:  # noqa: PLR2004 - binary files and modes have none
            yield _patch(_name(names[b"---"]), _name(names[b"+++"]), body.split(b"\n")[1:])


def _patch(old: str, new: str, lines: Sequence[bytes]) -> FilePatch:
    before: list[bytes] = []
    after: list[bytes] = []
    removed: list[int] = []
    added: list[int] = []
    gone: list[int] = []
    for line in lines:
        mark, text = line[:1], line[1:]
        if mark in {b" ", b"-"}:
            before.append(text)
        if mark in {b" ", b"+"}:
            after.append(text)
        if mark == b"-":
            gone.append(len(before))
        elif mark == b"+":
            added.append(len(after))
            gone.clear()
        else:
            removed += gone
            gone.clear()
    removed += gone
    if len(removed) + len(added) > MAX_CHANGED_LINES:
        removed, added = [], []
    return FilePatch(old, new, _text(before), _text(after), tuple(removed), tuple(added))


def _text(lines: Sequence[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")


def _name(field: bytes) -> str:
    """Return the path in a `---` or `+++` line; empty for /dev/null."""
    field = field.split(b"\t")[0]
    if field.startswith(b'"') and field.endswith(b'"'):
        field = _QUOTED.sub(_unquoted, field[1:-1])
    return "" if field == b"/dev/null" else os.fsdecode(field[2:])


def _unquoted(match: re.Match[bytes]) -> bytes:
    text = match[1]
    return bytes([int(text, 8) & 255]) if len(text) == 3 else text  # noqa: PLR2004 - octal digits
