"""`.code-intel/backup/<time>`: what a migration replaces, and the list that finishes it or takes it back.

The list is written before anything changes, so it is also what a run that was killed left behind: the next
one goes on with the same folder, and what there was before the first stays kept (docs/decisions/0035).
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from code_intel import durable, ignored
from code_intel.cli import backups
from code_intel.cli.changes import Change
from code_intel.cli.migration.notes import content, name_in
from code_intel.config import STATE_FOLDER, load_settings
from code_intel.errors import StorageError

LIST = "migration.json"
COPIES = "files"


@dataclass(frozen=True, slots=True)
class Record:
    """A file that changes: its name in the project, and digests; `before` is empty where there was none."""

    file: str
    before: str
    after: str

    @property
    def undone(self) -> str:
        """What taking it back does, in one word."""
        return "restore" if self.before else "remove"


@dataclass(frozen=True, slots=True)
class Backup:
    """A run's folder, whether the run was completed, and what it changes."""

    folder: Path
    finished: bool
    records: tuple[Record, ...]

    def copy_of(self, record: Record) -> Path:
        """Return where the copy of a replaced file is."""
        return self.folder / COPIES / record.file


def found(root: Path) -> list[Backup]:
    """Return the backups of a project, oldest first.

    Raises:
        StorageError: The list of one cannot be read.
    """
    places = sorted((root / STATE_FOLDER / backups.FOLDER).glob(f"*/{LIST}"))
    return [_read(path) for path in places]


def unfinished(root: Path) -> Backup | None:
    """Return the backup of a run that was killed, if there is one."""
    return next((one for one in found(root) if not one.finished), None)


def planned(root: Path, changes: Iterable[Change], now: datetime) -> Backup:
    """Return the backup that some changes need: that of the run which was killed, else a new one."""
    backup = unfinished(root) or Backup(
        backups.free(root / STATE_FOLDER / backups.FOLDER, now), finished=False, records=()
    )
    records = {record.file: record for record in backup.records}
    for change in changes:
        new = _record(root, change)
        old = records.get(new.file, new)
        # Changed by the run that was killed: what there was before that counts.
        records[new.file] = replace(new, before=old.before) if new.before == old.after else new
    return replace(backup, records=tuple(records.values()))


def keep(root: Path, backup: Backup) -> None:
    """Write down what is about to change, and copy what is about to be replaced.

    Raises:
        StorageError: The disk refused; nothing has changed.
    """
    backups.made(root / STATE_FOLDER)
    write(backup)
    for record in backup.records:
        copy, path = backup.copy_of(record), root / record.file
        if record.before and digest(content(copy)) != record.before:
            durable.remove(copy)  # somebody has edited the file since a run that was killed
            durable.create(copy, content(path) or b"", path.stat().st_mode & 0o7777)


def write(backup: Backup) -> None:
    """Write the list.

    Raises:
        StorageError: The disk refused.
    """
    document = {
        "version": 1,
        "finished": backup.finished,
        "files": [asdict(record) for record in backup.records],
    }
    data = f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode(
        "utf-8", "surrogateescape"
    )
    durable.replace(backup.folder / LIST, data)


def undoing(root: Path, backup: Backup) -> tuple[list[Record], list[Record]]:
    """Return what taking a run back puts back, last things first, and what was changed since and stays."""
    back, left = [], []
    for record in reversed(backup.records):
        now = digest(content(root / record.file))
        if now == record.after:
            back.append(record)
        elif now != record.before:
            left.append(record)
    return back, left


def undo(root: Path, backup: Backup) -> None:
    """Put back what nobody has changed since; the backup goes when nothing was left.

    Raises:
        StorageError: The disk refused; do it again.
    """
    back, left = undoing(root, backup)
    last = {(root / record.file).parent: record for record in back}
    for record in back:
        path = root / record.file
        if record.before:
            durable.replace(path.resolve(), _kept(backup, record))
        else:
            durable.remove(path, flushed=record is last[path.parent])
    made = {(root / record.file).parent for record in backup.records if not record.before}
    for folder in sorted(made - {root}, reverse=True):
        if not any(folder.glob("*")):
            durable.remove_folder(folder)
    if not left:
        forget(backup)


def forget(backup: Backup) -> None:
    """Take a backup away that nobody needs any more; its list goes last, what hides it from git before."""
    for record in backup.records:
        durable.remove(backup.copy_of(record))
    for folder in sorted(
        {backup.copy_of(record).parent for record in backup.records}, reverse=True
    ):
        for place in (folder, *folder.parents):
            if place.is_relative_to(backup.folder) and place != backup.folder:
                durable.remove_folder(place)
    above = backup.folder.parent
    if {path.name for path in above.glob("*")} <= {backup.folder.name, ignored.FILE}:
        durable.remove(above / ignored.FILE)
    durable.remove(backup.folder / LIST)
    durable.remove_folder(backup.folder)
    durable.remove_folder(above)


def digest(data: bytes | None) -> str:
    """Return the hex SHA-256 of a file's bytes, empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _record(root: Path, change: Change) -> Record:
    return Record(name_in(root, change.path), digest(change.before), digest(change.after))


def _kept(backup: Backup, record: Record) -> bytes:
    data = content(backup.copy_of(record))
    if data is None or digest(data) != record.before:
        raise StorageError(
            f"{backup.copy_of(record)} is not the copy that was made.",
            hint=f"{record.file} stays as it is; git may know what it was.",
        )
    return data


def _read(path: Path) -> Backup:
    """Return the backup that a list speaks of; a repository may carry one, which nobody here has written.

    Raises:
        StorageError: It is no list, or speaks of files that no migration changes.
    """
    root = path.parents[3]
    try:
        document = json.loads((content(path) or b"").decode("utf-8", "surrogateescape"))
        records = tuple(Record(**item) for item in document["files"])
        agreements = load_settings(root).agreements
        for record in records:
            _require_place(record, root, agreements)
        return Backup(path.parent, bool(document["finished"]), records)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(
            f"{path} is no list of a migration: {error}.", hint="Move its folder away."
        ) from error


def _require_place(record: Record, root: Path, agreements: Path) -> None:
    """Refuse what no migration changes: it makes agreements, and writes files of the project and its state folder.

    Raises:
        ValueError: It is something else, or a link leads there.
    """
    file = root / record.file
    real = Path(os.path.realpath(file))
    ours = real.is_relative_to(root) and ".git" not in real.relative_to(root).parts
    made = not record.before and file.suffix == ".md" and real.parent == agreements.resolve()
    if not made and not (ours and file.parent in {root, root / STATE_FOLDER}):
        raise ValueError(f"{record.file} is no file that one changes")
