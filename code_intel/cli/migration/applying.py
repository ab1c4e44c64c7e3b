"""A plan carried out, and taken back: whole, or as if nothing had been begun (`cli/transaction`)."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from code_intel import durable
from code_intel.cli import backup_list, backups, transaction
from code_intel.cli.backup_list import MIGRATION, Backup
from code_intel.cli.migration.plan import Plan
from code_intel.cli.output import Advance
from code_intel.cli.transaction import Transaction
from code_intel.config import STATE_FOLDER, Settings, load_settings
from code_intel.errors import NotFoundError
from code_intel.learned import agreements
from code_intel.learned.state import open_state


def apply(
    plan: Plan, *, now: datetime | None = None, advance: Advance | None = None
) -> Backup | None:
    """Make the changes of a plan; return what was kept of what there was, None if somebody else was quicker.

    Args:
        plan: What to do; without changes a run that was killed is merely finished.
        now: The time that names the backup.
        advance: Told how many of the changes are made.

    Raises:
        BusyError: A file is another than when the plan was made, or another process is at it.
        StorageError: The disk refused; what was done is taken back, as far as the disk allows.
    """
    work = Transaction(plan.root, MIGRATION, plan.changes, (plan.agreements,))
    with transaction.turn(plan.root), durable.locked(agreements.lock_path(plan.agreements)):
        return transaction.apply(work, now=now, advance=advance)


def last(root: Path) -> Backup:
    """Return the backup of a project's last migration.

    Raises:
        NotFoundError: There is none.
    """
    done = backup_list.found(root, MIGRATION)
    if not done:
        raise NotFoundError(
            "No migration of this project can be taken back.",
            hint=f"Look into {STATE_FOLDER}/{backup_list.FOLDER}, or ask git what the files were.",
        )
    return done[-1]


def undo(root: Path, done: Backup) -> None:
    """Take a migration back.

    Raises:
        BusyError: Another process is at it.
        StorageError: The disk refused; do it again.
    """
    settings = load_settings(root)
    with transaction.turn(root):
        back, _ = backups.undoing(root, done)
        gone = {root / record.file for record in back if not record.before}
        backups.undo(root, done)
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
