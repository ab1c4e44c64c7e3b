"""Migrate a project once for every change it makes to the disk, and let that change go wrong.

Run as `python -m cli.migration.migration_faults FOLDER EVERY` in `tests`; it forks, so it needs its
own process. It prints one JSON line: how often the disk refused, how often the process died, and
what was wrong afterwards.
"""

import json
import re
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from cli.migration.layouts import v38_by_script
from code_intel.cli.migration import applying
from code_intel.cli.migration.plan import plan
from code_intel.cli.setup import transaction
from code_intel.cli.setup.transaction import MIGRATION
from faulty_disk import Next, faults, tree

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NONE = re.compile(r"(?!)")


def migrate(root: Path) -> None:
    """Migrate."""
    transaction.recover(root, MIGRATION)
    todo = plan(root)
    if todo.changes:
        applying.apply(todo, now=NOW)


def undo(root: Path) -> None:
    """Undo the migration, unless that is done."""
    if transaction.find_runs(root, MIGRATION):
        applying.undo(applying.last(root))


def main(folder: Path, every: int) -> None:
    """Migrate and undo in a folder, with a fault at every n-th change."""
    found: Counter[str] = Counter()
    start = folder / "start" / "p"
    start.parent.mkdir(parents=True)
    v38_by_script(start)
    migrated = folder / "migrated" / "p"
    shutil.copytree(start, migrated)
    migrate(migrated)
    done: Next = {migrate: (tree(migrated), tree(migrated))}
    wrong = list(faults(start, folder / "one" / "p", migrate, done, found, NONE, every=every))
    undone: Next = {undo: (tree(start), tree(start))}
    wrong += faults(migrated, folder / "two" / "p", undo, undone, found, every=every)
    sys.stdout.write(json.dumps({"wrong": wrong, **found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
