"""Read the commits before HEAD into the index of the forest (docs/decisions/0080).

Without git, in a project without commits, or if git does not answer in time, nothing is read, and
nothing else depends on it.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from code_intel.chunking.words import words
from code_intel.foundation import git
from code_intel.foundation.redaction import mask
from code_intel.index.rows import CommitRow
from code_intel.index.store import Store

MAX_COMMITS = 5000
"""Number of the latest commits that are indexed, without merges."""
MAX_FILES = 20
"""A commit that changed more files says little about each of them."""
MAX_MESSAGE_CHARS = 1000
MAX_SUBJECT_CHARS = 100
BATCH_COMMITS = 250
"""Commits that are read by one git process and written in one transaction, latest first."""
HEAD = "history_head"
"""Key in `meta` of the commit at which the history was last read."""


def sync_history(store: Store, folder: Path, stop: Callable[[], bool] = lambda: False) -> None:
    """Index the commits before HEAD that are new, and delete those that are no longer before it.

    Nothing is read if HEAD is the same as last time, even if git failed then. What was read before
    stays if git fails.

    Args:
        store: Open for writing.
        folder: The folder that document names are relative to.
        stop: Polled between batches; returning True ends early and keeps what was read.
    """
    head = git.head(folder)
    if not head or head == store.get_meta(HEAD):
        return
    objects = None if git.lacks_trees(folder) else git.commit_ids(folder, MAX_COMMITS)
    if objects is not None and not _read(store, folder, objects, stop):
        return
    store.set_meta(HEAD, head)


def _read(store: Store, folder: Path, objects: Sequence[str], stop: Callable[[], bool]) -> bool:
    """Make the index contain these commits, unless git fails; return False if stopped."""
    known = store.commits.objects()
    wanted = frozenset(objects)
    store.commits.delete(known[each] for each in known if each not in wanted)
    for batch in _batches([each for each in objects if each not in known]):
        if stop():
            return False
        commits = git.commits_of(folder, batch)
        if commits is None:
            break
        store.commits.add(map(_row, commits))
    return True


def _batches(objects: Sequence[str]) -> Iterator[Sequence[str]]:
    starts = range(0, len(objects), BATCH_COMMITS)
    return (objects[start : start + BATCH_COMMITS] for start in starts)


def _row(commit: git.Commit) -> CommitRow:
    """Return what is stored of a commit: only its name if a robot or a mass change made it."""
    files = tuple(name for name in commit.files if _is_text(name))
    if not 0 < len(files) <= MAX_FILES or "[bot]" in commit.author:
        return CommitRow(commit.id)
    message, _ = mask(commit.message[:MAX_MESSAGE_CHARS])
    return CommitRow(commit.id, _subject(message), tuple(words(message)), files)


def _is_text(name: str) -> bool:
    """Return whether a file name is valid UTF-8; others are not indexed."""
    return name.isascii() or name == name.encode(errors="replace").decode()


def _subject(message: str) -> str:
    """Return the first line of a message, shortened, without control characters."""
    line = next(iter(message.strip().splitlines()), "")
    subject = " ".join("".join(char if char.isprintable() else " " for char in line).split())
    return subject if len(subject) <= MAX_SUBJECT_CHARS else subject[: MAX_SUBJECT_CHARS - 1] + "…"
