"""What `init --remove` takes back: only what `init` and the index made, as they made it.

One table says what was made, how one knows that it is ours, and what is told where it stays. Files that git
tracks stay: they are the project's now. While there is something to lose in `.code-intel` (agreements,
sessions, logs, trash, pairs), what this machine remembers of it stays as well, and so does the `.gitignore`
that hides it; else all of it goes.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from code_intel import git, ignored
from code_intel.cli import backup_list, backups, client_files, ignore_block
from code_intel.cli.changes import Change, check_writable, content, databases, pretty
from code_intel.cli.clients import CLIENTS
from code_intel.cli.transaction import Transaction
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, Settings, default_config, load_settings
from code_intel.index.schema import APPLICATION_ID
from code_intel.learned import pairs

BESIDE_DATABASE = ("-wal", "-shm", ".lock", ".indexer.lock", ".indexer.json", ".indexer.damage")
"""What SQLite and the indexer put beside a database. Copies of other origin (`-bak`) are not ours."""
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
"""What this machine remembers about agreements and commands, and its locks; last the one that is held meanwhile."""
PRECIOUS = ("agreements", "sessions", "logs", "trash", backup_list.FOLDER)
"""Folders of `.code-intel` that nothing can rebuild."""
TRACKED = "tracked by git"
_CLIENTS = {client.file: client for client in CLIENTS}
_WHOLE = {
    MAP_CONFIG: pretty(default_config("map")),
    FOREST_CONFIG: pretty(default_config("forest")),
    ignored.FILE: ignored.TEXT,
}
"""What `init` writes whole, by name."""


@dataclass(frozen=True)
class _Project:
    """A project, and what several rows ask about it."""

    settings: Settings
    known: "dict[Made, list[Change]]" = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.settings.root

    @property
    def state(self) -> Path:
        return self.settings.state

    @cached_property
    def forgets(self) -> bool:
        """Whether nothing would be lost."""
        goes = _copies(self, (HIDING._replace(stays=_never), *SHARED))
        return not precious(self.settings, {*goes, *_passing(self)})

    @cached_property
    def databases(self) -> dict[Path, bool]:
        """The files of databases, and whether they are ours."""
        return {
            path.with_name(path.name + suffix): _is_ours(path)
            for path in databases(self.settings)
            for suffix in ("", *BESIDE_DATABASE)
        }


class Made(NamedTuple):
    """A row: something that `init` or the index makes.

    Attributes:
        where: Where it may be.
        left: What is left of a file once ours is out: None of one that is wholly ours, all of one that is not.
        foreign: What is told of one that is not ours.
        stays: Why ours stays nevertheless; empty where it goes.
        is_read: Not what can be built anew, of which no copy is kept.
    """

    where: Callable[[_Project], Iterable[Path]]
    left: Callable[[_Project, Path, bytes], bytes | None]
    foreign: str = ""
    stays: "Callable[[Made, _Project, Path], str]" = lambda *_: ""
    is_read: bool = True


def _unless_edited(_: _Project, path: Path, before: bytes) -> bytes | None:
    return None if before == _WHOLE[path.name] and not path.is_symlink() else before


def _without_block(_: _Project, _path: Path, before: bytes) -> bytes | None:
    return ignore_block.without(before)


def _without_lines(project: _Project, path: Path, before: bytes) -> bytes | None:
    left = _unless_edited(project, path, before)
    return None if left is None else ignore_block.without(left)


def _without_entries(project: _Project, path: Path, before: bytes) -> bytes | None:
    client = _CLIENTS[path.relative_to(project.root).as_posix()]
    return client_files.without(client, path, before)


def _unless_foreign(project: _Project, path: Path, before: bytes) -> bytes | None:
    return None if project.databases[path] else before


def _nothing(*_: object) -> None:
    return None


def _never(*_: object) -> str:
    return ""


def _committed(row: Made, project: _Project, path: Path) -> str:
    """Whether git's newest version has ours in it."""
    real = path.resolve()
    there = git.run(real.parent, "show", f":./{real.name}")
    return TRACKED if there is not None and row.left(project, path, there) != there else ""


def _hides(row: Made, project: _Project, path: Path) -> str:
    return _committed(row, project, path) if project.forgets else "it hides what stays"


def _remembers(_: Made, project: _Project, path: Path) -> str:
    unhidden = path.suffix == ".lock" and not (path.parent / ignored.FILE).exists()
    return "" if project.forgets or unhidden else "goes with what stays"


def _in(folder: Path, names: Iterable[str]) -> list[Path]:
    return [folder / name for name in names]


