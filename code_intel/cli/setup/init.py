"""Set up a project for coding agents, show what would change, or undo the set-up.

init writes two configurations, `.code-intel`, a block in `.gitignore`, the servers and hooks into
each client's files, and a section into the instructions that agents read. It makes all of these
changes or none, and keeps your own settings: an existing file with other content is not
overwritten, and shared files keep everything else that they contain. Copies of changed files are
in `.code-intel/backup`. At the end it says which files to commit.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, get_args

from code_intel.cli.output import emit
from code_intel.cli.project import project_folder
from code_intel.cli.setup import (
    client_files,
    clients,
    hook_choice,
    hook_files,
    ignore_block,
    instructions,
    map_setup,
    shared_setup,
    transaction,
)
from code_intel.cli.setup.changes import (
    FileChange,
    check_writable,
    content,
    databases,
    is_hidden,
    name_in,
    to_json,
)
from code_intel.cli.setup.clients import CLIENTS, DEFAULT_CLIENT, Client
from code_intel.cli.setup.hook_files import HookMode
from code_intel.cli.setup.removal import TRACKED, USER_FOLDERS, removal
from code_intel.cli.setup.sharing import Sharing, sharing
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
from code_intel.config.client_files import GUARDED_FILES
from code_intel.errors import BusyError, CodeIntelError
from code_intel.foundation import durable, git, state_folder
from code_intel.operations import upstream_approvals
from code_intel.registry.place import has_registry

IGNORED_FOLDER_NOTE = (
    "Git ignores {folder}, so other people will not get your agreements. To share them, remove"
    " {folder} from your .gitignore; it has its own .gitignore for derived files."
)
VARIABLE_PATH_NOTE = "{title} replaces the part of {path} after $ as a variable. Rename the folder."
PROGRAM_PATH_NOTE = (
    "{file} starts programs by name that are not on this PATH. Add {folder} to your PATH."
)
ENVIRONMENT_NOTE = (
    "The activated environment is not active in other shells, so new entries start {program} by its"
    " path. They work without the environment, on this machine only."
)
MIGRATION_NOTE = (
    "This project was set up by an earlier version."
    " Run `code-intel migrate --dry-run` to see what it would migrate."
)
OTHER_SERVER_NOTE = (
    "{file} already contains another server called {name}. It was not changed. To use"
    " `code-intel commands` instead, remove that entry and run init again."
)
NO_REGISTRY_NOTE = "This project has no command registry yet. See docs/command-registry.md."
NO_HOOKS_NOTE = (
    "No hooks for {names}. `code-intel init --client {names} --hooks advise` adds them; see"
    " docs/clients.md."
)
TRACKED_NOTE = (
    "Files that git tracks were kept. To remove them for the whole team, run `git rm --cached --"
    " {names}`, then `code-intel init --remove` again, and commit."
)
INTERRUPTED = "A run of init was interrupted. {step} the files it had changed, from {folder}."
OUTER_PROJECT_NOTE = (
    "{outer_root} is also set up. Servers that are started in {root} use only {root},"
    " not the project around it."
)

MAX_ATTEMPTS = 5
"""Maximum attempts to make the changes, if other runs change the files meanwhile."""


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
        help=f"coding agent: {names}, {clients.ALL_CLIENTS} or {clients.NO_CLIENT}"
        f" (default: {DEFAULT_CLIENT}, and {clients.NO_CLIENT} with --shared; may be repeated)",
    )
    parser.add_argument(
        "--commands",
        action="store_true",
        help=f"also add the server of prompt commands, {clients.COMMANDS_SERVER}"
        " (default: if the project has a registry)",
    )
    parser.add_argument(
        "--hooks",
        choices=get_args(HookMode),
        help="what hooks of the client do: add context and comments (advise), also deny writes to"
        " code that the session has not read (enforce), or nothing (off); by default, init asks"
        " once in a terminal, and else adds those of Claude Code that advise",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="create CLAUDE.md, AGENTS.md or GEMINI.md with a section for the agent"
        " (default: add it to the files that exist)",
    )
    parser.add_argument(
        "--shared",
        metavar="URL",
        default="",
        help="use the index that a team shares at this address (docs/shared.md)",
    )
    parser.add_argument(
        "--save-token",
        action="store_true",
        help="with --shared, save the token of CODE_INTEL_SHARED_TOKEN on this machine, because"
        " Codex and Gemini CLI do not pass the variable on to servers",
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
    """Plan the changes, apply them unless `--dry-run` is given, and print them."""
    root = project_folder(args.project)
    if args.save_token:
        shared_setup.require_token(load_settings(root), args.shared)
    given = args.client or ([clients.NO_CLIENT] if args.shared else None)
    chosen = clients.chosen(given)
    interrupted = transaction.interrupted(root, SETUP)
    if not args.dry_run:
        transaction.recover(root, SETUP)
    plan = (
        partial(removal, root)
        if args.remove
        else partial(setup, root, chosen, _choices(args, root, chosen))
    )
    planned = plan()
    updates = any(change.action == "update" for change in planned.changes)
    backup = f"{STATE_FOLDER}/{BACKUPS}/<time>" if planned.keeps_copies and updates else ""
    notes = _removal_notes(root, planned.changes) if args.remove else []
    if not args.dry_run:
        planned, applied = _make_changes(plan)
        backup = name_in(root, applied.folder) if applied and applied.has_copies else ""
        if args.shared or args.remove:
            url = "" if args.remove else shared_setup.checked_url(args.shared)
            shared_setup.trust(load_settings(root), url)
        if args.remove:
            upstream_approvals.revoke(load_settings(root))
        if args.save_token:
            shared_setup.save_token(load_settings(root), shared_setup.checked_url(args.shared))
    if not args.remove:
        notes = [*_notes(root, chosen), *_commands_notes(root, chosen, requested=args.commands)]
        notes += _hook_notes(root, chosen, planned, args.hooks)
        notes += shared_setup.prepare(root) if args.shared and not args.dry_run else []
    if interrupted:
        step = "The next run first restores" if args.dry_run else "This run first restored"
        folder = name_in(root, interrupted.folder)
        notes.insert(0, INTERRUPTED.format(step=step, folder=folder))
    shared = Sharing() if args.remove else sharing(root, planned.changes)
    rows = [_change_data(change, root) for change in planned.changes]
    data = {
        "project": str(root),
        "dry_run": args.dry_run,
        "changes": rows,
        "backup": backup or None,
        "notes": notes,
        "commit": list(shared.commit),
        "local": list(shared.local),
    }
    notes = [*notes, *shared.lines()]
    lines = _report_lines(root, planned.changes, backup, notes, dry_run=args.dry_run)
    emit(args, data, "\n".join(lines))
    return 0


def _make_changes(plan: Callable[[], Transaction]) -> tuple[Transaction, TransactionRun | None]:
    """Make the planned changes; plan again if another run has changed the files meanwhile."""
    for _ in range(1, MAX_ATTEMPTS):
        planned = plan()
        with suppress(BusyError):
            return planned, apply(planned)
    planned = plan()
    return planned, apply(planned)


def _report_lines(
    root: Path, changes: Sequence[FileChange], backup: str, notes: Sequence[str], *, dry_run: bool
) -> list[str]:
    lines = [f"{'Would change' if dry_run else 'Project'} {root}:"]
    for change in changes:
        name = change.path.relative_to(root)
        lines.append(f"  {change.action:<7}{name}" + (f" ({change.why})" if change.why else ""))
        lines += [f"    {line}" for line in change.diff_lines(root) if dry_run]
    if backup:
        lines.append(f"Copies of changed files {'would be' if dry_run else 'are'} in {backup}.")
    return [*lines, *notes]


def _change_data(change: FileChange, root: Path) -> dict[str, str]:
    row = {"file": str(change.path.relative_to(root)), "action": change.action}
    if lines := change.diff_lines(root):
        row["diff"] = "\n".join(lines)
    return row | ({"why": change.why} if change.why else {})


def _removal_notes(root: Path, changes: Sequence[FileChange]) -> list[str]:
    """Return notes about what a removal keeps."""
    state, plans = root / STATE_FOLDER, load_settings(root).plans_dir
    removed = {change.path for change in changes if change.action == "remove"}
    kept = [
        name
        for name in USER_FOLDERS
        if any(path not in removed and not path.is_dir() for path in (state / name).rglob("*"))
    ]
    notes = []
    if kept:
        notes.append(f"Kept in {STATE_FOLDER}, for you to delete or keep: {', '.join(kept)}.")
    tracked = [name_in(root, change.path) for change in changes if change.why == TRACKED]
    if tracked:
        notes.append(TRACKED_NOTE.format(names=shlex.join(tracked)))
    if plans.is_relative_to(root) and plans.exists():
        notes.append(
            f"Query plans stay in {plans.relative_to(root)}. Delete it if you don't need them."
        )
    return notes


class SetupChoices(NamedTuple):
    """What a set-up adds besides the servers.

    Attributes:
        commands: Whether to add the server of prompt commands; it is always added if there is a
            registry.
        hooks: The mode of the hooks, by name of the client; those of others stay as they are.
        instructions: Whether to create missing files of instructions.
        shared: The address of the shared index; empty to leave the settings as they are.
    """

    commands: bool = False
    hooks: Mapping[str, HookMode] = MappingProxyType({})
    instructions: bool = False
    shared: str = ""


def setup(
    root: Path, chosen: Sequence[Client] = CLIENTS[:1], choices: SetupChoices | None = None
) -> Transaction:
    """Return the changes that set a project up, by default for Claude Code.

    Args:
        root: The project.
        chosen: The clients.
        choices: What to add; by default, the hooks that `hook_choice` adds without a question.

    Raises:
        ConfigError: An existing file cannot be used.
    """
    choices = choices or SetupChoices(hooks=hook_choice.modes(root, chosen, None))
    settings = load_settings(root)
    found = [
        _create_unless_exists(root / MAP_CONFIG, root, to_json(map_setup.map_config(root))),
        _create_unless_exists(root / FOREST_CONFIG, root, to_json(default_config("forest"))),
        _hide_derived(root / STATE_FOLDER / state_folder.GITIGNORE_NAME),
        *shared_setup.with_shared(root, choices.shared, map_setup.settings_file(root)),
        _merge_ignore(root / ".gitignore", settings),
    ]
    checked = [check_writable(change, root) for change in found]
    commands = choices.commands or has_registry(root)
    for client in chosen:
        checked += _client_changes(client, root, choices, commands=commands)
    checked += instructions.merge(root, chosen, creates=choices.instructions)
    folders = (root / STATE_FOLDER / "agreements",)
    return Transaction(root, SETUP, tuple(checked), folders)


def _client_changes(
    client: Client, root: Path, choices: SetupChoices, *, commands: bool
) -> list[FileChange]:
    """Return the changes of a client's files; servers and hooks may be in one file."""
    servers = client_files.merge(client, root, commands=commands)
    mode = choices.hooks.get(client.name)
    if client.hooks is None or mode is None:
        return [servers]
    path = root / client.hooks.file
    if path == servers.path:
        after = hook_files.merge(client, client.hooks, path, servers.after, mode)
        return [check_writable(replace(servers, after=after), root)]
    before = content(path)
    after = hook_files.merge(client, client.hooks, path, before, mode)
    if before is None and after is None:
        return [servers]
    return [servers, check_writable(FileChange(path, before, after), root)]


