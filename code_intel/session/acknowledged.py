"""What can still be believed of a damaged journal: the steps up to the last commit that it still bears out."""

import os
from bisect import bisect_left
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.session import files, heads
from code_intel.session.chain import broken, check, record
from code_intel.session.heads import Head, Place
from code_intel.session.state import Record


class Believable(NamedTuple):
    """What is left of a session.

    Attributes:
        records: Its steps, in order.
        broken: Why there are no more of them; empty when these are all that were acknowledged.
        ahead: Whether the journal says more than was ever acknowledged.
    """

    records: tuple[Record, ...] = ()
    broken: str = ""
    ahead: bool = False


def believable(place: Place, name: str) -> Believable:
    """Return the steps of a session for people, however damaged its journal is; never raises for a file."""
    path = place.journal(name)
    try:
        commits = heads.history(place, name)
        if not commits:
            raise broken(path, "nobody has acknowledged it here")
        with files.disk(path), files.opened(path) as handle:
            raw = files.read(handle, 0, commits[-1].end)
            ahead = os.fstat(handle).st_size > commits[-1].end
        sound = bisect_left(commits, 1, key=lambda head: bool(_problem(path, raw, head)))
        head = commits[sound - 1]
        lines = check(path, raw[: head.end], head) if sound else ()
        said = tuple(record(path, number, line) for number, line in enumerate(lines, 1))
    except CodeIntelError as error:
        return Believable(broken=error.message)
    return Believable(said, _problem(path, raw, commits[-1]), ahead)


def _problem(path: Path, raw: bytes, head: Head) -> str:
    """Return why the journal up to a commit is not what was acknowledged, or nothing."""
    try:
        check(path, raw[: head.end], head)
    except CodeIntelError as error:
        return error.message
    return ""
