"""Set a project up for coding agents, show what would change, or undo the set-up.

init writes two configurations, `.code-intel`, a block in `.gitignore`, and the servers into each
client's file. It makes all of these changes or none. Your own settings stay as they are: a file
that exists with other content is not overwritten, and shared files keep everything else they
contain. Copies of changed files are in `.code-intel/backup`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from code_intel.cli.output import emit
from code_intel.cli.project import project_folder
from code_intel.cli.setup import client_files, clients, ignore_block, transaction
from code_intel.cli.setup.changes import (
    FileChange,
    check_writable,
    content,
    databases,
    hidden,
    name_in,
    pretty,
)
from code_intel.cli.setup.clients import CLIENTS, DEFAULT_CLIENT, Client
from code_intel.cli.setup.removal import USER_FOLDERS, removal
from code_intel.cli.setup.transaction import BACKUPS, SETUP, Transaction, TransactionRun
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
from code_intel.foundation import durable, git, state_folder
from code_intel.registry.place import has_registry

WHOLLY_IGNORED = (
    "Git ignores {folder}, so other people will not get your agreements. To share them, remove"
    " {folder} from your .gitignore; it has its own .gitignore for derived files."
)
VARIABLE_PATH_NOTE = "{title} replaces the part of {path} after $ as a variable. Rename the folder."
PROGRAM_PATH_NOTE = (
    "{file} starts programs by name that are not on this PATH. Add {folder} to your PATH."
)
MIGRATION_NOTE = (
    "This project was set up by an earlier version."
    " Run `code-intel migrate --dry-run` to see what it would bring over."
)
FOREIGN = (
    "{file} already has another server called {name}; it was left as it is. To use"
    " `code-intel commands` instead, remove that entry and run init again."
)
NO_REGISTRY = "This project has no command registry yet. See docs/command-registry.md."
INTERRUPTED = "A run of init was interrupted. {step} what it had changed; copies are in {folder}."
OUTER_PROJECT_NOTE = (
    "{around} is set up too. Servers started in {root} use {root} only,"
    " and not the project around it."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", default=".", help="the project's folder (default: this folder)"
    )
    names = ", ".join(client.name for client in CLIENTS)
    parser.add_argument(
        "--client",
        action="append",
        metavar="NAME",
        help=f"coding agent: {names} or {clients.ALL_CLIENTS} (default: {DEFAULT_CLIENT};"
        " may be repeated)",
    )
    parser.add_argument(
        "--commands",
        action="store_true",
        help=f"also add the server of prompt commands, {clients.COMMANDS_SERVER}"
        " (default: if the project has a registry)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change; change nothing"
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help="remove what init wrote, for every client; agreements stay",
    )


def run(args: argparse.Namespace) -> int:
    """Plan the changes, then print or apply them."""
    root = project_folder(args.project)
    chosen = clients.chosen(args.client)
    interrupted = transaction.interrupted(root, SETUP)
    if not args.dry_run:
        transaction.recover(root, SETUP)
    work = removal(root) if args.remove else setup(root, chosen, commands=args.commands)
    backup = f"{STATE_FOLDER}/{BACKUPS}/<time>" if _keeps_copies(work) else ""
    notes = _notes_of_removal(root, work.changes) if args.remove else []
    if not args.dry_run:
        made = apply(work)
        backup = name_in(root, made.folder) if made and made.has_copies else ""
    if not args.remove:
        notes = [*_notes(root, chosen), *_on_commands(root, chosen, requested=args.commands)]
    if interrupted:
        step = "The next run first restores" if args.dry_run else "This run first restored"
        folder = name_in(root, interrupted.folder)
        notes.insert(0, INTERRUPTED.format(step=step, folder=folder))
    rows = [_row(change, root) for change in work.changes]
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "backup": backup or None,
        "notes": notes,
    }
    emit(args, data, "\n".join(_told(root, work.changes, backup, notes, dry_run=args.dry_run)))
    return 0


def _keeps_copies(work: Transaction) -> bool:
    return work.keeps_copies and any(change.action == "update" for change in work.changes)


def _told(
    root: Path, changes: Sequence[FileChange], backup: str, notes: Sequence[str], *, dry_run: bool
) -> list[str]:
    lines = [f"{'Would change' if dry_run else 'Project'} {root}:"]
    for change in changes:
        name = change.path.relative_to(root)
        lines.append(f"  {change.action:<7}{name}" + (f" ({change.why})" if change.why else ""))
        lines += [f"    {line}" for line in change.lines(root) if dry_run]
    if backup:
        lines.append(f"Copies of changed files {'would be' if dry_run else 'are'} in {backup}.")
    return [*lines, *notes]


def _row(change: FileChange, root: Path) -> dict[str, str]:
    row = {"file": str(change.path.relative_to(root)), "action": change.action}
    if lines := change.lines(root):
        row["diff"] = "\n".join(lines)
    return row | ({"why": change.why} if change.why else {})


def _notes_of_removal(root: Path, changes: Sequence[FileChange]) -> list[str]:
    """Return what a removal leaves."""
    state, plans = root / STATE_FOLDER, load_settings(root).plans_dir
    goes = {change.path for change in changes if change.action == "remove"}
    stays = [
        name
        for name in USER_FOLDERS
        if any(path not in goes and not path.is_dir() for path in (state / name).rglob("*"))
    ]
    notes = []
    if stays:
        notes.append(f"Only you can delete these; they stay in {STATE_FOLDER}: {', '.join(stays)}.")
    if plans.is_relative_to(root) and plans.exists():
        notes.append(
            f"Query plans stay in {plans.relative_to(root)}. Delete it if you don't need them."
        )
    return notes


def setup(
    root: Path, chosen: Sequence[Client] = CLIENTS[:1], *, commands: bool = False
) -> Transaction:
    """Return the changes that set a project up, by default for Claude Code.

    Args:
        root: The project.
        chosen: The clients.
        commands: Whether to add the server of prompt commands; it is always added if there is a
            registry.

    Raises:
        ConfigError: An existing file cannot be used.
    """
    settings = load_settings(root)
    found = [
        _unless_there(root / MAP_CONFIG, root, pretty(default_config("map"))),
        _unless_there(root / FOREST_CONFIG, root, pretty(default_config("forest"))),
        _hide_derived(root / STATE_FOLDER / state_folder.GITIGNORE_NAME),
        _merge_ignore(root / ".gitignore", settings),
    ]
    checked = [check_writable(change, root) for change in found]
    commands = commands or has_registry(root)
    entries = (client_files.merge(one, root, commands=commands) for one in chosen)
    folders = (root / STATE_FOLDER / "agreements",)
    return Transaction(root, SETUP, (*checked, *entries), folders)


def apply(work: Transaction) -> TransactionRun | None:
    """Apply a set-up or a removal; return the run, None if there was nothing to do.

    Raises:
        BusyError: A file changed since the plan was made, or another process holds the lock.
        StorageError: The disk refused; everything but derived files was restored.
    """
    made = None
    if not work.is_done:
        with transaction.locked(work.root):
            made = transaction.apply(work)
    if not work.folders:
        _remove_empty(work)
    return made


def _remove_empty(work: Transaction) -> None:
    """Remove the folders that a removal left empty."""
    root, state = work.root, work.root / STATE_FOLDER
    emptied = {change.path.parent for change in work.changes if change.action == "remove"} - {root}
    emptied |= {folder.parent for folder in emptied} - {root}
    within = {path for path in state.rglob("*") if path.is_dir()}
    for folder in sorted({*emptied, *within, state}, reverse=True):
        durable.sweep(folder)
        durable.remove_folder(folder)  # only if it is empty


def _notes(root: Path, chosen: Sequence[Client]) -> list[str]:
    """Return what the user should know or do next."""
    paths = (
        (one.name, clients.expanded_path(one, client_files.entries_for(one, root)))
        for one in chosen
    )
    notes = [client.note for client in chosen]
    notes += [
        PROGRAM_PATH_NOTE.format(file=c.file, folder=at)
        for c in chosen
        if (at := client_files.lost(c, root))
    ]
    notes += [VARIABLE_PATH_NOTE.format(title=name, path=path) for name, path in paths if path]
    if _is_ignored(root):
        notes.append(WHOLLY_IGNORED.format(folder=STATE_FOLDER))
    around = find_root(root.parent)
    marks = (around / mark for mark in (STATE_FOLDER, MAP_CONFIG, FOREST_CONFIG))
    if not holds_all_projects(around) and any(mark.exists() for mark in marks):
        notes.append(OUTER_PROJECT_NOTE.format(around=around, root=root))
    return [*notes, MIGRATION_NOTE] if _is_earlier(root) else notes


def _on_commands(root: Path, chosen: Sequence[Client], *, requested: bool) -> list[str]:
    """Return notes about the server of prompt commands."""
    there = has_registry(root)
    if not there and not requested:
        return []
    name = clients.COMMANDS_SERVER
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
    """Whether there is something to migrate; `migrate` reports what cannot be read."""
    from code_intel.cli.migration.plan import plan  # reads all that was learned

    try:
        return bool(plan(root).changes)
    except CodeIntelError:
        return True


def _unless_there(path: Path, root: Path, ours: bytes) -> FileChange:
    """Create `path`, unless it exists here or in `.code-intel`."""
    before = content(path)
    if before is None and (root / STATE_FOLDER / path.name).exists():
        path = root / STATE_FOLDER / path.name
        before = content(path)
    return FileChange(path, before, ours if before is None else before)


def _hide_derived(path: Path) -> FileChange:
    """Hide derived files in `.code-intel` from git."""
    before = content(path)
    return FileChange(path, before, ignore_block.hiding(before))


def _merge_ignore(path: Path, settings: Settings) -> FileChange:
    """Hide databases in the project from git."""
    seen = [path for path in databases(settings) if not hidden(settings, path)]
    names = [path.relative_to(settings.root).as_posix() for path in seen]
    before = content(path)
    return FileChange(
        path, before, ignore_block.merged(before, list(map(ignore_block.pattern, names)))
    )