def _choices(args: argparse.Namespace, root: Path, chosen: Sequence[Client]) -> SetupChoices:
    can_ask = not (args.json or args.dry_run) and sys.stdin.isatty() and sys.stderr.isatty()
    modes = hook_choice.modes(root, chosen, args.hooks, asks=can_ask)
    shared = shared_setup.checked_url(args.shared) if args.shared else ""
    return SetupChoices(args.commands, modes, args.instructions, shared)


def apply(planned: Transaction) -> TransactionRun | None:
    """Apply a set-up or a removal; return the run, or None if there was nothing to do.

    Raises:
        BusyError: A file changed since the plan was made, or another process holds the lock.
        StorageError: A file could not be written; everything but derived files was restored.
    """
    applied = None
    if not planned.is_done:
        with transaction.locked(planned.root):
            applied = transaction.apply(planned)
    if not planned.folders:
        _remove_empty(planned)
    return applied


def _remove_empty(planned: Transaction) -> None:
    """Remove the folders that a removal left empty."""
    root, state = planned.root, planned.root / STATE_FOLDER
    removed = [change.path for change in planned.changes if change.action == "remove"]
    removed += [root / file for file in GUARDED_FILES]  # an interrupted removal may have left them
    emptied = {path.parent for path in removed} - {root}
    emptied |= {folder.parent for folder in emptied} - {root}
    subfolders = {path for path in state.rglob("*") if path.is_dir()}
    for folder in sorted({*emptied, *subfolders, state}, reverse=True):
        durable.sweep(folder)
        durable.remove_folder(folder)  # only if it is empty


