"""A plan carried out: what is replaced is copied first; done whole, or as if nothing had been begun.

Killed at any moment, the next run completes it; refused by the disk, what was done is taken back.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from code_intel import durable
from code_intel.cli import backups
from code_intel.cli.changes import Change
from code_intel.cli.migration import backup
from code_intel.cli.migration.backup import Backup
from code_intel.cli.migration.notes import content
from code_intel.cli.migration.plan import Plan
from code_intel.cli.output import Advance
from code_intel.config import STATE_FOLDER, Settings, load_settings
from code_intel.errors import BusyError, NotFoundError, StorageError
from code_intel.learned import agreements, journal
from code_intel.learned.state import open_state


def _silent(done: int, total: int, what: str) -> None:
    """Tell nobody."""


def apply(plan: Plan, *, now: datetime | None = None, advance: Advance = _silent) -> Backup | None:
    """Make the changes of a plan; return what was kept of what there was, None if somebody else was quicker.

    Args:
        plan: What to do; without changes a run that was killed is merely finished.
        now: The time that names the backup.
        advance: Told how many of the changes are made.

    Raises:
        BusyError: A file is another than when the plan was made, or another process is at it.
        StorageError: The disk refused; what was done is taken back, as far as the disk allows.
    """
    root, folder = plan.root, plan.agreements
    with (
        journal.alone(load_settings(root)),
        durable.locked(agreements.lock_path(folder)),
    ):
        todo = _undone(plan.changes)
        if not todo and not backup.unfinished(root):
            return None
        kept = backup.planned(root, todo, now or datetime.now(UTC))
        try:
            backup.keep(root, kept)
            durable.make_folder(folder)
            _make(todo, advance)
            kept = replace(kept, finished=True)
            backup.write(kept)
        except StorageError:
            with suppress(StorageError):
                backup.undo(root, kept)
            raise
    return kept


def last(root: Path) -> Backup:
    """Return the backup of a project's last migration.

    Raises:
        NotFoundError: There is none.
    """
    done = backup.found(root)
    if not done:
        raise NotFoundError(
            "No migration of this project can be taken back.",
            hint=f"Look into {STATE_FOLDER}/{backups.FOLDER}, or ask git what the files were.",
        )
    return done[-1]


def undo(root: Path, done: Backup) -> None:
    """Take a migration back.

    Raises:
        BusyError: Another process is at it.
        StorageError: The disk refused; do it again.
    """
    settings = load_settings(root)
    with journal.alone(settings):
        gone = {root / record.file for record in backup.undoing(root, done)[0] if not record.before}
        backup.undo(root, done)
        _forget(settings, gone)


def _forget(settings: Settings, gone: Collection[Path]) -> None:
    """Let what is remembered since speak of no agreement that is `gone`: nobody has deleted its pair."""
    store = settings.state / "state.db"
    if not store.exists():
        return
    if not any(settings.agreements.rglob("*.md")):
        for suffix in ("-wal", "-shm", ""):
            durable.remove(store.with_name(store.name + suffix))
        return
    with open_state(settings.state) as state:
        for key, base in state.bases().items():
            if settings.agreements / base.file in gone:
                state.set_base(key, None)


def _undone(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that are still to be made."""
    found = [(change, content(change.path)) for change in changes]
    todo = [(change, data) for change, data in found if data != change.after]
    for change, data in todo:
        if data != change.before:
            raise BusyError(
                f"{change.path} was changed just now, by somebody else.",
                hint="Run `code-intel migrate` again; nothing was changed.",
            )
    return [change for change, _ in todo]


def _make(changes: Sequence[Change], advance: Advance) -> None:
    """Write the files; the last of a folder flushes it."""
    last = {change.path.parent: change for change in changes}
    for number, change in enumerate(changes, 1):
        _write(change, change.after or b"", flushed=change is last[change.path.parent])
        advance(number, len(changes), "files")


def _write(change: Change, data: bytes, *, flushed: bool) -> None:
    """Write one file: where there was none over nothing, and through a link."""
    if change.before is None:
        durable.create(change.path, data, flushed=flushed)
    else:
        durable.replace(change.path.resolve(), data, flushed=flushed)
