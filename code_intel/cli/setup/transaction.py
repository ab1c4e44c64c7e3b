"""Change several files of a project: all of them, or none.

A run writes a list of its changes and copies of the files that it replaces to
`.code-intel/backup/<time>`, then changes one file after another. If a write fails, or if another
program changes one of the files meanwhile, the run restores the copies. If the process is killed,
the next run restores them first (docs/decisions/0048).
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from code_intel.cli.output import Advance
from code_intel.cli.setup.changes import FileChange, check_inside, current, is_inside, name_in
from code_intel.config import STATE_FOLDER, load_settings
from code_intel.errors import BusyError, StorageError
from code_intel.foundation import durable, state_folder
from code_intel.learned.files import changes

BACKUPS = "backup"
"""The folder of all backups; git ignores it, since client settings may contain secrets."""


class TransactionKind(NamedTuple):
    """A command: the names of its list and of its folder of copies, and whether it has an undo."""

    list_name: str
    copies: str
    can_undo: bool


SETUP = TransactionKind("init.json", "", can_undo=False)
MIGRATION = TransactionKind("migration.json", "files", can_undo=True)


@dataclass(frozen=True, slots=True)
class Transaction:
    """The changes to make in a project.

    Attributes:
        root: The project.
        kind: The command.
        changes: The changes, in order.
        folders: Folders that must exist afterwards.
        keeps_copies: Whether copies of updated files stay after the run.
    """

    root: Path
    kind: TransactionKind
    changes: tuple[FileChange, ...]
    folders: tuple[Path, ...] = ()
    keeps_copies: bool = True

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        kept = all(change.action == "keep" for change in self.changes)
        return kept and all(folder.is_dir() for folder in self.folders)


class Record(NamedTuple):
    """A changed file: its name, and its SHA-256 before and after; empty if there is no file."""

    file: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TransactionRun:
    """A run as its list describes it.

    Attributes:
        root: The project.
        kind: The command.
        folder: The folder of the list and the copies.
        records: The files that it changes.
        folders: The folders that it creates, relative to the project.
        keeps_copies: See `Transaction`.
        finished: Whether all changes were made.
    """

    root: Path
    kind: TransactionKind
    folder: Path
    records: tuple[Record, ...] = ()
    folders: tuple[str, ...] = ()
    keeps_copies: bool = True
    finished: bool = False

    @property
    def has_copies(self) -> bool:
        """Whether the folder stays after the run."""
        return self.kind.can_undo or any(map(self._keeps, self.records))

    def copy_of(self, record: Record) -> Path:
        """Return the path of the copy of a replaced file."""
        return self.folder / self.kind.copies / record.file

    def compare(self) -> tuple[list[Record], list[Record]]:
        """Return what `restore` would undo, latest first, and the files edited since the run."""
        undo: list[Record] = []
        edited: list[Record] = []
        for record in reversed(self.records):
            now = _digest(current(self.root / record.file))
            if now != record.before:
                (undo if now == record.after else edited).append(record)
        return undo, edited

    def restore(self) -> None:
        """Undo the run, except in files that were edited since; keep their copies.

        Raises:
            StorageError: A file could not be restored; call it again.
        """
        undo, edited = self.compare()
        last = {(self.root / record.file).parent: record for record in undo}
        for record in undo:
            path = Path(os.path.realpath(self.root / record.file))
            if not record.before:
                durable.remove(path, flushed=record is last[(self.root / record.file).parent])
            elif path.exists():
                durable.replace(path, self._copied(record))
            else:
                mode = self.copy_of(record).stat().st_mode & 0o7777
                durable.create(path, self._copied(record), mode)
        for name in sorted(self.folders, reverse=True):
            durable.remove_folder(self.root / name)
        if not (edited and self.kind.can_undo):
            self._remove_copies(record for record in self.records if record not in edited)

    def write(self) -> None:
        """Write the list, then copy the files that will be replaced.

        Raises:
            StorageError: A file could not be written.
        """
        if not (gitignore := self.folder.parent / state_folder.GITIGNORE_NAME).exists():
            durable.replace(gitignore, b"*\n")
        self.write_list()
        for record in self.records:
            path = self.root / record.file
            data = current(path)
            if data is not None and _digest(data) == record.before:
                durable.create(self.copy_of(record), data, path.stat().st_mode & 0o7777)

    def write_list(self) -> None:
        """Write the list.

        Raises:
            StorageError: A file could not be written.
        """
        document = {
            "version": 1,
            "finished": self.finished,
            "keeps_copies": self.keeps_copies,
            "folders": self.folders,
            "files": [record._asdict() for record in self.records],
        }
        text = f"{json.dumps(document, ensure_ascii=False, indent=1)}\n"
        durable.replace(self._list, text.encode("utf-8", "surrogateescape"))

    def remove_unneeded(self) -> None:
        """Remove the list and the copies that are not needed after the run.

        Raises:
            StorageError: A file could not be removed; call it again.
        """
        if not self.kind.can_undo:
            self._remove_copies(record for record in self.records if not self._keeps(record))

    @property
    def _list(self) -> Path:
        return self.folder / self.kind.list_name

    def _keeps(self, record: Record) -> bool:
        return self.keeps_copies and bool(record.before and record.after)

    def _copied(self, record: Record) -> bytes:
        data = current(self.copy_of(record))
        if data is None or _digest(data) != record.before:
            raise StorageError(
                f"{record.file} cannot be restored: {self.copy_of(record)} is missing or changed.",
                hint=f"Check {record.file}, with git if you can, then delete {self.folder}.",
            )
        return data

    def _remove_copies(self, records: Iterable[Record]) -> None:
        """Remove copies, the list, and folders that are then empty."""
        for record in records:
            if record.before:
                durable.remove(self.copy_of(record))
        backups = self.folder.parent
        gitignore = backups / state_folder.GITIGNORE_NAME
        if {path for path in backups.rglob("*") if path.is_file()} <= {gitignore, self._list}:
            durable.remove(gitignore)
        durable.remove(self._list)
        _sweep(backups)


def find_runs(root: Path, kind: TransactionKind) -> list[TransactionRun]:
    """Return the runs of a command that have a list, oldest first.

    Raises:
        StorageError: A list cannot be read, or names files outside the project.
    """
    lists = sorted((root / STATE_FOLDER / BACKUPS).glob(f"*/{kind.list_name}"))
    return [_read(root, kind, path) for path in lists]


def interrupted(root: Path, kind: TransactionKind) -> TransactionRun | None:
    """Return the run that was killed before it finished, if there is one."""
    return next((run for run in find_runs(root, kind) if not run.finished), None)


def recover(root: Path, kind: TransactionKind) -> None:
    """Undo the changes of a run that was killed.

    Raises:
        BusyError: Another process holds the lock.
        StorageError: A file could not be restored.
    """
    backups = root / STATE_FOLDER / BACKUPS
    interrupted_write = any(backups.rglob(".*.tmp"))
    if not interrupted_write and not any(map(_needs_recovery, find_runs(root, kind))):
        return
    with locked(root):
        _sweep(backups)
        for run in filter(_needs_recovery, reversed(find_runs(root, kind))):
            for folder in {(root / record.file).parent for record in run.records}:
                durable.sweep(folder, seconds=0)
            run.remove_unneeded() if run.finished else run.restore()


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let one process at a time change a project's set-up; then remove a new lock file.

    Raises:
        BusyError: Another process holds the lock.
        StorageError: The lock cannot be created.
    """
    settings = load_settings(root)
    state, lock = settings.state, changes.lock_path(settings)
    is_new, lock_is_new = not state.exists(), not lock.exists()
    try:
        with changes.locked(settings):
            try:
                yield
            finally:
                with suppress(StorageError):
                    if is_new and not {*state.glob("*")} - {
                        lock,
                        state / state_folder.GITIGNORE_NAME,
                    }:
                        durable.remove(state / state_folder.GITIGNORE_NAME)
                    if lock_is_new:
                        durable.remove(lock)
    finally:
        with suppress(StorageError):
            if is_new:
                durable.remove_folder(state)  # only if it is empty