def _notes(root: Path, chosen: Sequence[Client]) -> list[str]:
    """Return what the user should know or do next."""
    paths = (
        (one.name, clients.path_with_variable(one, client_files.entries_for(one, root)))
        for one in chosen
    )
    notes = [client.note for client in chosen]
    if any(map(clients.needs_environment, chosen)):
        notes.append(ENVIRONMENT_NOTE.format(program=clients.own_program()))
    notes += [
        PROGRAM_PATH_NOTE.format(file=c.file, folder=at)
        for c in chosen
        if (at := client_files.missing_program_folder(c, root))
    ]
    notes += [VARIABLE_PATH_NOTE.format(title=name, path=path) for name, path in paths if path]
    if _is_ignored(root):
        notes.append(IGNORED_FOLDER_NOTE.format(folder=STATE_FOLDER))
    outer_root = find_root(root.parent)
    markers = (outer_root / mark for mark in (STATE_FOLDER, MAP_CONFIG, FOREST_CONFIG))
    if not holds_all_projects(outer_root) and any(mark.exists() for mark in markers):
        notes.append(OUTER_PROJECT_NOTE.format(outer_root=outer_root, root=root))
    notes += map_setup.records_notes(root, load_settings(root))
    return [*notes, MIGRATION_NOTE] if _can_migrate(root) else notes


