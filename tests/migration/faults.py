"""Migrates a project once for every change it makes to the disk, and lets that change go wrong.

`python -m migration.faults FOLDER` in `tests`: a program of its own, since it forks. Prints one JSON line:
how often the disk refused, how often the process died, and what was wrong afterwards.
"""

import errno
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from code_intel.cli.migration import applying, backup
from code_intel.cli.migration.plan import plan
from code_intel.errors import StorageError
from faulty_disk import DIED, REFUSED, TAKEN, changes, outcome
from migration.layouts import tree, v38_by_script, without_backup

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
UNEXPECTED = 9
WAYS = (("dies torn", errno.EIO), ("fails", errno.ENOSPC), ("fails for good", errno.EROFS))
"""What dies torn dies before a change that writes nothing."""


def migrate(root: Path) -> None:
    """Migrate, or finish a migration that was begun."""
    todo = plan(root)
    if todo.changes or backup.unfinished(root):
        applying.apply(todo, now=NOW)


def undo(root: Path) -> None:
    """Take the migration back, unless that is done."""
    if backup.found(root):
        applying.undo(root, applying.last(root))


def faults(
    start: Path,
    root: Path,
    work: Callable[[Path], None],
    end: dict[str, bytes],
    found: Counter[str],
) -> Iterator[str]:
    """Yield what is wrong after a work that was stopped at one of its changes, and then done again."""
    before = tree(start)
    shutil.copytree(start, root)
    count = changes(lambda: work(root))
    for way, code in WAYS:
        for point in range(1, count + 1):
            shutil.rmtree(root)
            shutil.copytree(start, root)
            came = outcome(lambda: _typed(work, root), point, way, code)
            found[{TAKEN: "taken", REFUSED: "refused", DIED: "died"}.get(came, f"exit {came}")] += 1
            where = f"{work.__name__}, {way} at {point}: "
            yield from (where + text for text in _mixed(tree(root), before, end))
            if came == REFUSED and way == "fails":
                yield from (where + text for text in _left(tree(root)))
                if work is migrate and tree(root) != before:
                    yield f"{where}was not taken back"
            work(root)
            if {
                name: data for name, data in tree(root).items() if not name.endswith(".tmp")
            } != end:
                yield f"{where}done again it ends otherwise"


def _typed(work: Callable[[Path], None], root: Path) -> None:
    """Do a work; an error that has no next step is a defect."""
    try:
        work(root)
    except StorageError:
        raise
    except Exception:  # noqa: BLE001 - it is told, and counted
        traceback.print_exc()
        os._exit(UNEXPECTED)


def _mixed(now: dict[str, bytes], before: dict[str, bytes], end: dict[str, bytes]) -> Iterator[str]:
    """Yield the files that are neither as they were nor as they will be."""
    old, new = without_backup(before), without_backup(end)
    for name, data in without_backup(now).items():
        if not name.endswith(".tmp") and data not in (old.get(name), new.get(name)):
            yield f"{name} is neither old nor new"
    for name in old.keys() & new.keys() - now.keys():
        yield f"{name} is gone"


def _left(now: dict[str, bytes]) -> Iterator[str]:
    yield from (f"{name} was left" for name in now if name.endswith(".tmp"))


def main(folder: Path) -> None:
    """Try it all in a folder."""
    found: Counter[str] = Counter()
    start = folder / "start" / "p"
    start.parent.mkdir(parents=True)
    v38_by_script(start)
    migrated = folder / "migrated" / "p"
    shutil.copytree(start, migrated)
    migrate(migrated)
    wrong = list(faults(start, folder / "one" / "p", migrate, tree(migrated), found))
    wrong += faults(migrated, folder / "two" / "p", undo, tree(start), found)
    sys.stdout.write(json.dumps({"wrong": wrong, **found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
