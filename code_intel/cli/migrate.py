"""Migrate a project from v3.7, v3.8 or later of the original program.

Learned pairs become unconfirmed agreements, the one configuration of devrag becomes two, for the
map and for the forest, and `.mcp.json` starts this program. Files of newer versions are not
overwritten. Replaced files are copied to `.code-intel/backup`, from where --undo restores them. A
second run changes nothing.
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
from code_intel.cli.setup.changes import databases, name_in
from code_intel.cli.setup.transaction import MIGRATION, TransactionRun
from code_intel.config import load_settings
from code_intel.learned.files.git_checks import misshared

MAX_FILES_SHOWN = 5
"""Number of similar changes that the text lists; `--json` lists all of them."""
MAX_MIGRATION_NOTES = 20
SYNC = "Run `code-intel sync` to build the indexes; those of the original program are not used."
CONFIRM = (
    "The migrated agreements are not confirmed, so no answer relies on them alone. `code-intel map"
    " confirm --all --dry-run` lists those whose symbols are still defined; without --dry-run it"
    " confirms them."
)
INTERRUPTED = "A migration was interrupted. {step} the files it had changed, from {folder}."
CHANGED_SINCE = "edited since the migration; the original is in {}"
EDITED_SINCE = "created by the migration and edited since; delete it if you don't need it"
INDEXED = "Indexes built since then are kept. To remove them, run `code-intel init --remove`."
PROGRESS_MIN_FILES = 200
"""Progress is shown if at least this many files change."""


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
    """Migrate the project; return 1 if something needs the user's attention."""
    root = project_folder(args.project)
    if args.undo:
        return _undo(args, root)
    interrupted, applied = transaction.interrupted(root, MIGRATION), None
    if not args.dry_run:
        transaction.recover(root, MIGRATION)
    todo = plan(root)
    if todo.changes and not args.dry_run:
        with _progress_if_long(len(todo.changes)) as advance:
            applied = applying.apply(todo, advance=advance)
    data = _data(todo, applied, dry_run=args.dry_run)
    data["finishes"] = name_in(root, interrupted.folder) if interrupted else None
    step = "The next run first restores" if args.dry_run else "This run first restored"
    lines = [INTERRUPTED.format(step=step, folder=data["finishes"])] if interrupted else []
    emit(args, data, "\n".join([*lines, *_text(todo, applied, dry_run=args.dry_run)]))
    return 1 if todo.problems else 0


@contextmanager
def _progress_if_long(count: int) -> Iterator[Advance | None]:
    if count < PROGRESS_MIN_FILES:
        yield None
    else:
        with progress() as advance:
            yield advance


def _data(todo: MigrationPlan, applied: TransactionRun | None, *, dry_run: bool) -> dict[str, Any]:
    return {
        "project": str(todo.root),
        "dry_run": dry_run,
        "found": _rows(todo.found),
        "changes": [
            {"file": name_in(todo.root, one.path), "action": one.action, "why": one.why}
            for one in todo.changes
        ],
        "left": _rows(todo.left),
        "problems": _rows(todo.problems),
        "backup": name_in(todo.root, applied.folder) if applied else None,
        "next": _next_steps(todo),
    }


def _rows(notes: Iterable[Note]) -> list[dict[str, str]]:
    return [note._asdict() for note in notes]


def _text(todo: MigrationPlan, applied: TransactionRun | None, *, dry_run: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    if not todo.found:
        yield f"Nothing to migrate: {todo.root} has no files of an earlier version."
        if not load_settings(todo.root).map.path.is_file():
            yield "To set it up, run `code-intel init`."
        return
    yield from _note_lines("Found", todo.found)
    yield from _change_lines(todo, dry_run=dry_run)
    yield from _note_lines("Left as it is", [note for note in todo.left if note not in todo.found])
    yield from _note_lines("Needs your attention", todo.problems)
    if applied:
        where = name_in(todo.root, applied.folder)
        yield f"Copies of replaced files are in {where}/{MIGRATION.copies}."
        yield "To restore them: code-intel migrate --undo"
    steps = [] if dry_run else _next_steps(todo)
    yield from (f"{number}. {step}" for number, step in enumerate(steps, 1))


def _change_lines(todo: MigrationPlan, *, dry_run: bool) -> Iterator[str]:
    if not todo.changes:
        yield "Nothing to do: the project is already migrated."
        return
    yield "Would change:" if dry_run else "Changed:"
    counts: Counter[tuple[str, Path, str]] = Counter()
    for change in todo.changes:
        kind = (change.action, change.path.parent, change.why)
        counts[kind] += 1
        if counts[kind] <= MAX_FILES_SHOWN:
            yield f"  {change.action:<8}{name_in(todo.root, change.path)} ({change.why})"
    for (action, folder, _), count in counts.items():
        if count > MAX_FILES_SHOWN:
            yield f"  {action:<8}{count - MAX_FILES_SHOWN} more in {name_in(todo.root, folder)}"


def _note_lines(title: str, notes: Iterable[Note]) -> Iterator[str]:
    listed = list(notes)
    if listed:
        yield f"{title}:"
        yield from (f"  {note.file}: {note.text}" for note in listed[:MAX_MIGRATION_NOTES])
    if len(listed) > MAX_MIGRATION_NOTES:
        yield f"  and {len(listed) - MAX_MIGRATION_NOTES} more; --json lists all of them"


def _next_steps(todo: MigrationPlan) -> list[str]:
    """Return the next steps."""
    if not todo.changes:
        return []
    steps = ["Restart your coding agent, so that it starts the servers in .mcp.json.", SYNC]
    confirm = [CONFIRM] if todo.learned else []
    shared = [f"{one.what} {one.remedy}" for one in misshared(load_settings(todo.root))]
    return [*steps, *confirm, *shared]


def _undo(args: argparse.Namespace, root: Path) -> int:
    """Undo the last migration; return 1 if files were kept because they were edited since."""
    last_run = applying.last(root)
    changes, edited = last_run.compare()
    if not args.dry_run:
        applying.undo(last_run)
    rows = [
        {"file": record.file, "action": "restore" if record.before else "remove"}
        for record in changes
    ]
    copies = f"{name_in(root, last_run.folder)}/{MIGRATION.copies}"
    kept = [
        Note(record.file, CHANGED_SINCE.format(copies) if record.before else EDITED_SINCE)
        for record in edited
    ]
    indexed = any(path.exists() for path in databases(load_settings(root)))
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "left": _rows(kept),
        "backup": name_in(root, last_run.folder) if edited else None,
    }
    head = "Would undo" if args.dry_run else "Undone"
    lines = [f"{head}:" if rows else "Nothing to undo."]
    lines += [f"  {row['action']:<8}{row['file']}" for row in rows[:MAX_MIGRATION_NOTES]]
    if len(rows) > MAX_MIGRATION_NOTES:
        lines.append(f"  and {len(rows) - MAX_MIGRATION_NOTES} more")
    lines += [*_note_lines("Left as it is", kept), *([INDEXED] if indexed else [])]
    emit(args, data, "\n".join(lines))
    return 1 if edited else 0
