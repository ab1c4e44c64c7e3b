"""`code-intel init`: set a project up, say what would change, or take it back.

A plan is a list of `Change`s computed from what is on disk; `--dry-run` prints the very list that the
other runs apply, whole or not at all, with the lines that change. Nothing is overwritten: a file that exists
with other content is the owner's, and shared files (`.gitignore`, the clients') get our part merged in; what
they were before is kept in `.code-intel/backup`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from code_intel import durable, git, ignored
from code_intel.cli import backup_list, backups, client_files, clients, ignore_block, transaction
from code_intel.cli.backup_list import SETUP, Backup
from code_intel.cli.changes import (
    Change,
    check_writable,
    content,
    databases,
    hidden,
    name_in,
    pretty,
)
from code_intel.cli.clients import CLIENTS, DEFAULT, Client
from code_intel.cli.output import emit
from code_intel.cli.project import project_folder
from code_intel.cli.removal import PRECIOUS, removal
from code_intel.cli.transaction import Transaction
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    Settings,
    default_config,
    find_root,
    holds_all_projects,
    load_settings,
)
from code_intel.errors import CodeIntelError
from code_intel.registry.place import has_registry

WHOLLY_IGNORED = (
    "Git ignores {folder}: nobody else will get your agreements. To share them, let your .gitignore"
    " leave {folder} alone; it has a .gitignore of its own for what is derived."
)
MISREAD = "{title} takes a part of {path} for a variable: give the folder a name without $."
LOST = "{file} starts programs by their names, which are not on this PATH: put {folder} on it."
EARLIER = "This project was set up by an earlier version: `code-intel migrate --dry-run` says what it brings over."
FOREIGN = (
    "{file} has another server {name}, which stays as it is; to have `code-intel commands` by that name, take it out"
    " and call this again."
)
NO_REGISTRY = "There is no registry of commands yet: docs/command-registry.md shows one."
BEGUN = "A run of init was begun and not finished, see {folder}: this goes on from there."
AROUND = "{around} is set up as well: what is started in {root} is about {root} alone."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("project", nargs="?", default=".", help="folder to set up (default: here)")
    names = ", ".join(client.name for client in CLIENTS)
    parser.add_argument(
        "--client",
        action="append",
        metavar="NAME",
        help=f"client to set up: {names} or {clients.ALL} (default: {DEFAULT}; may be repeated)",
    )
    parser.add_argument(
        "--commands",
        action="store_true",
        help=f"enter the server of prompt commands, too, as {clients.COMMANDS} (default: where there is a registry)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, change nothing"
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help="take back what init wrote, for every client; agreements stay",
    )


def run(args: argparse.Namespace) -> int:
    """Plan, then apply or print."""
    root = project_folder(args.project)
    chosen = clients.chosen(args.client)
    work = removal(root) if args.remove else setup(root, chosen, commands=args.commands)
    changes, begun = work.changes, backup_list.unfinished(root, SETUP)
    backup = f"{STATE_FOLDER}/{backup_list.FOLDER}/<time>" if transaction.keeps(work) else ""
    stays = _stays(root, changes) if args.remove else ""
    if not args.dry_run:
        made = apply(work)
        backup = name_in(root, made.folder) if made and made.keeps else ""
    notes = (
        []
        if args.remove
        else [*_notes(root, chosen), *_on_commands(root, chosen, asked=args.commands)]
    )
    if begun:
        notes.insert(0, BEGUN.format(folder=name_in(root, begun.folder)))
    if stays:
        notes.append(f"What only you can delete stays in {STATE_FOLDER}: {stays}.")
    plans = load_settings(root).plans_dir
    if args.remove and plans.is_relative_to(root) and plans.exists():
        notes.append(
            f"Query plans stay in {plans.relative_to(root)}: delete it if nobody needs them."
        )
    rows = [_row(change, root) for change in changes]
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "backup": backup or None,
        "notes": notes,
    }
    emit(args, data, "\n".join(_told(root, changes, backup, notes, dry_run=args.dry_run)))
    return 0


def _told(
    root: Path, changes: Sequence[Change], backup: str, notes: Sequence[str], *, dry_run: bool
) -> list[str]:
    lines = [f"{'Would change' if dry_run else 'Project'} {root}:"]
    for change in changes:
        name = change.path.relative_to(root)
        lines.append(f"  {change.action:<7}{name}" + (f" ({change.why})" if change.why else ""))
        lines += [f"    {line}" for line in change.lines(root) if dry_run]
    if backup:
        lines.append(f"What was changed {'would be' if dry_run else 'is'} kept in {backup}.")
    return [*lines, *notes]


def _row(change: Change, root: Path) -> dict[str, str]:
    row = {"file": str(change.path.relative_to(root)), "action": change.action}
    if lines := change.lines(root):
        row["diff"] = "\n".join(lines)
    return row | ({"why": change.why} if change.why else {})


def _stays(root: Path, changes: Sequence[Change]) -> str:
    """Return the folders of `.code-intel` that still have something after `changes`."""
    state = root / STATE_FOLDER
    goes = {change.path for change in changes if change.action == "remove"}
    goes |= {*backups.transient(root, SETUP)}
    return ", ".join(
        name
        for name in PRECIOUS
        if any(path not in goes and not path.is_dir() for path in (state / name).rglob("*"))
    )


def setup(
    root: Path, chosen: Sequence[Client] = CLIENTS[:1], *, commands: bool = False
) -> Transaction:
    """Return what `init` does to a project, for the clients named; by default Claude Code.

    The server of prompt commands is entered where the project has a registry, or with `commands`.

    Raises:
        ConfigError: A file that is there already cannot be used; nothing has changed.
    """
    settings = load_settings(root)
    found = [
        _unless_there(root / MAP_CONFIG, root, pretty(default_config("map"))),
        _unless_there(root / FOREST_CONFIG, root, pretty(default_config("forest"))),
        _hide_derived(root / STATE_FOLDER / ignored.FILE),
        _merge_ignore(root / ".gitignore", settings),
    ]
    checked = [check_writable(change, root) for change in found]
    commands = commands or has_registry(root)
    entries = (client_files.merge(one, root, commands=commands) for one in chosen)
    folders = (root / STATE_FOLDER / "agreements",)
    return transaction.with_leftovers(Transaction(root, SETUP, (*checked, *entries), folders))


def apply(work: Transaction) -> Backup | None:
    """Set a project up, or take that back with the folders that are empty then; return what is kept of what there was.

    Raises:
        BusyError: A file is no more as the plan found it, or another process is at it; nothing has changed.
        StorageError: The disk refused; what was done is taken back. What can be built anew goes last, and may be left.
    """
    made = None
    if not work.is_done:
        with transaction.turn(work.root):
            made = transaction.apply(work)
    if not work.folders:
        _remove_empty(work)
    return made


def _remove_empty(work: Transaction) -> None:
    """Take away the folders that a removal has left without a file."""
    root, state = work.root, work.root / STATE_FOLDER
    emptied = {change.path.parent for change in work.changes if change.action == "remove"} - {root}
    emptied |= {folder.parent for folder in emptied} - {root}
    within = {path for path in state.rglob("*") if path.is_dir()}
    for folder in sorted({*emptied, *within, state}, reverse=True):
        durable.sweep(folder)
        durable.remove_folder(folder)  # if it is empty


def _notes(root: Path, chosen: Sequence[Client]) -> list[str]:
    """Return what people have to know, or do next."""
    paths = (
        (one.name, clients.misread(one, client_files.entries_for(one, root))) for one in chosen
    )
    notes = [client.note for client in chosen]
    notes += [
        LOST.format(file=c.file, folder=at) for c in chosen if (at := client_files.lost(c, root))
    ]
    notes += [MISREAD.format(title=name, path=path) for name, path in paths if path]
    if _is_ignored(root):
        notes.append(WHOLLY_IGNORED.format(folder=STATE_FOLDER))
    around = find_root(root.parent)
    marks = (around / mark for mark in (STATE_FOLDER, MAP_CONFIG, FOREST_CONFIG))
    if not holds_all_projects(around) and any(mark.exists() for mark in marks):
        notes.append(AROUND.format(around=around, root=root))
    return [*notes, EARLIER] if _is_earlier(root) else notes


def _on_commands(root: Path, chosen: Sequence[Client], *, asked: bool) -> list[str]:
    """Return what is to be said of the server of prompt commands."""
    there = has_registry(root)
    if not there and not asked:
        return []
    name = clients.COMMANDS
    others = [one for one in chosen if client_files.foreign_commands(one, root)]
    notes = [FOREIGN.format(file=one.file, name=name) for one in others]
    return notes if there else [*notes, NO_REGISTRY]


def _is_ignored(root: Path) -> bool:
    """Whether git would leave out a new agreement."""
    try:
        name = f"{STATE_FOLDER}/agreements/new.md"
        return git.run(root, "check-ignore", "-q", "--", name) is not None
    except TimeoutError:
        return False


def _is_earlier(root: Path) -> bool:
    """Whether there is something to migrate; what cannot be read is for `migrate` to say."""
    from code_intel.cli.migration.plan import plan  # reads all that was learned

    try:
        return bool(plan(root).changes)
    except CodeIntelError:
        return True


def _unless_there(path: Path, root: Path, ours: bytes) -> Change:
    """Create `path`, unless it or its namesake in `.code-intel` exists."""
    before = content(path)
    if before is None and (root / STATE_FOLDER / path.name).exists():
        path = root / STATE_FOLDER / path.name
        before = content(path)
    return Change(path, before, ours if before is None else before)


def _hide_derived(path: Path) -> Change:
    """Hide from git what `.code-intel` has beside the agreements, also where the folder came from elsewhere."""
    before = content(path)
    return Change(path, before, ignore_block.hiding(before))


def _merge_ignore(path: Path, settings: Settings) -> Change:
    """Hide the databases that lie in the project from git."""
    seen = [path for path in databases(settings) if not hidden(settings, path)]
    names = [path.relative_to(settings.root).as_posix() for path in seen]
    before = content(path)
    return Change(path, before, ignore_block.merged(before, list(map(ignore_block.pattern, names))))