SETTINGS = Made(
    lambda of: _in(of.root, (MAP_CONFIG, FOREST_CONFIG)), _unless_edited, "changed since"
)
HIDING = Made(lambda of: [of.state / ignored.FILE], _without_lines, "changed since", _hides)
SHARED = (
    Made(lambda of: [of.root / ignored.FILE], _without_block, stays=_committed),
    Made(lambda of: _in(of.root, _CLIENTS), _without_entries, stays=_committed),
)
TABLE = (
    SETTINGS,
    HIDING,
    *SHARED,
    Made(lambda of: _copies(of, (HIDING, *SHARED)), _nothing, is_read=False),
    Made(lambda of: of.databases, _unless_foreign, "not ours", is_read=False),
    Made(lambda of: _in(of.state, MEMORY), _nothing, stays=_remembers, is_read=False),
)
"""All that is taken back, in the order in which it is told."""


def removal(root: Path) -> Transaction:
    """Return what takes `init` back, in the files of every client.

    Raises:
        ConfigError: A file cannot be used, or nobody may write it; nothing has changed.
    """
    project = _Project(load_settings(root))
    changes = [change for row in TABLE for change in _found(project, row)]
    tracked = _tracked(root, [c.path for c in changes if c.action == "remove"])
    told = (
        Change(c.path, c.before, c.before, TRACKED) if c.path in tracked else c for c in changes
    )
    return Transaction(root, backup_list.SETUP, tuple(told))


def _found(project: _Project, row: Made) -> list[Change]:
    """Return what a row comes to, which is looked up once."""
    if row not in project.known:
        project.known[row] = list(_changes(project, row))
    return project.known[row]


def _changes(project: _Project, row: Made) -> Iterator[Change]:
    """Yield what a row of the table comes to in a project: files taken back, and those that stay."""
    for path in row.where(project):
        before = content(path) if row.is_read else b"" if path.is_file() else None
        if before is None:
            continue
        after = row.left(project, path, before)
        why = row.foreign if after == before else row.stays(row, project, path)
        change = Change(path, before, before if why else after, why)
        if not row.is_read:
            yield replace(change, copy="none")
        else:
            needless = after is None or superfluous(project.state, change)
            yield check_writable(
                replace(change, copy="goes" if needless else "stays"), project.root
            )


def _copies(project: _Project, rows: Sequence[Made]) -> list[Path]:
    """Return copies that nobody needs any more, with what was never completed, and what hides them if they are all."""
    folder = project.state / backup_list.FOLDER
    changes = (change for row in rows for change in _found(project, row))
    copies = [copy for change in changes for copy in superfluous(project.state, change)]
    goes, hides = [*copies, *folder.rglob(".*.tmp")], folder / ignored.FILE
    rest = {path for path in folder.rglob("*") if path.is_file()} - {
        *goes,
        *_passing(project),
        hides,
    }
    return goes if rest or not hides.is_file() else [*goes, hides]


def superfluous(state: Path, change: Change) -> list[Path]:
    """Return the copies that say of a file what it says after a change."""
    copies = (state / backup_list.FOLDER).glob("*/")
    kept = (folder / change.path.relative_to(state.parent) for folder in copies)
    return [path for path in kept if change.after is not None and content(path) == change.after]


def _passing(project: _Project) -> list[Path]:
    """Return what goes with runs that were killed, once they are finished."""
    return backups.transient(project.root, backup_list.SETUP)


def precious(settings: Settings, goes: Container[Path] = ()) -> bool:
    """Whether the project has what no index and no agreement can bring back, apart from what `goes`."""
    folders = [settings.agreements, *(settings.state / name for name in PRECIOUS)]
    for folder in folders:
        for parent, _, names in os.walk(folder):
            if any(Path(parent, name) not in goes for name in names):
                return True
    known = pairs.load(settings.state / "learned_pairs.json")
    return bool(known.pairs or known.damage)


def _is_ours(database: Path) -> bool:
    """Whether a database is the index's, or gone from beside what it has left."""
    if not database.is_file():
        return True
    with database.open("rb") as file:
        return file.read(72)[68:] == APPLICATION_ID.to_bytes(4) and not database.is_symlink()


def _tracked(root: Path, paths: list[Path]) -> set[Path]:
    if not paths:
        return set()
    names = [f":(literal){path.relative_to(root).as_posix()}" for path in paths]
    listed = git.run(root, "ls-files", "-z", "--", *names) or b""
    return {root / os.fsdecode(name) for name in listed.split(b"\0") if name}
