"""A plan carried out: what is replaced is copied first; done whole, or as if nothing had been begun.

Killed at any moment, the next run completes it; refused by the disk, what was done is taken back.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from code_intel import durable
from code_intel.cli.changes import Change
from code_intel.cli.migration import backup
from code_intel.cli.migration.backup import Backup
from code_intel.cli.migration.notes import content
from code_intel.cli.migration.plan import Plan
from code_intel.config import STATE_FOLDER, backups, load_settings
from code_intel.errors import BusyError, NotFoundError, StorageError
from code_intel.learned import agreements, journal

Advance = Callable[[int, int, str], None]


def _silent(done: int, total: int, what: str) -> None:
    """Tell nobody."""


def apply(plan: Plan, *, now: datetime | None = None, advance: Advance = _silent) -> Backup:
    """Make the changes of a plan; return what was kept of what there was.

    Args:
        plan: What to do; without changes a run that was killed is merely finished.
        now: The time that names the backup.
        advance: Told how many of the changes are made.

    Raises:
        BusyError: A file is another than when the plan was made, or another process is at it.
        StorageError: The disk refused; what was done is taken back, as far as the disk allows.
    """
    folder = plan.agreements
    with (
        durable.locked(journal.lock_path(load_settings(plan.root))),
        durable.locked(agreements.lock_path(folder)),
    ):
        for change in plan.changes:
            _require_same(change)
        kept = backup.planned(plan.root, plan.changes, now or datetime.now(UTC))
        try:
            backup.keep(plan.root, kept)
            durable.make_folder(folder)
            _make(plan.changes, advance)
            kept = replace(kept, finished=True)
            backup.write(kept)
        except StorageError:
            with suppress(StorageError):
                backup.undo(plan.root, kept)
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
    with durable.locked(journal.lock_path(load_settings(root))):
        backup.undo(root, done)


def _require_same(change: Change) -> None:
    if content(change.path) not in {change.before, change.after}:
        raise BusyError(
            f"{change.path} was changed just now, by somebody else.",
            hint="Run `code-intel migrate` again; nothing was changed.",
        )


def _make(changes: Sequence[Change], advance: Advance) -> None:
    """Write what is not written yet; the last of a folder flushes it."""
    todo = [one for one in changes if one.after is not None and content(one.path) != one.after]
    last = {change.path.parent: change for change in todo}
    for number, change in enumerate(todo, 1):
        _write(change, change.after or b"", flushed=change is last[change.path.parent])
        advance(number, len(todo), "files")


def _write(change: Change, data: bytes, *, flushed: bool) -> None:
    """Write one file: where there was none over nothing, and through a link."""
    if change.before is None:
        durable.create(change.path, data, flushed=flushed)
    else:
        durable.replace(change.path.resolve(), data, flushed=flushed)
