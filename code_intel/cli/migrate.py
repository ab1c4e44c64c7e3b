"""Bring a project from v3.7, or from the original's v3.8 and later, to this program.

What was learned becomes agreements that nobody has confirmed yet, the one devrag becomes map and forest, and
`.mcp.json` starts this program. Nothing newer is written over; what is replaced is copied to
`.code-intel/backup` first, and --undo puts it back. Running it again does nothing.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from code_intel.cli import backup_list, backups
from code_intel.cli.backup_list import MIGRATION, Backup
from code_intel.cli.changes import Change, databases, name_in
from code_intel.cli.migration import applying
from code_intel.cli.migration.notes import Note
from code_intel.cli.migration.plan import Plan, plan
from code_intel.cli.output import Advance, emit, progress
from code_intel.cli.project import project_folder
from code_intel.config import load_settings
from code_intel.learned.sharing import misshared

SHOWN = 5
"""Files of one kind that the text names; `--json` names all of them."""
MOST_NOTES = 20
SYNC = "`code-intel sync` builds the indexes; those of the original are not read."
CONFIRM = (
    "Nobody has confirmed what was migrated, so no answer rests on it alone: `code-intel map confirm --all "
    "--dry-run` says which symbols are still defined, without --dry-run it confirms those."
)
FINISHES = "A migration was begun and not finished, see {}; this is the rest of it."
CHANGED_SINCE = "it was changed since; what it was before the migration is in {}"
MADE = "the migration made it, and it was changed since; delete it if nobody needs it"
INDEXED = "What was indexed since stays; to take that away: code-intel init --remove"
MANY = 200
"""From so many files on, how far it is is told."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("project", nargs="?", default=".", help="its folder (default: here)")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, change nothing"
    )
    parser.add_argument(
        "--undo", action="store_true", help="put back what the last migration replaced"
    )


def run(args: argparse.Namespace) -> int:
    """Migrate; 1 when something was found that people must look at."""
    root = project_folder(args.project)
    if args.undo:
        return _undo(args, root)
    todo, begun, kept = plan(root), backup_list.unfinished(root, MIGRATION), None
    if (todo.changes or begun) and not args.dry_run:
        with _telling(len(todo.changes)) as advance:
            kept = applying.apply(todo, advance=advance)
    data = _data(todo, kept, dry=args.dry_run)
    data["finishes"] = name_in(root, begun.folder) if begun else None
    lines = [FINISHES.format(data["finishes"])] if begun else []
    emit(args, data, "\n".join([*lines, *_text(todo, kept, dry=args.dry_run)]))
    return 1 if todo.problems else 0


@contextmanager
def _telling(count: int) -> Iterator[Advance | None]:
    if count < MANY:
        yield None
    else:
        with progress() as advance:
            yield advance


def _data(todo: Plan, kept: Backup | None, *, dry: bool) -> dict[str, Any]:
    return {
        "project": str(todo.root),
        "dry_run": dry,
        "found": _rows(todo.found),
        "changes": [_row(change, todo.root) for change in todo.changes],
        "left": _rows(todo.left),
        "problems": _rows(todo.problems),
        "backup": name_in(todo.root, kept.folder) if kept else None,
        "next": _next(todo),
    }


def _row(change: Change, root: Path) -> dict[str, str]:
    return {"file": name_in(root, change.path), "action": change.action, "why": change.why}


def _rows(notes: Iterable[Note]) -> list[dict[str, str]]:
    return [note._asdict() for note in notes]


def _text(todo: Plan, kept: Backup | None, *, dry: bool) -> Iterator[str]:
    """Return the report for people."""
    if not todo.found:
        yield f"Nothing to migrate: {todo.root} has nothing of an earlier version."
        if not load_settings(todo.root).map.path.is_file():
            yield "To set it up: code-intel init"
        return
    yield from _part("Found", todo.found)
    yield from _changed(todo, dry=dry)
    yield from _part("Left as it is", [note for note in todo.left if note not in todo.found])
    yield from _part("To be looked at", todo.problems)
    if kept:
        where = name_in(todo.root, kept.folder)
        yield f"What was replaced is in {where}/{MIGRATION.copies}; to put all of it back: code-intel migrate --undo"
    steps = [] if dry else _next(todo)
    yield from (f"{number}. {step}" for number, step in enumerate(steps, 1))


def _changed(todo: Plan, *, dry: bool) -> Iterator[str]:
    if not todo.changes:
        yield "Nothing to do: it is migrated."
        return
    yield "Would change:" if dry else "Changed:"
    alike: Counter[tuple[str, Path, str]] = Counter()
    for change in todo.changes:
        kind = (change.action, change.path.parent, change.why)
        alike[kind] += 1
        if alike[kind] <= SHOWN:
            yield f"  {change.action:<8}{name_in(todo.root, change.path)} ({change.why})"
    for (action, folder, _), count in alike.items():
        if count > SHOWN:
            yield f"  {action:<8}{count - SHOWN} more in {name_in(todo.root, folder)}"


def _part(title: str, notes: Iterable[Note]) -> Iterator[str]:
    shown = list(notes)
    if shown:
        yield f"{title}:"
        yield from (f"  {note.file}: {note.text}" for note in shown[:MOST_NOTES])
    if len(shown) > MOST_NOTES:
        yield f"  and {len(shown) - MOST_NOTES} more; --json has all of them"


def _next(todo: Plan) -> list[str]:
    """Return what people do next."""
    if not todo.changes:
        return []
    steps = ["Restart your client: it starts the servers that .mcp.json names now.", SYNC]
    confirm = [CONFIRM] if todo.learned else []
    shared = [f"{one.what} {one.remedy}" for one in misshared(load_settings(todo.root))]
    return [*steps, *confirm, *shared]


def _undo(args: argparse.Namespace, root: Path) -> int:
    """Take the last migration back; 1 when something changed since and stayed."""
    done = applying.last(root)
    changes, left = backups.undoing(root, done)
    if not args.dry_run:
        applying.undo(root, done)
    rows = [{"file": record.file, "action": record.undone} for record in changes]
    copies = f"{name_in(root, done.folder)}/{MIGRATION.copies}"
    stays = [
        Note(record.file, CHANGED_SINCE.format(copies) if record.before else MADE)
        for record in left
    ]
    indexed = any(path.exists() for path in databases(load_settings(root)))
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "left": _rows(stays),
        "backup": name_in(root, done.folder) if left else None,
    }
    head = "Would put back" if args.dry_run else "Put back"
    lines = [f"{head}:" if rows else f"{head}: nothing."]
    lines += [f"  {row['action']:<8}{row['file']}" for row in rows[:MOST_NOTES]]
    if len(rows) > MOST_NOTES:
        lines.append(f"  and {len(rows) - MOST_NOTES} more")
    lines += [*_part("Left as it is", stays), *([INDEXED] if indexed else [])]
    emit(args, data, "\n".join(lines))
    return 1 if left else 0
