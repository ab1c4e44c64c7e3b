"""What can still be believed of a damaged journal: the steps up to the last commit that it still bears out."""

from bisect import bisect_left
from pathlib import Path

from code_intel.errors import CodeIntelError
from code_intel.session import files, heads
from code_intel.session.chain import broken, check, record
from code_intel.session.heads import Head, Place
from code_intel.session.state import Record


def believable(place: Place, name: str) -> tuple[tuple[Record, ...], str]:
    """Return the steps of a session for people, and why there are no more of them; empty when these are all."""
    path = place.journal(name)
    try:
        commits = heads.history(place, name)
        if not commits:
            raise broken(path, "nobody has acknowledged it here")
        with files.disk(path), files.opened(path) as handle:
            raw = files.read(handle, 0, commits[-1].end)
        sound = bisect_left(commits, 1, key=lambda head: bool(_problem(path, raw, head)))
        head = commits[sound - 1]
        lines = check(path, raw[: head.end], head) if sound else ()
        said = tuple(record(path, number, line) for number, line in enumerate(lines, 1))
    except CodeIntelError as error:
        return (), error.message
    return said, _problem(path, raw, commits[-1])


def _problem(path: Path, raw: bytes, head: Head) -> str:
    """Return why the journal up to a commit is not what was acknowledged, or nothing."""
    try:
        check(path, raw[: head.end], head)
    except CodeIntelError as error:
        return error.message
    return ""
