"""Read from git how a file of the map has changed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.decode import decode
from code_intel.foundation import git

MAX_COMMITS = 30
_FORMAT = "--format=%x00%H%x00%an%x00%aI%x00%s%x00"
_CHANGED = ("--follow", "--raw", "--no-abbrev", "--no-color")
_BLOBS = re.compile(r"^:\d+ \d+ ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ", re.MULTILINE)
MAX_BLOB_BYTES = 1024 * 1024
"""As large as an agreement can be; what was larger is not shown."""


class FileCommit(NamedTuple):
    """A commit that changed a file.

    Attributes:
        id: The object name.
        author: The author's name.
        at: When it was written, ISO 8601.
        title: The first line of its message.
        before: The text of the file before, with secrets masked; empty if there was no file.
        after: The text after; both are empty for a binary or a large file.
    """

    id: str
    author: str
    at: str
    title: str
    before: str
    after: str


class FileHistory(NamedTuple):
    """The commits that changed a file, latest first.

    Attributes:
        commits: The commits, at most `MAX_COMMITS`.
        problem: Why they are missing, as a sentence; empty if they are not.
    """

    commits: tuple[FileCommit, ...] = ()
    problem: str = ""


def history_of(path: Path) -> FileHistory:
    """Return the commits of a file, under its earlier names, too; this blocks."""
    options = (*_CHANGED, f"-n{MAX_COMMITS}", _FORMAT)
    try:
        listed = git.run(path.parent, "log", *options, "--", path.name)
        commits = () if listed is None else tuple(_commits(path.parent, listed))
    except TimeoutError as error:
        return FileHistory(problem=str(error))
    if listed is None:
        return FileHistory(problem="Git has no history of this project.")
    return FileHistory(commits, "" if commits else "No commit contains this file yet.")


def _commits(folder: Path, listed: bytes) -> Iterator[FileCommit]:
    """Yield the commits of a log: each NUL, four fields that end with NUL, and a line of blobs.

    Whole texts are read, since a part of a secret alone may not look like one.
    """
    texts: dict[str, str | None] = {}
    fields = [field.decode(errors="replace") for field in listed.split(b"\0")[1:]]
    for commit, author, at, title, raw in zip(*(iter(fields),) * 5, strict=False):
        blobs = found.groups() if (found := _BLOBS.search(raw)) else ()
        for blob in blobs:
            if blob not in texts:
                texts[blob] = _text(folder, blob)
        before, after = (texts[blob] for blob in blobs) if blobs else ("", "")
        if before is None or after is None:
            before = after = ""
        yield FileCommit(commit, author, at, title, before, after)


def _text(folder: Path, blob: str) -> str | None:
    """Return the text of a blob with secrets masked; None if it is no text or is too large."""
    if not blob.strip("0"):
        return ""
    size = git.run(folder, "cat-file", "-s", blob)
    if size is None or int(size) > MAX_BLOB_BYTES:
        return None
    data = git.run(folder, "cat-file", "blob", blob)
    return None if data is None else decode(data)