def apply(
    work: Transaction, *, now: datetime | None = None, advance: Advance | None = None
) -> TransactionRun | None:
    """Make the changes, derived files last; return the run, or None if none was needed.

    Args:
        work: What to do; the caller holds the lock.
        now: The time that names the backup.
        advance: Receives the number of changes made so far.

    Raises:
        BusyError: A file changed since the plan was made; everything else was restored.
        StorageError: A file could not be written; everything was restored, as far as possible.
    """
    _sweep(work.root / STATE_FOLDER / BACKUPS)
    todo = _pending(work.changes)
    run = _new_run(work, todo, now or datetime.now(UTC))
    has_changes = bool(run.records or run.folders)
    if has_changes:
        try:
            run.write()
            for folder in work.folders:
                durable.make_folder(folder)
            _apply_changes(todo, advance)
            replace(run, finished=True).write_list()
        except BaseException:
            with suppress(StorageError):
                run.restore()
            raise
        with suppress(StorageError):  # the next run tries again
            run.remove_unneeded()
    for change in work.changes:
        if change.is_derived and change.action == "remove":
            durable.remove(change.path)
    return run if has_changes else None


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a killed run, and folders that are then empty."""
    for inner in (*sorted(folder.rglob("*/"), reverse=True), folder):
        durable.sweep(inner, seconds=0)
        durable.remove_folder(inner)


def _needs_recovery(run: TransactionRun) -> bool:
    return not (run.finished and run.kind.can_undo)


def _new_run(work: Transaction, todo: Sequence[FileChange], now: datetime) -> TransactionRun:
    root, backups = work.root, work.root / STATE_FOLDER / BACKUPS
    check_inside(FileChange(backups / state_folder.GITIGNORE_NAME, None, b""), root)
    folder, number = backups / f"{now:%Y%m%dT%H%M%SZ}", 1
    while folder.exists():
        number += 1
        folder = backups / f"{now:%Y%m%dT%H%M%SZ}-{number}"
    needed = [*work.folders, *(change.path.parent for change in todo)]
    parents = {p for one in needed for p in (one, *one.parents) if p == one or root in p.parents}
    return TransactionRun(
        root,
        work.kind,
        folder,
        tuple(Record(name_in(root, c.path), _digest(c.before), _digest(c.after)) for c in todo),
        tuple(sorted(name_in(root, one) for one in parents if not one.exists())),
        work.keeps_copies,
    )


def _pending(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return the changes that still have to be made."""
    pending = []
    for change in changes:
        if change.action != "keep" and not change.is_derived:
            now = current(change.path)
            if now != change.after:
                _require_unchanged(change, now)
                pending.append(change)
    return pending


