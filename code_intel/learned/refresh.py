"""Edits of either side honoured before a question is answered; where nothing has changed, nothing is read."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from code_intel import durable
from code_intel.config import Settings
from code_intel.errors import BusyError, StorageError
from code_intel.learned import agreements, journal, pairs, stamps
from code_intel.learned.folder import NOW
from code_intel.learned.pairs import PairsFile
from code_intel.learned.reconcile import Report, reconcile
from code_intel.learned.stamps import Stamp
from code_intel.learned.state import Outline, open_state

MOST_PROJECTS = 8
PATIENCE = 1.0
"""Seconds that a question waits for somebody who writes; while one is stuck, the next ones do not wait at all."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What both sides and their bases were when there was nothing to do, and the report that said so.

    Bases change with the files alone, or are lost with their store: how many there are, and in which file, tells.
    """

    revision: int
    file: PairsFile
    outline: Outline
    store: int
    file_stamp: Stamp
    store_stamp: Stamp
    report: Report

    def is_as(self, other: "_Seen") -> bool:
        return (
            self.revision == other.revision
            and self.outline == other.outline
            and self.store == other.store
            and self.file == other.file
        )


_SEEN: dict[Path, _Seen] = {}
"""By state folder. Whatever is forgotten here is found out again."""


_WHY_NOT: dict[Path, str] = {}
"""By state folder: who kept both sides from being brought together the last time."""


def refresh(settings: Settings, *, now: datetime | None = None, since: float = NOW) -> Report:
    """Honour edits before reading; where nothing can be written, files are read as they are.

    Never raises for that: the report's notes say why both sides may differ.

    Args:
        settings: The project.
        now: With an offset.
        since: How old a look at the agreements may be; see `Folder.look`.
    """
    known = _SEEN.get(settings.state)
    try:
        before = _seen(settings, since, known)
        same = known is not None and before.is_as(known)
        if not same:
            _require_free(settings, 0.0 if settings.state in _WHY_NOT else PATIENCE)
        report = before.report if same else reconcile(settings, now=now)
    except (StorageError, BusyError) as error:
        if isinstance(error, BusyError):
            _WHY_NOT[settings.state] = error.message
        return Report(notes=(error.message,))
    _WHY_NOT.pop(settings.state, None)
    if report.has_changed or report.held or before.outline.pending:
        _SEEN.pop(settings.state, None)
    else:
        while len(_SEEN) >= MOST_PROJECTS and settings.state not in _SEEN:
            _SEEN.pop(next(iter(_SEEN)), None)
        _SEEN[settings.state] = replace(before, report=report)
    return report


def why_not(settings: Settings) -> str:
    """Return why edits of one side are not in the other, as a sentence; empty where they are."""
    return _WHY_NOT.get(settings.state, "")


def forget() -> None:
    """Bring both sides of every project together when it is asked about again."""
    _SEEN.clear()
    _WHY_NOT.clear()


def _require_free(settings: Settings, patience: float) -> None:
    """Make sure that nobody keeps a lock that writing needs, a process that was stopped for one.

    Raises:
        BusyError: Somebody does, for longer than `patience` seconds.
        StorageError: A lock cannot be used.
    """
    file = journal.pairs_path(settings)
    needed = (
        journal.lock_path(settings),
        file.with_name(f"{file.name}.lock"),
        agreements.lock_path(settings.agreements),
    )
    for path in needed:
        if path.exists():
            with durable.locked(path, patience):
                pass


def _seen(settings: Settings, since: float, known: _Seen | None) -> _Seen:
    """Look at both sides, before anything is done about them, reading only what may have changed."""
    path = journal.pairs_path(settings)
    file_stamp = stamps.stamp((path,))
    store_stamp = stamps.of_database(settings.state / "state.db")
    return _Seen(
        agreements.look(settings.agreements, since).revision,
        known.file if known and file_stamp.proves(known.file_stamp) else pairs.load(path),
        known.outline if known and store_stamp.proves(known.store_stamp) else _outline(settings),
        _inode(settings.state / "state.db"),
        file_stamp,
        store_stamp,
        known.report if known else Report(),
    )


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _outline(settings: Settings) -> Outline:
    with open_state(settings.state, create=False) as state:
        return state.outline()
