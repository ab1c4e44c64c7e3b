"""Find code as it was when a session printed it, or when an agreement was made.

Journals and agreements keep digests of code, not its text. The text is found if the file, or an
earlier version of it in git, has code with this digest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import decode, parse_file
from code_intel.foundation import git
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.session.state import Print
from code_intel.tools.context.prints import Windows, place_of, split_lines

MAX_VERSIONS = 30
"""Versions of a file in git that are compared: this many before the session, and of today."""
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class PastCode(NamedTuple):
    """The text of printed lines.

    Attributes:
        lines: The text of the lines that were found, by their number then.
        missing: The printed blocks whose text was not found.
        commits: The commits that have lines which the file no longer has.
    """

    lines: Mapping[int, str]
    missing: Sequence[Print]
    commits: Sequence[str]


class PastDefinition(NamedTuple):
    """The text of a definition, and the newest commit in which it is so."""

    text: str
    commit: str


def past_definition(root: Path, file: str, digest: str) -> PastDefinition | None:
    """Return the definition with a digest from the history of a file; this blocks.

    Args:
        root: The project.
        file: The file, relative to the project; it must not be one that may hold secrets.
        digest: The digest of the definition, as in `records.Symbol`.
    """
    for version in _commits(root, "", file):
        lines = _text(root, version, file)
        for symbol in parse_file(file, "\n".join(lines)).symbols:
            if symbol.digest == digest:
                text = "\n".join(lines[symbol.start_line - 1 : symbol.end_line])
                return PastDefinition(text, version)
    return None


def past_code(
    root: Path, file: str, prints: Sequence[Print], current: Sequence[str], commit: str = ""
) -> PastCode:
    """Return the text of printed lines of a file; this blocks.

    Args:
        root: The project.
        file: The file, relative to the project; it must not be one that may hold secrets.
        prints: The notes of the lines.
        current: The lines of the file on disk.
        commit: The commit that was checked out when the session began; empty if unknown.
    """
    lines: dict[int, str] = {}
    missing = _left(prints, current, lines)
    commits: list[str] = []
    for version in _commits(root, commit if _COMMIT.fullmatch(commit) else "", file):
        if not missing:
            break
        left = _left(missing, _text(root, version, file), lines)
        if len(left) < len(missing):
            commits.append(version)
        missing = left
    return PastCode(lines, missing, commits)


def _left(prints: Sequence[Print], text: Sequence[str], lines: dict[int, str]) -> list[Print]:
    """Note the text of the blocks that a version of the file has; return the other blocks."""
    windows: Windows = {}
    left = []
    for each in prints:
        place = place_of(each, text, windows)
        lines.update(
            zip(range(each.first, each.last + 1), (text[n - 1] for n in place), strict=False)
        )
        left += [] if place else [each]
    return left


def _commits(root: Path, began: str, file: str) -> Iterator[str]:
    """Yield commits to look at: that when the session began, then those that changed the file."""
    seen: set[str] = set()
    if began:
        seen.add(began)
        yield began
    for start in filter(None, (began, "HEAD")):
        options = ("--format=%H", f"--max-count={MAX_VERSIONS}", start, "--", f":(literal){file}")
        for commit in _run(root, "log", *options).decode("ascii", "replace").split():
            if commit not in seen:
                seen.add(commit)
                yield commit


def _text(root: Path, commit: str, file: str) -> list[str]:
    """Return the lines of a file in a commit; [] if it is not there, too large or binary."""
    data = _run(root, "cat-file", "blob", f"{commit}:./{file}")
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    return [] if text is None else split_lines(text)


def _run(root: Path, *arguments: str) -> bytes:
    """Return the output of git; empty if it fails or is too slow."""
    try:
        return git.run(root, *arguments) or b""
    except TimeoutError:
        return b""
