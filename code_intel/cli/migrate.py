"""Bring a project over from v3.7, v3.8 or later of the original program.

Learned pairs become agreements that are not confirmed yet, the configuration of the one devrag
becomes the two of map and forest, and `.mcp.json` starts this program. Files of newer versions are
not overwritten. Replaced files are copied to `.code-intel/backup`; --undo restores them. Running it
again does nothing.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from code_intel.cli.migration import applying
from code_intel.cli.migration.notes import Note
from code_intel.cli.migration.plan import MigrationPlan, plan
from code_intel.cli.output import Advance, emit, progress
from code_intel.cli.project import project_folder
from code_intel.cli.setup import transaction
from code_intel.cli.setup.changes import FileChange, databases, name_in
from code_intel.cli.setup.transaction import MIGRATION, TransactionRun
from code_intel.config import load_settings
from code_intel.learned.files.git_checks import misshared

MAX_FILES_SHOWN = 5
"""Files of one kind that the text names; `--json` has all of them."""
MAX_MIGRATION_NOTES = 20
SYNC = "Run `code-intel sync` to build the indexes; those of the original are not used."
CONFIRM = (
    "The migrated agreements are not confirmed, so no answer relies on them alone. `code-intel map"
    " confirm --all --dry-run` lists those whose symbols are still defined; without --dry-run it"
    " confirms them."
)
INTERRUPTED = "A migration was interrupted. {step} what it had changed; copies are in {folder}."
CHANGED_SINCE = "edited since the migration; the original is in {}"
EDITED_SINCE = "made by the migration and edited since; delete it if you don't need it"
INDEXED = "Indexes built since then stay. To remove them, run `code-intel init --remove`."
PROGRESS_MIN_FILES = 200
"""Number of files from which progress is shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", default=".", help="the project's folder (default: this folder)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change; change nothing"
    )
    parser.add_argument("--undo", action="store_true", help="undo the last migration")


def run(args: argparse.Namespace) -> int:
    """Migrate; return 1 when something was found that people must look at."""
    root = project_folder(args.project)
    if args.undo:
        return _undo(args, root)
    interrupted, made = transaction.interrupted(root, MIGRATION), None
    if not args.dry_run:
        transaction.recover(root, MIGRATION)
    todo = plan(root)
    if todo.changes and not args.dry_run:
        with _telling(len(todo.changes)) as advance:
            made = applying.apply(todo, advance=advance)
    data = _data(todo, made, dry=args.dry_run)
    data["finishes"] = name_in(root, interrupted.folder) if interrupted else None
    step = "The next run first restores" if args.dry_run else "This run first restored"
    lines = [INTERRUPTED.format(step=step, folder=data["finishes"])] if interrupted else []
    emit(args, data, "\n".join([*lines, *_text(todo, made, dry=args.dry_run)]))
    return 1 if todo.problems else 0


@contextmanager
def _telling(count: int) -> Iterator[Advance | None]:
    if count < PROGRESS_MIN_FILES:
        yield None
    else:
        with progress() as advance:
            yield advance


def _data(todo: MigrationPlan, made: TransactionRun | None, *, dry: bool) -> dict[str, Any]:
    return {
        "project": str(todo.root),
        "dry_run": dry,
        "found": _rows(todo.found),
        "changes": [_row(change, todo.root) for change in todo.changes],
        "left": _rows(todo.left),
        "problems": _rows(todo.problems),
        "backup": name_in(todo.root, made.folder) if made else None,
        "next": _next(todo),
    }


def _row(change: FileChange, root: Path) -> dict[str, str]:
    return {"file": name_in(root, change.path), "action": change.action, "why": change.why}


def _rows(notes: Iterable[Note]) -> list[dict[str, str]]:
    return [note._asdict() for note in notes]


def _text(todo: MigrationPlan, made: TransactionRun | None, *, dry: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    if not todo.found:
        yield f"Nothing to migrate: {todo.root} has no files of an earlier version."
        if not load_settings(todo.root).map.path.is_file():
            yield "To set it up, run `code-intel init`."
        return
    yield from _part("Found", todo.found)
    yield from _changed(todo, dry=dry)
    yield from _part("Left as it is", [note for note in todo.left if note not in todo.found])
    yield from _part("Needs your attention", todo.problems)
    if made:
        where = name_in(todo.root, made.folder)
        yield f"Copies of replaced files are in {where}/{MIGRATION.copies}."
        yield "To restore them: code-intel migrate --undo"
    steps = [] if dry else _next(todo)
    yield from (f"{number}. {step}" for number, step in enumerate(steps, 1))


def _changed(todo: MigrationPlan, *, dry: bool) -> Iterator[str]:
    if not todo.changes:
        yield "Nothing to do: the project is migrated."
        return
    yield "Would change:" if dry else "Changed:"
    alike: Counter[tuple[str, Path, str]] = Counter()
    for change in todo.changes:
        kind = (change.action, change.path.parent, change.why)
        alike[kind] += 1
        if alike[kind] <= MAX_FILES_SHOWN:
            yield f"  {change.action:<8}{name_in(todo.root, change.path)} ({change.why})"
    for (action, folder, _), count in alike.items():
        if count > MAX_FILES_SHOWN:
            yield f"  {action:<8}{count - MAX_FILES_SHOWN} more in {name_in(todo.root, folder)}"


def _part(title: str, notes: Iterable[Note]) -> Iterator[str]:
    shown = list(notes)
    if shown:
        yield f"{title}:"
        yield from (f"  {note.file}: {note.text}" for note in shown[:MAX_MIGRATION_NOTES])
    if len(shown) > MAX_MIGRATION_NOTES:
        yield f"  and {len(shown) - MAX_MIGRATION_NOTES} more; --json has all of them"


def _next(todo: MigrationPlan) -> list[str]:
    """Return the next steps."""
    if not todo.changes:
        return []
    steps = ["Restart your coding agent, so that it starts the servers in .mcp.json.", SYNC]
    confirm = [CONFIRM] if todo.learned else []
    shared = [f"{one.what} {one.remedy}" for one in misshared(load_settings(todo.root))]
    return [*steps, *confirm, *shared]


def _undo(args: argparse.Namespace, root: Path) -> int:
    """Undo the last migration; return 1 when files that were edited since stayed."""
    done = applying.last(root)
    changes, edited = done.compare()
    if not args.dry_run:
        applying.undo(done)
    rows = [
        {"file": record.file, "action": "restore" if record.before else "remove"}
        for record in changes
    ]
    copies = f"{name_in(root, done.folder)}/{MIGRATION.copies}"
    stays = [
        Note(record.file, CHANGED_SINCE.format(copies) if record.before else EDITED_SINCE)
        for record in edited
    ]
    indexed = any(path.exists() for path in databases(load_settings(root)))
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "left": _rows(stays),
        "backup": name_in(root, done.folder) if edited else None,
    }
    head = "Would undo" if args.dry_run else "Undone"
    lines = [f"{head}:" if rows else f"{head}: nothing."]
    lines += [f"  {row['action']:<8}{row['file']}" for row in rows[:MAX_MIGRATION_NOTES]]
    if len(rows) > MAX_MIGRATION_NOTES:
        lines.append(f"  and {len(rows) - MAX_MIGRATION_NOTES} more")
    lines += [*_part("Left as it is", stays), *([INDEXED] if indexed else [])]
    emit(args, data, "\n".join(lines))
    return 1 if edited else 0
