"""`.code-intel/backup/<time>`: copies of what several changes replace, and how they are completed or taken back.

Copies are made before anything changes, and whoever comes after a run that was killed goes on with its folder:
what there was before the first stays kept (docs/decisions/0035, 0048). Git never carries them: a client's
settings may hold secrets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from code_intel import durable, ignored
from code_intel.cli.backup_list import (
    FOLDER,
    Backup,
    Kind,
    Record,
    digest,
    found,
    unfinished,
    write,
)
from code_intel.cli.changes import Change, check_inside, current, name_in
from code_intel.config import STATE_FOLDER
from code_intel.errors import StorageError


def planned(
    root: Path, kind: Kind, changes: Iterable[Change], folders: Iterable[Path], now: datetime
) -> Backup:
    """Return the backup that some changes need: that of the run which was killed, else a new one."""
    above = root / STATE_FOLDER / FOLDER
    check_inside(Change(above / ignored.FILE, None, b""), root)
    backup = unfinished(root, kind) or Backup(kind, _free(above, now))
    records = {record.file: _begun(root, record) for record in backup.records}
    changes = list(changes)
    for change in changes:
        new = _record(root, change)
        old = records.get(new.file, new)
        records[new.file] = _gone_on(old, new) if new.before in (*old.between, old.after) else new
    wanted = [*folders, *(change.path.parent for change in changes)]
    ours = {p for f in wanted for p in (f, *f.parents) if p == f or p.is_relative_to(root)}
    missing = [folder for folder in ours if not folder.exists()]
    made = [*backup.folders, *sorted(name_in(root, folder) for folder in missing)]
    return replace(backup, records=tuple(records.values()), folders=tuple(dict.fromkeys(made)))


def sweep(root: Path, kind: Kind) -> None:
    """Take away what processes that died have begun to write; the caller is the only one at it.

    Raises:
        StorageError: The disk refused.
    """
    above, run = root / STATE_FOLDER / FOLDER, unfinished(root, kind)
    files = {root / record.file for record in run.records} if run else set()
    torn = [tmp for folder in {path.parent for path in files} for tmp in folder.glob(".*.tmp")]
    names = {(path.parent, path.name[:40]) for path in files}
    for file in (*above.rglob(".*.tmp"), *torn):
        if file.is_relative_to(above) or (file.parent, file.name[1:].rsplit(".", 2)[0]) in names:
            durable.remove(file, flushed=False)
    for folder in sorted((path for path in above.rglob("*") if path.is_dir()), reverse=True):
        durable.remove_folder(folder)  # if it is empty


def keep(root: Path, backup: Backup) -> None:
    """Write down what is about to change, and copy what is about to be replaced.

    Raises:
        StorageError: The disk refused; nothing has changed.
    """
    if not (hides := backup.folder.parent / ignored.FILE).exists():
        durable.replace(hides, b"*\n")  # git leaves copies alone whatever else it is told
    write(backup)
    for record in backup.records:
        copy, path = backup.copy_of(record), root / record.file
        if record.before and digest(current(copy)) != record.before:
            durable.remove(copy)  # somebody has edited the file since a run that was killed
            data = current(path)
            if data is not None and digest(data) == record.before:
                durable.create(copy, data, path.stat().st_mode & 0o7777)


def finish(backup: Backup) -> Backup:
    """Note that all is done: from now on nothing is taken back.

    Raises:
        StorageError: The disk refused.
    """
    done = replace(backup, finished=True)
    write(done)
    return done


def tidy(root: Path, backup: Backup) -> None:
    """Take away of a completed run what nobody takes back: its list, copies and folders that served it alone.

    Raises:
        StorageError: The disk refused; do it again.
    """
    if backup.kind.lasts:
        return
    made = {root / name for name in backup.folders}
    for record in backup.records:
        folder = (root / record.file).parent
        if not (root / record.file).exists() and (folder in made or not record.after):
            durable.remove_folder(folder)  # if it is empty
    _drop(backup, [record for record in backup.records if not record.stays])


def undoing(root: Path, backup: Backup) -> tuple[list[Record], list[Record]]:
    """Return what taking a run back puts back, last things first, and what was changed since and stays."""
    back: list[Record] = []
    left: list[Record] = []
    for record in reversed(backup.records):
        now = digest(current(root / record.file))
        if now == record.before:
            continue
        (back if now in {record.after, *record.between} else left).append(record)
    return back, left


def undo(root: Path, backup: Backup) -> None:
    """Put back what nobody has changed since; the backup goes when nothing was left.

    Raises:
        StorageError: The disk refused; do it again.
    """
    back, left = undoing(root, backup)
    last = {(root / record.file).parent: record for record in back}
    for record in back:
        path = (root / record.file).resolve()
        if not record.before:
            durable.remove(path, flushed=record is last[(root / record.file).parent])
        elif path.exists():
            durable.replace(path, kept(backup, record))
        else:
            mode = backup.copy_of(record).stat().st_mode & 0o7777
            durable.create(path, kept(backup, record), mode)
    for name in sorted(backup.folders, reverse=True):
        durable.remove_folder(root / name)
    if not (left and backup.kind.lasts):
        _drop(backup, [record for record in backup.records if record not in left])


def kept(backup: Backup, record: Record) -> bytes:
    """Return what a file was before.

    Raises:
        StorageError: Nobody has it any more.
    """
    data = current(backup.copy_of(record))
    if data is None or digest(data) != record.before:
        raise StorageError(
            f"{backup.copy_of(record)} is not the copy that was made.",
            hint=f"{record.file} stays as it is; git may know what it was.",
        )
    return data


def transient(root: Path, kind: Kind) -> list[Path]:
    """Return the files of runs, begun or completed, that go when these are finished."""
    runs = [] if kind.lasts else found(root, kind)
    records = [(one, r if one.finished else _begun(root, r)) for one in runs for r in one.records]
    copies = [one.copy_of(record) for one, record in records if not record.stays]
    return [*(one.list for one in runs), *copies]


def _free(folder: Path, now: datetime) -> Path:
    """Return a folder below, named by the time, with nothing in it but what a process that died has begun to write."""
    name = f"{now:%Y%m%dT%H%M%SZ}"
    places = chain((folder / name,), (folder / f"{name}-{number}" for number in count(2)))
    return next(one for one in places if all(path.suffix == ".tmp" for path in one.glob("*")))


def _begun(root: Path, record: Record) -> Record:
    """Return the record of a run that was killed; of what that run did not come to, no copy has to stay."""
    done = digest(current(root / record.file)) in {record.after, *record.between}
    return record if done else replace(record, stays=False)


def _gone_on(old: Record, new: Record) -> Record:
    """Return the record of a file that a run which was killed had changed: what there was before that counts."""
    stays = new.stays and old.before != new.after
    between = (*old.between, old.after)
    return replace(new, before=old.before, between=between, stays=stays)


def _record(root: Path, change: Change) -> Record:
    stays = change.action == "update" and change.copy == "stays"
    digests = digest(change.before), digest(change.after)
    return Record(name_in(root, change.path), *digests, stays=stays)


def _drop(backup: Backup, gone: Sequence[Record]) -> None:
    """Take copies away, and the list last; what hides the folder from git goes before, if nothing stays."""
    for record in gone:
        durable.remove(backup.copy_of(record))
    for folder in sorted({backup.copy_of(record).parent for record in gone}, reverse=True):
        for place in (folder, *folder.parents):
            if place.is_relative_to(backup.folder) and place != backup.folder:
                durable.remove_folder(place)
    above = backup.folder.parent
    others = {*above.glob("*")} - {backup.folder, above / ignored.FILE}
    if not others | {*backup.folder.glob("*")} - {backup.list}:
        durable.remove(above / ignored.FILE)
    durable.remove(backup.list)
    durable.remove_folder(backup.folder)
    durable.remove_folder(above)
