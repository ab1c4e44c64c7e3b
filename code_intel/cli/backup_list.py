"""The list of a run that changes several files: what each was and becomes, and which command's run it is.

It is written before anything changes, into the folder of the run's copies (`backups`), so it is also what a run
that was killed left behind (docs/decisions/0035, 0048).
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from code_intel import durable, ignored
from code_intel.cli.changes import current, is_inside
from code_intel.cli.clients import CLIENTS
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, STATE_FOLDER, Settings, load_settings
from code_intel.errors import StorageError

FOLDER = "backup"


@dataclass(frozen=True, slots=True)
class Record:
    """A file that changes: its name in the project, and digests, empty where there is no file.

    Attributes:
        file: Its name.
        before: What it was.
        after: What it becomes.
        stays: Whether its copy stays when all is done.
        between: What runs that were killed had made of it.
    """

    file: str
    before: str
    after: str
    stays: bool = True
    between: tuple[str, ...] = ()

    @property
    def undone(self) -> str:
        """What taking it back does, in one word."""
        return "restore" if self.before else "remove"


class Kind(NamedTuple):
    """What is done whole or not at all, one row for each command.

    Attributes:
        list: What its list is called.
        copies: The folder of the copies in that of the run; empty where they lie beside the list.
        lasts: Whether list and copies stay, so that a run that was completed can be taken back.
        changes: Whether a file, of a project, is one that it changes: a repository may carry a list that
            nobody here has written.
    """

    list: str
    copies: str
    lasts: bool
    changes: Callable[[Settings, Record], bool]


def _by_migration(settings: Settings, record: Record) -> bool:
    """It makes agreements, and writes files of the project and its state folder."""
    file, root = settings.root / record.file, settings.root
    made = not record.before and file.suffix == ".md"
    if made and file.resolve().parent == settings.agreements.resolve():
        return True
    return is_inside(file, root) and file.parent in {root, settings.state}


_SET_UP = {
    *(f"{folder}{name}" for folder in ("", f"{STATE_FOLDER}/") for name in (MAP_CONFIG, FOREST_CONFIG, ignored.FILE)),
    *(client.file for client in CLIENTS),
}  # fmt: skip


def _by_init(settings: Settings, record: Record) -> bool:
    """It writes configs, what hides from git, and the files of clients."""
    return record.file in _SET_UP and is_inside(settings.root / record.file, settings.root)


MIGRATION = Kind("migration.json", "files", lasts=True, changes=_by_migration)
SETUP = Kind("init.json", "", lasts=False, changes=_by_init)


@dataclass(frozen=True, slots=True)
class Backup:
    """A run's folder, whether the run was completed, what it changes, and the folders that it makes."""

    kind: Kind
    folder: Path
    finished: bool = False
    records: tuple[Record, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def list(self) -> Path:
        """Where the list is."""
        return self.folder / self.kind.list

    @property
    def keeps(self) -> bool:
        """Whether a copy stays when all is done."""
        return self.kind.lasts or any(record.stays and record.before for record in self.records)

    def copy_of(self, record: Record) -> Path:
        """Return where the copy of a replaced file is."""
        return self.folder / self.kind.copies / record.file


def found(root: Path, kind: Kind) -> list[Backup]:
    """Return the backups of a project that have a list, oldest first.

    Raises:
        StorageError: The list of one cannot be read.
    """
    places = sorted((root / STATE_FOLDER / FOLDER).glob(f"*/{kind.list}"))
    return [_read(root, kind, path) for path in places]


def unfinished(root: Path, kind: Kind) -> Backup | None:
    """Return the backup of a run that was killed, if there is one."""
    return next((one for one in found(root, kind) if not one.finished), None)


def write(backup: Backup) -> None:
    """Write the list.

    Raises:
        StorageError: The disk refused.
    """
    document = {
        "version": 1,
        "finished": backup.finished,
        "folders": backup.folders,
        "files": [asdict(record) for record in backup.records],
    }
    text = f"{json.dumps(document, ensure_ascii=False, indent=1)}\n"
    durable.replace(backup.list, text.encode("utf-8", "surrogateescape"))


def digest(data: bytes | None) -> str:
    """Return the hex SHA-256 of a file's bytes, empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _read(root: Path, kind: Kind, path: Path) -> Backup:
    """Return the backup that a list speaks of; a repository may carry one, which nobody here has written.

    Raises:
        StorageError: It is no list, or speaks of files that no such run changes.
    """
    try:
        document = json.loads((current(path) or b"").decode("utf-8", "surrogateescape"))
        records = tuple(
            Record(**{**item, "between": tuple(item.get("between", ()))})
            for item in document["files"]
        )
        folders = tuple(map(str, document.get("folders", ())))
        settings = load_settings(root)
        for record in records:
            if not kind.changes(settings, record):
                raise ValueError(f"{record.file} is no file that one changes")  # noqa: TRY301 - told below
        places = [(root / name).resolve() for name in folders]
        if not all(
            is_inside(place, root) or place == settings.agreements.resolve() for place in places
        ):
            raise ValueError("it names folders of others")  # noqa: TRY301 - as above
        return Backup(kind, path.parent, bool(document["finished"]), records, folders)
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise StorageError(
            f"{path} is no list of {kind.list.removesuffix('.json')}: {error}.",
            hint="Move its folder away.",
        ) from error