def _create(change: FileChange, path: Path, *, flushed: bool) -> None:
    try:
        durable.create(path, change.after or b"", flushed=flushed)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            _require_unchanged(change, b"")
        raise


def _require_unchanged(change: FileChange, now: bytes | None) -> None:
    if now != change.before:
        raise BusyError(
            f"Another program changed {change.path} just now; it was not replaced.",
            hint="Run the command again. Nothing was changed.",
        )


def _apply_changes(changes: Sequence[FileChange], advance: Advance | None) -> None:
    """Make the changes, following links; flush each folder after the last change in it."""
    last = {change.path.parent: change for change in changes}
    for number, change in enumerate(changes, 1):
        flushed = change is last[change.path.parent]
        path = Path(os.path.realpath(change.path))
        _require_unchanged(change, current(path))
        if change.before is None:
            _create(change, path, flushed=flushed)
        elif change.after is None:
            durable.remove(path, flushed=flushed)
        else:
            durable.replace(path, change.after, flushed=flushed)
        if advance:
            advance(number, len(changes), "files")


def _read(root: Path, kind: TransactionKind, path: Path) -> TransactionRun:
    """Return the run that a list describes. A repository may contain a forged list.

    Raises:
        StorageError: It is not a list, or names files outside the project.
    """
    try:
        document = json.loads((current(path) or b"").decode("utf-8", "surrogateescape"))
        records = [Record(one["file"], one["before"], one["after"]) for one in document["files"]]
        folders = tuple(map(str, document.get("folders", ())))
        keeps = bool(document.get("keeps_copies", True))
        run = TransactionRun(
            root, kind, path.parent, (*records,), folders, keeps, bool(document["finished"])
        )
        _check_inside(run)
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise StorageError(
            f"{path} is not a list of changes: {error}.", hint="Move its folder away."
        ) from error
    return run


def _check_inside(run: TransactionRun) -> None:
    """Reject a list that names files outside the project, except new agreements.

    Raises:
        ValueError: A file or folder is outside the project.
    """
    agreements = load_settings(run.root).agreements.resolve()
    for record in run.records:
        file, name = run.root / record.file, Path(record.file)
        is_agreement = file.suffix == ".md" and file.resolve().parent == agreements
        is_plain = not name.is_absolute() and ".." not in name.parts
        if not (is_plain and is_inside(file, run.root)) and (record.before or not is_agreement):
            raise ValueError(f"{record.file} is outside the project")
    for folder in run.folders:
        place = run.root / folder
        if not is_inside(place, run.root) and place.resolve() != agreements:
            raise ValueError(f"{folder} is outside the project")


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()
