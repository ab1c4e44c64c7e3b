"""Plan `init --remove`: remove what `init` and the indexes wrote, unless it was edited since.

Files that git tracks are kept, since they belong to the project now. If `.code-intel` contains
files that cannot be rebuilt (agreements, sessions, logs, trash, backups, pairs), the local files
about them are kept too, and so is the `.gitignore` that hides them.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from code_intel.cli.setup import (
    client_files,
    hook_files,
    ignore_block,
    instructions,
    shared_setup,
)
from code_intel.cli.setup.changes import FileChange, check_writable, content, databases, to_json
from code_intel.cli.setup.clients import CLIENTS, Client
from code_intel.cli.setup.map_setup import CONFIG_FILE, is_own_map_config, is_own_settings
from code_intel.cli.setup.transaction import BACKUPS, SETUP, Transaction
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, Settings, default_config, load_settings
from code_intel.errors import ConfigError
from code_intel.foundation import git, state_folder
from code_intel.index.schema import APPLICATION_ID
from code_intel.learned.files import pairs

BESIDE_DATABASE = (
    *("-wal", "-shm", ".lock"),
    *(".indexer.lock", ".indexer.json", ".indexer.damage", ".indexer.checked"),
)
"""Suffixes of the files that SQLite and the indexer create beside a database."""
MEMORY_FILES = (
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "learned_pairs.json",
    "commands.json",
    "proposals.json",
    "learned_pairs.json.lock",
    "commands.json.lock",
    ".agreements.lock",
    "learned.lock",
)
"""Local files about agreements and commands, then locks; the removal's own lock is last."""
HOOK_FILES = ("hooks.lock", "logs/hook_failures*")
"""Patterns of the files that hooks write: a lock and a log of failures."""
USER_FOLDERS = ("agreements", "sessions", "logs", "trash", BACKUPS)
"""Folders of `.code-intel` that cannot be rebuilt."""
TRACKED = "tracked by git"
EDITED = "edited since"
RemovePart = Callable[[bytes], bytes | None]
"""Returns a file's content without our part, or None if nothing else is left."""


def removal(root: Path) -> Transaction:
    """Return the changes that undo `init` for every client.

    Raises:
        ConfigError: A file cannot be changed safely, or is read-only.
    """
    settings = load_settings(root)
    state = settings.state
    configs = _configs(root)
    parts = _shared_parts(root)
    shared = [change for path, part in parts.items() for change in _part_removed(path, part)]
    gitignore = state / state_folder.GITIGNORE_NAME
    parts[gitignore] = partial(_hiding_without, gitignore)
    state_gitignore = _part_removed(gitignore, parts[gitignore])
    copies = _redundant_copies(state, [*state_gitignore, *shared], parts)
    of_hooks = [path for pattern in HOOK_FILES for path in state.glob(pattern)]
    removes_memory = not has_irreplaceable_files(settings, [*copies, *of_hooks])
    if not removes_memory:
        state_gitignore = [_keep(change, "it hides kept files") for change in state_gitignore]
    files = [*configs, *state_gitignore, *shared]
    derived = [
        *map(_remove_derived, _redundant_copies(state, [*state_gitignore, *shared], parts)),
        *map(_remove_derived, of_hooks),
        *_databases(settings),
        *_memory(state, removes_memory=removes_memory),
    ]
    changes = [check_writable(change, root) for change in files] + derived
    tracked = _tracked(root, [one.path for one in changes if one.action == "remove"])
    planned = (_keep(each, TRACKED) if each.path in tracked else each for each in changes)
    return Transaction(root, SETUP, tuple(planned), keeps_copies=False)


def has_irreplaceable_files(settings: Settings, removed: Container[Path] = ()) -> bool:
    """Return whether the project has files that cannot be rebuilt, except those in `removed`."""
    for folder in (settings.agreements, *(settings.state / name for name in USER_FOLDERS)):
        for parent, _, names in os.walk(folder):
            if any(Path(parent, name) not in removed for name in names):
                return True
    known = pairs.load(settings.state / "learned_pairs.json")
    return bool(known.pairs or known.damage)


def _configs(root: Path) -> Iterator[FileChange]:
    written: dict[str, Callable[[bytes], bool]] = {
        MAP_CONFIG: partial(is_own_map_config, root),
        FOREST_CONFIG: to_json(default_config("forest")).__eq__,
        CONFIG_FILE: is_own_settings,
    }
    for name, is_own in written.items():
        path = root / name
        before = content(path)
        if before is not None:
            is_ours = is_own(before) and not path.is_symlink()
            change = FileChange(
                path, before, None if is_ours else before, "" if is_ours else EDITED
            )
            yield _without_shared(change) if name == CONFIG_FILE else change


