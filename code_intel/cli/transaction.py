"""Several files of a project changed, whole or as if nothing had been begun; one process at a time.

What is replaced is copied first (`backups`). Killed at any moment, the next run completes it; refused by the
disk, or because somebody else has changed a file meanwhile, what was done is taken back. What can be built anew
goes last, when the rest is done (docs/decisions/0048).
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from code_intel import durable, ignored
from code_intel.cli import backup_list, backups
from code_intel.cli.backup_list import Backup, Kind
from code_intel.cli.changes import Change, current
from code_intel.cli.output import Advance
from code_intel.config import load_settings
from code_intel.errors import BusyError, StorageError
from code_intel.learned import journal

BEGUN = "begun by a run that was killed; this one does not ask for it"


@dataclass(frozen=True, slots=True)
class Transaction:
    """What is to be done to a project: its changes, in their order, and folders that are to be there."""

    root: Path
    kind: Kind
    changes: tuple[Change, ...]
    folders: tuple[Path, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do, nor anything left of a run that was killed."""
        kept = all(change.action == "keep" for change in self.changes)
        there = all(folder.is_dir() for folder in self.folders)
        runs = backup_list.found(self.root, self.kind)
        return kept and there and all(one.finished and self.kind.lasts for one in runs)


def with_leftovers(work: Transaction) -> Transaction:
    """Return what is to be done with what a run that was killed has begun, and this one does not ask for.

    Raises:
        StorageError: Nobody knows any more what was there before.
    """
    begun, asked = backup_list.unfinished(work.root, work.kind), {one.path for one in work.changes}
    back, _ = backups.undoing(work.root, begun) if begun else ([], [])
    undone = tuple(
        Change(
            work.root / record.file,
            current(work.root / record.file),
            backups.kept(begun, record) if begun and record.before else None,
            BEGUN,
            "goes",
        )
        for record in back
        if work.root / record.file not in asked
    )
    return replace(work, changes=(*work.changes, *undone))


def keeps(work: Transaction) -> bool:
    """Whether a copy of what there was stays when all is done.

    Raises:
        BusyError: A file is another than when the plan was made.
    """
    return _planned(work, datetime.now(UTC))[1].keeps


@contextmanager
def turn(root: Path) -> Iterator[None]:
    """Let one process at a time change a project's set-up; who makes the lock takes it away.

    Raises:
        BusyError: Another process is at it.
        StorageError: The lock cannot be made.
    """
    settings = load_settings(root)
    state, lock = settings.state, journal.lock_path(settings)
    is_new, makes_lock = not state.exists(), not lock.exists()
    try:
        with journal.alone(settings):
            try:
                yield
            finally:
                with suppress(StorageError):
                    if is_new and not {*state.glob("*")} - {lock, state / ignored.FILE}:
                        durable.remove(state / ignored.FILE)
                    if makes_lock:
                        durable.remove(lock)
    finally:
        with suppress(StorageError):
            if is_new:
                durable.remove_folder(state)  # if nothing is in it


def apply(
    work: Transaction, *, now: datetime | None = None, advance: Advance | None = None
) -> Backup | None:
    """Make the changes; return what was kept of what there was, None if somebody else was quicker.

    Args:
        work: What to do; the caller has its `turn`.
        now: The time that names the backup.
        advance: Told how many of the changes are made.

    Raises:
        BusyError: A file is another than when the plan was made; what was done is taken back.
        StorageError: The disk refused; what was done is taken back, as far as the disk allows.
    """
    backups.sweep(work.root, work.kind)
    for run in backup_list.found(work.root, work.kind):
        if run.finished:
            backups.tidy(work.root, run)
    todo, kept = _planned(work, now or datetime.now(UTC))
    begun = bool(kept.records or kept.folders)
    try:
        if begun:
            backups.keep(work.root, kept)
            for folder in work.folders:
                durable.make_folder(folder)
            _make(todo, advance)
            kept = backups.finish(kept)
    except BaseException:
        with suppress(StorageError):
            backups.undo(work.root, kept)
        raise
    if begun:
        with suppress(StorageError):  # else whoever comes next does it
            backups.tidy(work.root, kept)
    for change in work.changes:
        if change.copy == "none" and change.action == "remove":
            durable.remove(change.path)
    return kept if begun else None


def _planned(work: Transaction, now: datetime) -> tuple[list[Change], Backup]:
    """Return what is still to be changed, and what is kept of what there was; nothing is written."""
    todo = _undone(change for change in work.changes if change.copy != "none")
    return todo, backups.planned(work.root, work.kind, todo, work.folders, now)


def _undone(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that are still to be made."""
    found = [(change, current(change.path)) for change in changes if change.action != "keep"]
    todo = [(change, data) for change, data in found if data != change.after]
    for change, data in todo:
        _require_same(change, data)
    return [change for change, _ in todo]


def _require_same(change: Change, now: bytes | None) -> None:
    if now != change.before:
        raise BusyError(
            f"{change.path} was changed just now, by somebody else; it was left as it is.",
            hint="Call this again: it goes on with what is there now. Nothing was changed.",
        )


def _make(changes: Sequence[Change], advance: Advance | None) -> None:
    """Change the files; the last of a folder flushes it."""
    last = {change.path.parent: change for change in changes}
    for number, change in enumerate(changes, 1):
        _change(change, flushed=change is last[change.path.parent])
        if advance:
            advance(number, len(changes), "files")


def _change(change: Change, *, flushed: bool) -> None:
    """Change one file, if it is still as it was: where there was none over nothing, and through a link."""
    path = Path(os.path.realpath(change.path))
    _require_same(change, current(path))
    if change.before is None:
        durable.create(path, change.after or b"", flushed=flushed)
    elif change.after is None:
        durable.remove(path, flushed=flushed)
    else:
        durable.replace(path, change.after, flushed=flushed)
