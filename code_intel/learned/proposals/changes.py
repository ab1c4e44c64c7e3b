"""Find the symbol that each commit is about.

A commit is about the symbol in which most of its changed lines are: a function, or a class if the
lines are spread over its methods. Only symbols of the current code count; renamed files and
symbols are followed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import symbols_around
from code_intel.errors import CodeIntelError
from code_intel.foundation import git
from code_intel.foundation.redaction import masked
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.patches import (
    CommitNames,
    FilePatch,
    commit_names,
    file_patches,
    renames,
)
from code_intel.learned.proposals.purpose import has_purpose, request_of, title_of
from code_intel.records import Symbol

MAX_COMMITS = 3000
"""Number of the latest commits that are read."""
MAX_FILES = 6
MAX_SYMBOLS = 20
"""A commit that changed more source files or symbols says little about each of them."""
MAX_REQUEST_FILES = 4
"""A commit that changed more source files is not used as an earlier request."""
MIN_SHARE = 0.3
"""Share of a commit's changed lines that its symbol has."""
BATCH_COMMITS = 50
_WHOLE = 100
"""A number of scopes that no symbol has."""

Report = Callable[[int, int, str], object]
"""Receives how many units of work are done, how many there are, and what they are."""
IsSource = Callable[[str], bool]
"""Returns whether a path is code of the project itself: no test, example or document."""


class Change(NamedTuple):
    """A commit that is about one symbol.

    Attributes:
        place: The symbol.
        commit: The object name.
        title: What the commit is for.
        share: The share of the commit's changed lines that are in the symbol.
        files: The source files that it changed, under their current names.
    """

    place: Place
    commit: str
    title: str
    share: float
    files: tuple[str, ...]


class PastRequest(NamedTuple):
    """A message as a request: what it says, and the source files that its commit changed."""

    commit: str
    text: str
    files: frozenset[str]


class History(NamedTuple):
    """What the commits of a project say.

    Attributes:
        changes: The commits that are about one symbol, latest first.
        requests: The messages that say what their commit is for, latest first.
        commits: The number of commits that were read.
    """

    changes: Sequence[Change]
    requests: Sequence[PastRequest]
    commits: int


class _Read(NamedTuple):
    """A commit with a purpose, and the current names of its source files by their old names."""

    commit: CommitNames
    title: str
    files: Mapping[str, str]


def read_history(
    root: Path, current: CurrentCode, is_source: IsSource, report: Report, limit: int = MAX_COMMITS
) -> History:
    """Read the history of a project; it is empty without commits.

    Raises:
        CodeIntelError: git failed.
    """
    if not git.head(root):
        return History((), (), 0)
    commits = None if git.lacks_trees(root) else commit_names(root, limit)
    if commits is None:
        raise CodeIntelError(
            "git could not list the commits of this project.",
            hint="Run `git log` there. A partial clone without trees has no history to read.",
        )
    wanted = _with_purpose(commits, renames(root, limit), is_source)
    current.read(dict.fromkeys(name for each in wanted for name in each.files.values()))
    requests = [
        PastRequest(
            each.commit.id,
            masked(request_of(each.commit.message, each.title)),
            frozenset(each.files.values()),
        )
        for each in wanted
        if len(each.files) <= MAX_REQUEST_FILES and not each.commit.is_merge
    ]
    changes: list[Change] = []
    for start in range(0, len(wanted), BATCH_COMMITS):
        report(start, len(wanted), "commits")
        changes += _changes(root, current, wanted[start : start + BATCH_COMMITS])
    report(len(wanted), len(wanted), "commits")
    return History(changes, requests, len(commits))


def _with_purpose(
    commits: Iterable[CommitNames],
    renamed: Mapping[str, Sequence[tuple[str, str]]],
    is_source: IsSource,
) -> list[_Read]:
    """Return the commits whose message names a feature and that changed a few source files."""
    now: dict[str, str] = {}
    found = []
    for commit in commits:
        for old, new in renamed.get(commit.id, ()):
            now.setdefault(old, now.get(new, new))
        title = title_of(commit.message, is_merge=commit.is_merge)
        if has_purpose(title, commit.author):
            names = {name: now.get(name, name) for name in commit.files}
            files = {name: path for name, path in names.items() if is_source(path)}
            if 0 < len(set(files.values())) <= MAX_FILES:
                found.append(_Read(commit, masked(title), files))
    return found


def _changes(root: Path, current: CurrentCode, batch: Sequence[_Read]) -> list[Change]:
    names = dict.fromkeys(name for each in batch for name in each.files)
    found = file_patches(root, [each.commit.id for each in batch], [*names])
    if found is None:
        return []
    changes = (_change(current, each, found.get(each.commit.id, ())) for each in batch)
    return [change for change in changes if change]


def _change(current: CurrentCode, read: _Read, patches: Iterable[FilePatch]) -> Change | None:
    """Return what a commit is about; None if it is about no symbol of the current code."""
    lines: Counter[Place] = Counter()
    for patch in patches:
        path = read.files.get(patch.new) or read.files.get(patch.old)
        if path:
            lines.update(_changed_lines(current, path, patch))
    total = sum(lines.values())
    if not total or len(lines) > MAX_SYMBOLS:
        return None
    files = tuple(dict.fromkeys(read.files.values()))
    for scopes in (_WHOLE, 2, 1):
        outer: Counter[Place] = Counter()
        for place, count in lines.items():
            name = ".".join(place.symbol.split(".")[:scopes])
            outer[Place(place.path, name)] += count
        place, count = max(outer.items(), key=lambda item: (item[1], item[0]))
        if count / total >= MIN_SHARE and current.symbol(place):
            return Change(place, read.commit.id, read.title, count / total, files)
    return None


def _changed_lines(current: CurrentCode, path: str, patch: FilePatch) -> Counter[Place]:
    """Return how many lines of each symbol a patch changed, by the symbol's current name."""
    found: Counter[Place] = Counter()
    for name, text, numbers in (
        (patch.old, patch.before, patch.removed),
        (patch.new, patch.after, patch.added),
    ):
        symbols = symbols_around(name, text, numbers) if name and numbers else ()
        for number in numbers:
            if symbol := _innermost(symbols, number):
                found[_place_now(current, path, symbol)] += 1
    return found


def _innermost(symbols: Iterable[Symbol], line: int) -> Symbol | None:
    around = (each for each in symbols if each.start_line <= line <= each.end_line)
    return min(around, key=lambda each: each.end_line - each.start_line, default=None)


def _place_now(current: CurrentCode, path: str, symbol: Symbol) -> Place:
    """Return the place of a symbol, under its current name if only its name or file changed."""
    place = Place(path, symbol.qualified)
    return place if current.symbol(place) else current.of_body(symbol.body) or place