def _without_shared(change: FileChange) -> FileChange:
    """Return the change of `config.toml`, without the table of the shared index if it stays."""
    before = change.before or b""
    rest = shared_setup.removed(before)
    if rest == before or change.path.is_symlink():
        return change
    committed = git.run(change.path.parent, "show", f":./{change.path.name}")
    if committed is not None and shared_setup.removed(committed) != committed:
        return _keep(change, TRACKED)
    return replace(change, after=rest, why="")


def _shared_parts(root: Path) -> dict[Path, RemovePart]:
    """Return how to remove our part of `.gitignore`, the clients' files and instructions."""
    parts: dict[Path, RemovePart] = {root / state_folder.GITIGNORE_NAME: ignore_block.removed}
    for client in CLIENTS:
        path = root / client.file
        parts[path] = partial(_servers_removed, client, path)
        if client.hooks and client.hooks.file != client.file:
            path = root / client.hooks.file
            parts[path] = partial(hook_files.removed, client.hooks, path)
    return parts | dict.fromkeys(
        instructions.files_with_section(root), instructions.without_section
    )


def _servers_removed(client: Client, path: Path, before: bytes) -> bytes | None:
    """Return a client's file without our servers, and without our hooks if they are in it."""
    if client.hooks and client.hooks.file == client.file:
        left = hook_files.removed(client.hooks, path, before)
        return left if left is None else client_files.removed(client, path, left)
    return client_files.removed(client, path, before)


def _part_removed(path: Path, remove_part: RemovePart) -> list[FileChange]:
    """Return the change of a file that may contain our part, or nothing if it is missing."""
    before = content(path)
    if before is None:
        return []
    change = FileChange(path, before, remove_part(before))
    if change.action != "keep":
        real = path.resolve()
        committed = git.run(real.parent, "show", f":./{real.name}")
        if committed is not None and remove_part(committed) != committed:
            change = _keep(change, TRACKED)
    return [change]


def _hiding_without(path: Path, text: bytes) -> bytes | None:
    """Return `.code-intel/.gitignore` without what `init` wrote."""
    is_ours = text == state_folder.GITIGNORE_TEXT and not path.is_symlink()
    return None if is_ours else ignore_block.removed(text)


def _keep(change: FileChange, why: str) -> FileChange:
    return replace(change, after=change.before, why=why)


def _remove_derived(path: Path) -> FileChange:
    return FileChange(path, b"", None, is_derived=True)


def _redundant_copies(
    state: Path, changes: Iterable[FileChange], parts: Mapping[Path, RemovePart]
) -> list[Path]:
    """Return copies that differ from the changed files only in our part.

    If no other copies are left, their `.gitignore` is included.
    """
    folder = state / BACKUPS
    copies = [
        copy
        for change in changes
        for copy in folder.glob(f"*/{change.path.relative_to(state.parent)}")
        if _is_same(content(copy), change.after, parts[change.path])
    ]
    gitignore = folder / state_folder.GITIGNORE_NAME
    rest = {path for path in folder.rglob("*") if path.is_file()} - {*copies, gitignore}
    return [*copies, gitignore] if gitignore.is_file() and not rest else copies


def _is_same(one: bytes | None, other: bytes | None, remove_part: RemovePart) -> bool:
    """Return whether two contents are equal without our part."""
    try:
        left, right = (None if each is None else remove_part(each) for each in (one, other))
    except ConfigError:
        return one == other
    return left == right


def _databases(settings: Settings) -> Iterator[FileChange]:
    for database in databases(settings):
        is_ours = _is_ours(database)
        for suffix in ("", *BESIDE_DATABASE):
            path = database.with_name(database.name + suffix)
            if path.is_file():
                change = _remove_derived(path)
                yield change if is_ours else _keep(change, "not created by code-intel")


def _is_ours(database: Path) -> bool:
    """Return whether a database is missing or belongs to an index."""
    if not database.is_file():
        return True
    with database.open("rb") as file:
        return file.read(72)[68:] == APPLICATION_ID.to_bytes(4) and not database.is_symlink()


def _memory(state: Path, *, removes_memory: bool) -> Iterator[FileChange]:
    for path in (state / name for name in MEMORY_FILES):
        if path.is_file():
            unhidden_lock = (
                path.suffix == ".lock" and not (state / state_folder.GITIGNORE_NAME).exists()
            )
            is_removed = removes_memory or unhidden_lock
            change = _remove_derived(path)
            yield change if is_removed else _keep(change, "belongs to kept files")


def _tracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    if not paths:
        return set()
    names = [f":(literal){path.relative_to(root).as_posix()}" for path in paths]
    listed = git.run(root, "ls-files", "-z", "--", *names) or b""
    return {root / os.fsdecode(name) for name in listed.split(b"\0") if name}
