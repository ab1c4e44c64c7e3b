"""Apply a migration, and undo it."""

from datetime import datetime
from pathlib import Path

from code_intel.cli.migration.plan import MigrationPlan
from code_intel.cli.output import Advance
from code_intel.cli.setup import transaction
from code_intel.cli.setup.transaction import BACKUPS, MIGRATION, Transaction, TransactionRun
from code_intel.config import STATE_FOLDER, Settings, load_settings
from code_intel.errors import NotFoundError
from code_intel.foundation import durable
from code_intel.learned.history.state import open_state


def apply(
    plan: MigrationPlan, *, now: datetime | None = None, advance: Advance | None = None
) -> TransactionRun | None:
    """Make the changes of a plan; return the run, or None if none was needed.

    Args:
        plan: What to do.
        now: The time that names the backup.
        advance: Receives the number of changes made so far.

    Raises:
        BusyError: A file changed since the plan was made, or another process holds the lock.
        StorageError: A file could not be written; everything was restored, as far as possible.
    """
    work = Transaction(plan.root, MIGRATION, plan.changes, (plan.agreements,))
    with transaction.locked(plan.root):
        return transaction.apply(work, now=now, advance=advance)


def last(root: Path) -> TransactionRun:
    """Return a project's last migration.

    Raises:
        NotFoundError: No migration was found.
    """
    runs = transaction.find_runs(root, MIGRATION)
    if not runs:
        raise NotFoundError(
            "No migration of this project can be undone.",
            hint=f"Look for copies in {STATE_FOLDER}/{BACKUPS}, or restore the files with git.",
        )
    return runs[-1]


def undo(run: TransactionRun) -> None:
    """Undo a migration.

    Raises:
        BusyError: Another process holds the lock.
        StorageError: A file could not be restored; call it again.
    """
    with transaction.locked(run.root):
        run.restore()
        _forget_generated_pairs(load_settings(run.root))


def _forget_generated_pairs(settings: Settings) -> None:
    """Remove the state store, or what it records about learned_pairs.json if agreements are left.

    Otherwise the restored learned_pairs.json would count as edited by hand.
    """
    store = settings.state / "state.db"
    if not store.exists():
        return
    if any(settings.agreements.rglob("*.md")):
        with open_state(settings.state) as state:
            state.forget_generated()
        return
    for suffix in ("-wal", "-shm", ""):
        durable.remove(store.with_name(store.name + suffix))