def _hook_notes(
    root: Path, chosen: Sequence[Client], planned: Transaction, given: HookMode | None
) -> list[str]:
    """Return the notes of the hooks, and one about clients without hooks, unless asked for."""
    after = {change.path: change.after for change in planned.changes}
    able = [(client.name, client.hooks) for client in chosen if client.hooks]
    hooked = [
        hooks for _, hooks in able if hook_files.has_hooks(hooks, after.get(root / hooks.file))
    ]
    notes = [hooks.note for hooks in hooked if hooks.note]
    without = [name for name, hooks in able if hooks not in hooked]
    if without and given is None:
        notes.append(NO_HOOKS_NOTE.format(names=",".join(without)))
    return notes


def _commands_notes(root: Path, chosen: Sequence[Client], *, requested: bool) -> list[str]:
    """Return notes about the server of prompt commands."""
    registry_exists = has_registry(root)
    if not registry_exists and not requested:
        return []
    name = clients.COMMANDS_SERVER
    others = [one for one in chosen if client_files.has_other_commands_server(one, root)]
    notes = [OTHER_SERVER_NOTE.format(file=one.file, name=name) for one in others]
    return notes if registry_exists else [*notes, NO_REGISTRY_NOTE]


def _is_ignored(root: Path) -> bool:
    """Return whether git would ignore a new agreement."""
    try:
        name = f"{STATE_FOLDER}/agreements/new.md"
        return git.run(root, "check-ignore", "-q", "--", name) is not None
    except TimeoutError:
        return False


def _can_migrate(root: Path) -> bool:
    """Return whether there may be something to migrate; `migrate` reports unreadable files."""
    from code_intel.cli.migration.plan import plan  # slow to import

    try:
        return bool(plan(root).changes)
    except CodeIntelError:
        return True


def _create_unless_exists(path: Path, root: Path, ours: bytes) -> FileChange:
    """Return the creation of `path`, unless it exists there or in `.code-intel`."""
    before = content(path)
    if before is None and (root / STATE_FOLDER / path.name).exists():
        path = root / STATE_FOLDER / path.name
        before = content(path)
    return FileChange(path, before, ours if before is None else before)


def _hide_derived(path: Path) -> FileChange:
    """Return the change that hides derived files in `.code-intel` from git."""
    before = content(path)
    return FileChange(path, before, ignore_block.with_state_lines(before))


def _merge_ignore(path: Path, settings: Settings) -> FileChange:
    """Return the change that hides the project's databases from git."""
    visible_databases = [path for path in databases(settings) if not is_hidden(settings, path)]
    names = [path.relative_to(settings.root).as_posix() for path in visible_databases]
    before = content(path)
    return FileChange(
        path, before, ignore_block.merged(before, list(map(ignore_block.pattern, names)))
    )
