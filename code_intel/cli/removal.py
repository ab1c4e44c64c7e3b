"""What `init --remove` takes back: only what `init` and the index made, as they made it.

Files that git tracks stay: they are the project's now. While there is something to lose in
`.code-intel` (agreements, sessions, logs, trash, pairs), what this machine remembers of it stays as
well, and so does the `.gitignore` that hides it; else all of it goes.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from code_intel import git, ignored
from code_intel.cli import backups, client_files, ignore_block
from code_intel.cli.changes import Change, check_writable, content, databases, pretty
from code_intel.cli.clients import CLIENTS
from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    Settings,
    default_config,
    load_settings,
)
from code_intel.index.schema import APPLICATION_ID
from code_intel.learned import pairs

BESIDE_DATABASE = ("-wal", "-shm", ".lock", ".indexer.lock", ".indexer.json", ".indexer.damage")
"""What SQLite and the indexer put beside a database. Copies of other origin (`-bak`) are not ours."""
MEMORY = (
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "learned.lock",
    "learned_pairs.json",
    "learned_pairs.json.lock",
    ".agreements.lock",
    "commands.json",
    "commands.json.lock",
)
"""What this machine remembers about agreements and commands, and its locks."""
HIDES_REST = "it hides what stays"
PRECIOUS = ("agreements", "sessions", "logs", "trash", backups.FOLDER)
"""Folders of `.code-intel` that nothing can rebuild."""


def removal(root: Path) -> list[Change]:
    """Return what takes `init` back, in the files of every client.

    Raises:
        ConfigError: A file cannot be used, or nobody may write it; nothing has changed.
    """
    settings = load_settings(root)
    state = root / STATE_FOLDER
    shared = _shared(root)
    hiding = _taken_out(root, state / ignored.FILE, ignore_block.without)
    copies = _copies(root, [*shared, hiding] if hiding else shared)
    forget = not precious(settings, copies)
    if not forget:
        copies = _copies(root, shared)  # what hides the rest from git stays, and so does its copy
    bare = not (state / ignored.FILE).exists()
    unhidden = [name for name in MEMORY if bare and name.endswith(".lock")]
    found = [
        _as_written(root / MAP_CONFIG, pretty(default_config("map"))),
        _as_written(root / FOREST_CONFIG, pretty(default_config("forest"))),
        hiding
        if hiding and hiding.action == "update" and forget
        else _as_written(state / ignored.FILE, ignored.TEXT, "" if forget else HIDES_REST),
        *shared,
        *(Change(copy, b"", None) for copy in copies),
        *(change for path in databases(settings) for change in _database(path)),
        *(_memory(state / name, forget=forget or name in unhidden) for name in MEMORY),
    ]
    changes = [change for change in found if change is not None]
    tracked = _tracked(root, [c.path for c in changes if c.action == "remove"])
    return [
        Change(c.path, c.before, c.before, "tracked by git") if c.path in tracked else c
        for c in changes
    ]


def _copies(root: Path, shared: Sequence[Change]) -> list[Path]:
    """Return the copies that nobody needs any more, with what hides them if they are all."""
    folder = root / STATE_FOLDER / backups.FOLDER
    copies = [copy for change in shared for copy in superfluous(root, change)]
    hides = folder / ignored.FILE
    rest = {path for path in folder.rglob("*") if path.is_file()} - {*copies, hides}
    return copies if rest or not hides.is_file() else [*copies, hides]


def superfluous(root: Path, change: Change) -> list[Path]:
    """Return the copies of a file that becomes, by this change, what they have kept."""
    if change.action != "update" or change.after is None:
        return []
    copies = (root / STATE_FOLDER / backups.FOLDER).glob("*/")
    kept = (folder / change.path.relative_to(root) for folder in copies)
    return [path for path in kept if content(path) == change.after]


def precious(settings: Settings, goes: Sequence[Path] = ()) -> bool:
    """Whether the project has what no index and no agreement can bring back, apart from what `goes`."""
    folders = [settings.agreements, *(settings.state / name for name in PRECIOUS)]
    for folder in folders:
        for parent, _, names in os.walk(folder):
            if any(Path(parent, name) not in goes for name in names):
                return True
    known = pairs.load(settings.state / "learned_pairs.json")
    return bool(known.pairs or known.damage)


def _as_written(path: Path, ours: bytes, why: str = "") -> Change | None:
    """Remove a file that is as `init` wrote it, unless there is a reason to keep it."""
    before = content(path)
    if before is None:
        return None
    if before != ours or path.is_symlink():
        why = "changed since"
    return Change(path, before, before if why else None, why)


def _shared(root: Path) -> list[Change]:
    """Return what takes our part out of the files that we share with others."""
    ways: list[tuple[Path, Callable[[bytes], bytes | None]]] = [
        (root / ".gitignore", ignore_block.without)
    ]
    ways += [
        (root / client.file, partial(client_files.without, client, root / client.file))
        for client in CLIENTS
    ]
    found = [_taken_out(root, path, without) for path, without in ways]
    return [change for change in found if change is not None]


def _taken_out(root: Path, path: Path, without: Callable[[bytes], bytes | None]) -> Change | None:
    """Take our part out of a file, unless it is in what git tracks."""
    before = content(path)
    if before is None:
        return None
    after = without(before)
    real = path.resolve()
    committed = git.run(real.parent, "show", f":./{real.name}") if after != before else None
    if committed is not None and without(committed) != committed:
        return Change(path, before, before, "tracked by git")
    return check_writable(Change(path, before, after), root)


def _database(path: Path) -> list[Change]:
    """Remove an index database with what is beside it; keep one that is not ours."""
    if not path.is_file():
        ours = True
    else:
        with path.open("rb") as file:
            ours = file.read(72)[68:] == APPLICATION_ID.to_bytes(4) and not path.is_symlink()
    files = [path, *(path.with_name(path.name + suffix) for suffix in BESIDE_DATABASE)]
    kept = b"" if not ours else None  # the content does not matter, only that it is there
    return [Change(file, b"", kept, "" if ours else "not ours") for file in files if file.is_file()]


def _memory(path: Path, *, forget: bool) -> Change | None:
    if not path.is_file():
        return None
    return Change(path, b"", None) if forget else Change(path, b"", b"", "goes with what stays")


def _tracked(root: Path, paths: list[Path]) -> set[Path]:
    if not paths:
        return set()
    names = [f":(literal){path.relative_to(root).as_posix()}" for path in paths]
    listed = git.run(root, "ls-files", "-z", "--", *names) or b""
    return {root / os.fsdecode(name) for name in listed.split(b"\0") if name}
