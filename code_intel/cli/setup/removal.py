"""Plan `init --remove`: take out what `init` and the index wrote, as far as it was not edited.

Files that git tracks stay, since they belong to the project now. If `.code-intel` holds something
that cannot be rebuilt (agreements, sessions, logs, trash, backups, pairs), this machine's memory of
it stays too, and so does the `.gitignore` that hides it.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from code_intel.cli.setup import client_files, ignore_block
from code_intel.cli.setup.changes import FileChange, check_writable, content, databases, pretty
from code_intel.cli.setup.clients import CLIENTS
from code_intel.cli.setup.transaction import BACKUPS, SETUP, Transaction
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, Settings, default_config, load_settings
from code_intel.foundation import git, state_folder
from code_intel.index.schema import APPLICATION_ID
from code_intel.learned.files import pairs

BESIDE_DATABASE = ("-wal", "-shm", ".lock", ".indexer.lock", ".indexer.json", ".indexer.damage")
"""Suffixes of the files that SQLite and the indexer put beside a database."""
MEMORY = (
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "learned_pairs.json",
    "commands.json",
    "learned_pairs.json.lock",
    "commands.json.lock",
    ".agreements.lock",
    "learned.lock",
)
"""Local files about agreements and commands, then locks; the lock of the removal comes last."""
USER_FOLDERS = ("agreements", "sessions", "logs", "trash", BACKUPS)
"""Folders of `.code-intel` that cannot be rebuilt."""
TRACKED = "tracked by git"
EDITED = "edited since"
TakeOut = Callable[[bytes], bytes | None]
"""Returns a file's content without our part; None if nothing else is left."""


def removal(root: Path) -> Transaction:
    """Return the changes that undo `init` for every client.

    Raises:
        ConfigError: A file cannot be changed safely, or is read-only.
    """
    settings = load_settings(root)
    state = settings.state
    configs = _configs(root)
    shared = _shared(root)
    hiding = _part(
        state / state_folder.GITIGNORE_NAME,
        partial(_hiding_without, state / state_folder.GITIGNORE_NAME),
    )
    forgets = not precious(settings, _superfluous(state, [*hiding, *shared]))
    if not forgets:
        hiding = [_kept(change, "it hides what stays") for change in hiding]
    files = [*configs, *hiding, *shared]
    derived = [
        *map(_derived, _superfluous(state, [*hiding, *shared])),
        *_databases(settings),
        *_memory(state, forgets=forgets),
    ]
    changes = [check_writable(change, root) for change in files] + derived
    tracked = _tracked(root, [one.path for one in changes if one.action == "remove"])
    planned = (_kept(each, TRACKED) if each.path in tracked else each for each in changes)
    return Transaction(root, SETUP, tuple(planned), keeps_copies=False)


def precious(settings: Settings, goes: Container[Path] = ()) -> bool:
    """Whether the project has something that cannot be rebuilt, apart from the files in `goes`."""
    for folder in (settings.agreements, *(settings.state / name for name in USER_FOLDERS)):
        for parent, _, names in os.walk(folder):
            if any(Path(parent, name) not in goes for name in names):
                return True
    known = pairs.load(settings.state / "learned_pairs.json")
    return bool(known.pairs or known.damage)


def _configs(root: Path) -> Iterator[FileChange]:
    written = {MAP_CONFIG: default_config("map"), FOREST_CONFIG: default_config("forest")}
    for name, config in written.items():
        path = root / name
        before = content(path)
        if before is not None:
            is_ours = before == pretty(config) and not path.is_symlink()
            yield FileChange(path, before, None if is_ours else before, "" if is_ours else EDITED)


def _shared(root: Path) -> list[FileChange]:
    """Return what becomes of the project's `.gitignore` and of the clients' files."""
    found = _part(root / state_folder.GITIGNORE_NAME, ignore_block.without)
    for client in CLIENTS:
        path = root / client.file
        found += _part(path, partial(client_files.without, client, path))
    return found


def _part(path: Path, without: TakeOut) -> list[FileChange]:
    """Return the change to a file that contains our part; nothing if the file is missing."""
    before = content(path)
    if before is None:
        return []
    change = FileChange(path, before, without(before))
    if change.action != "keep":
        real = path.resolve()
        committed = git.run(real.parent, "show", f":./{real.name}")
        if committed is not None and without(committed) != committed:
            change = _kept(change, TRACKED)
    return [change]


def _hiding_without(path: Path, text: bytes) -> bytes | None:
    """Return `.code-intel/.gitignore` without what `init` wrote."""
    is_ours = text == state_folder.GITIGNORE_TEXT and not path.is_symlink()
    return None if is_ours else ignore_block.without(text)


def _kept(change: FileChange, why: str) -> FileChange:
    return replace(change, after=change.before, why=why)


def _derived(path: Path) -> FileChange:
    return FileChange(path, b"", None, is_derived=True)


def _superfluous(state: Path, changes: Iterable[FileChange]) -> list[Path]:
    """Return the copies that equal their file after its change, and their `.gitignore`."""
    folder = state / BACKUPS
    copies = [
        copy
        for change in changes
        if change.after is not None
        for copy in folder.glob(f"*/{change.path.relative_to(state.parent)}")
        if content(copy) == change.after
    ]
    hides = folder / state_folder.GITIGNORE_NAME
    rest = {path for path in folder.rglob("*") if path.is_file()} - {*copies, hides}
    return [*copies, hides] if hides.is_file() and not rest else copies


def _databases(settings: Settings) -> Iterator[FileChange]:
    for database in databases(settings):
        is_ours = _is_ours(database)
        for suffix in ("", *BESIDE_DATABASE):
            path = database.with_name(database.name + suffix)
            if path.is_file():
                yield _derived(path) if is_ours else _kept(_derived(path), "not ours")


def _is_ours(database: Path) -> bool:
    """Whether a database, if it is still there, is one of the index."""
    if not database.is_file():
        return True
    with database.open("rb") as file:
        return file.read(72)[68:] == APPLICATION_ID.to_bytes(4) and not database.is_symlink()


def _memory(state: Path, *, forgets: bool) -> Iterator[FileChange]:
    for path in (state / name for name in MEMORY):
        if path.is_file():
            unhidden_lock = (
                path.suffix == ".lock" and not (state / state_folder.GITIGNORE_NAME).exists()
            )
            goes = forgets or unhidden_lock
            yield _derived(path) if goes else _kept(_derived(path), "belongs to what stays")


def _tracked(root: Path, paths: Sequence[Path]) -> set[Path]:
    if not paths:
        return set()
    names = [f":(literal){path.relative_to(root).as_posix()}" for path in paths]
    listed = git.run(root, "ls-files", "-z", "--", *names) or b""
    return {root / os.fsdecode(name) for name in listed.split(b"\0") if name}
