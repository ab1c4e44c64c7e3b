"""Read from git how a file of the map has changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from code_intel.foundation import git

MAX_COMMITS = 30
_FORMAT = "--format=%x00%H%x00%an%x00%aI%x00%s%x00"
# Neither a program nor a filter that the repository configures is run.
_PATCH = ("--follow", "--patch", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=2")


class FileCommit(NamedTuple):
    """A commit that changed a file.

    Attributes:
        id: The object name.
        author: The author's name.
        at: When it was written, ISO 8601.
        title: The first line of its message.
        patch: What changed, in unified format, from the first `@@`; empty for a binary file.
    """

    id: str
    author: str
    at: str
    title: str
    patch: str


class FileHistory(NamedTuple):
    """The commits that changed a file, latest first.

    Attributes:
        commits: The commits, at most `MAX_COMMITS`.
        problem: Why there are none, as a sentence; empty if there are.
    """

    commits: tuple[FileCommit, ...] = ()
    problem: str = ""


def history_of(path: Path) -> FileHistory:
    """Return the commits of a file, under its earlier names, too; this blocks."""
    options = (*_PATCH, f"-n{MAX_COMMITS}", _FORMAT)
    try:
        listed = git.run(path.parent, "log", *options, "--", path.name)
    except TimeoutError as error:
        return FileHistory(problem=str(error))
    if listed is None:
        return FileHistory(problem="Git has no history of this project.")
    commits = tuple(_commits(listed))
    return FileHistory(commits, "" if commits else "No commit contains this file yet.")


def _commits(listed: bytes) -> Iterator[FileCommit]:
    """Yield the commits of a log: each NUL, four fields that end with NUL, and a patch.

    None of them can contain NUL: git shows no patch of a file that does.
    """
    fields = [field.decode(errors="replace") for field in listed.split(b"\0")[1:]]
    for commit, author, at, title, patch in zip(*(iter(fields),) * 5, strict=False):
        start = patch.find("\n@@ ") + 1
        yield FileCommit(commit, author, at, title, patch[start:] if start else "")
