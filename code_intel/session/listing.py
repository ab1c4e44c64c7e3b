"""The sessions of a project for people: listed, and the oldest deleted.

A list replays nothing: of a journal's lines it reads hash and event, and what the first one and the last outcome say.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from code_intel import durable
from code_intel.errors import CodeIntelError
from code_intel.session import files, heads
from code_intel.session.chain import Line, broken, check, record
from code_intel.session.handles import NAME
from code_intel.session.heads import Place
from code_intel.session.phases import START, Event, Intent, Phase, advance

KEPT = 1000  # journals of a project; the least recently used go first
State = Literal["open", "expired", "broken"]


class JournalFile(NamedTuple):
    """A journal on disk; `modified` is seconds since the epoch."""

    name: str
    path: Path
    modified: float


class Listed(NamedTuple):
    """One session of a list.

    Attributes:
        name: Its public name.
        state: `open`, `expired`, or `broken`: its journal is not what was acknowledged.
        intent: What it was started for; None when broken.
        phase: Where it stands; None when broken.
        query: The first line of its query.
        started_at: ISO 8601 in UTC; empty when broken.
        used_at: When its last step was taken, likewise; of a broken one when its file was written.
        steps: How many steps it has.
        why: What is wrong with a broken one.
        outcome: How it ended, as was said last; empty before that.
    """

    name: str
    state: State
    intent: Intent | None
    phase: Phase | None
    query: str
    started_at: str
    used_at: str
    steps: int
    why: str = ""
    outcome: str = ""


def list_sessions(
    place: Place,
    *,
    expire_hours: float = 0,
    clock: Callable[[], datetime] | None = None,
    most: int = KEPT,
) -> tuple[Listed, ...]:
    """Return the `most` recently used sessions of a project, the last used first."""
    now = clock() if clock else datetime.now(UTC)
    found = [_listed(place, file, expire_hours, now) for file in journal_files(place)[:most]]
    return tuple(sorted(found, key=lambda one: (one.used_at, one.name), reverse=True))


def is_expired(used_at: str, hours: float, now: datetime) -> bool:
    """Whether a session was not used for so many hours, 0 meaning never; a clock set back expires none."""
    return bool(hours) and now - datetime.fromisoformat(used_at) > timedelta(hours=hours)


def journal_files(place: Place) -> tuple[JournalFile, ...]:
    """Return the journals of a project, the most recently used first; files that are none left out."""
    found: list[JournalFile] = []
    if not place.journals.is_dir():
        return ()
    with files.disk(place.journals), os.scandir(place.journals) as entries:
        for entry in entries:
            name = entry.name.removesuffix(".jsonl")
            if name != entry.name and NAME.match(name):  # also those of earlier versions
                with suppress(FileNotFoundError):  # pruned by another process
                    modified = entry.stat(follow_symlinks=False).st_mtime
                    found.append(JournalFile(name, Path(entry.path), modified))
    return tuple(sorted(found, key=lambda file: (file.modified, file.name), reverse=True))


def prune(place: Place, keep: int = KEPT) -> int:
    """Delete the least recently used journals beyond `keep`, with their heads; returns how many.

    Heads whose journals have been gone for long go with them.
    """
    surplus = journal_files(place)[keep:]
    with files.disk(place.journals):
        for file in surplus:
            durable.remove(place.head(file.name), flushed=False)
            durable.remove(file.path, flushed=False)
    heads.sweep(place)
    return len(surplus)


def _listed(place: Place, file: JournalFile, hours: float, now: datetime) -> Listed:
    try:
        return _read(place, file, hours, now)
    except CodeIntelError as error:
        used = datetime.fromtimestamp(file.modified, UTC).isoformat()
        return Listed(file.name, "broken", None, None, "", "", used, 0, error.message)


def _read(place: Place, file: JournalFile, hours: float, now: datetime) -> Listed:
    """Return a session as of its head; raises what says that its journal cannot be believed."""
    head = heads.read(place, file.name)
    if head is None:
        raise broken(file.path, "nobody has acknowledged it here")
    with files.disk(file.path), files.opened(file.path) as handle:
        lines = check(file.path, files.read(handle, 0, head.end), head)
    try:
        said = record(file.path, 1, lines[0]).data
        intent, query = Intent(said["intent"]), str(said["query"])
        outcome = _outcome(file.path, lines)
        if (said["name"], said["project"]) != (file.name, place.project):
            raise broken(file.path, "it is the journal of another session")
    except (KeyError, TypeError, ValueError) as error:
        raise broken(file.path, f"line 1: {error!r}") from error
    phase = START[intent]
    for line in lines[1:]:
        phase = advance(phase, line.event)
    began, used = lines[0].at, lines[-1].at
    state: State = "expired" if is_expired(used, hours, now) else "open"
    first = query.strip().splitlines()[0] if query.strip() else ""
    return Listed(file.name, state, intent, phase, first, began, used, len(lines), outcome=outcome)


def _outcome(path: Path, lines: Sequence[Line]) -> str:
    numbered = reversed(list(enumerate(lines, 1)))
    ends = (record(path, number, line) for number, line in numbered if line.event is Event.OUTCOME)
    return next((str(end.data["outcome"]) for end in ends), "")
