"""A folder of stored files with an `index.json` that describes them for lists.

The files are the truth. A file whose size or time differs from the index is read again, and a
missing or damaged index is rebuilt. Only the number and time of uses are in the index alone
(docs/decisions/0041).
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index import cancellation
from code_intel.planning import place, settings
from code_intel.planning.stored import dumps

CATALOG_VERSION = 1
LOCK = "index.json.lock"
AHEAD, LONG_AGO = timedelta(days=1), "1970-01-01T00:00:00+00:00"
"""From how far in the future on a moment is no moment: what was of use next year would never go."""
MAX_HIT_COUNT = 2**53
"""Largest count of hits; Python cannot print numbers of any length."""

_OWN = MappingProxyType({"bytes": int, "changed": int, "used": str, "hits": int})
"""What the index says of a file on its own account."""

Describe = Callable[[str, bytes], dict[str, Any]]
"""(name, content) -> what the index says of a file; raises StorageError for one that is damaged."""


@dataclass(slots=True)
class CatalogRow:
    """What is known of a file.

    Attributes:
        says: What the file says of itself, in short.
        bytes: Its size.
        changed: Its time of change in nanoseconds.
        used: When it was last written or of use, ISO 8601.
        hits: How often it was of use.
    """

    says: dict[str, Any]
    bytes: int
    changed: int
    used: str
    hits: int = 0


@dataclass(slots=True)
class CatalogListing:
    """The files of a folder by name, and those that cannot be read with the reason."""

    rows: dict[str, CatalogRow] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Catalog:
    """A kind of stored file.

    Attributes:
        kind: Its name in the limits of config.json.
        folder: Its folder below the root.
        names: The names of its files; other files are neither read nor removed.
        describe: See `Describe`.
        shape: The types of the values of `describe`, to check an index that may be forged.
        spared: Returns the rows that are never removed.
        flushed: Whether writes are flushed to the disk.
    """

    kind: str
    folder: str
    names: re.Pattern[str]
    describe: Describe
    shape: Mapping[str, type]
    spared: Callable[[Mapping[str, CatalogRow]], Collection[str]] = lambda _rows: ()
    flushed: bool = True

    def path(self, root: Path, name: str) -> Path:
        """Return a file of the folder; see `place.file_in`."""
        return place.file_in(root, self.folder, name)

    def listing(self, root: Path) -> CatalogListing:
        """Return what is there, writing nothing.

        Raises:
            StorageError: A link is on the way, or the folder cannot be listed.
            BusyError: The call was cancelled.
        """
        index = self.path(root, place.INDEX)
        known, found = self._known(index), CatalogListing()
        try:
            files = sorted(
                file for file in index.parent.iterdir() if self.names.fullmatch(file.name)
            )
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as error:
            raise StorageError(f"{index.parent} cannot be read: {error.strerror}.") from error
        for file in files:
            cancellation.raise_if_cancelled()  # a repository may have thousands of unknown files
            with suppress(FileNotFoundError):  # another process removed it
                self._look(file, known.get(file.name), found)
        return found

    def read(self, root: Path, name: str) -> bytes:
        """Return a file's content.

        Raises:
            FileNotFoundError: There is no such file.
            StorageError: It cannot be read.
        """
        return place.read(self.path(root, name))

    def put(self, root: Path, name: str, data: bytes) -> Path:
        """Write a file; see `put_all`."""
        self.put_all(root, {name: data})
        return self.path(root, name)

    def put_all(self, root: Path, contents: Mapping[str, bytes]) -> None:
        """Write files and their rows in the index; remove the least used if there are too many.

        Raises:
            StorageError: The disk failed; each file is the old or the new one.
            BusyError: Another process holds the lock.
        """
        with self.changing(root) as rows:
            for name, data in contents.items():
                file, old = self.path(root, name), rows.get(name)
                durable.replace(file, data, flushed=self.flushed)
                rows[name] = self._row(file, data, now(), old.hits if old else 0)
            self._evict(root, rows, {*contents, *self.spared(rows)})

    def use(self, root: Path, name: str) -> None:
        """Count that a file was of use.

        Raises:
            StorageError: The disk refused.
            BusyError: Another process is writing for too long.
        """
        with self.changing(root) as rows:
            if row := rows.get(name):
                row.used, row.hits = now(), row.hits + 1

    def remove(self, root: Path, names: Collection[str]) -> list[str]:
        """Remove files and their rows in the index; return those that existed.

        Raises:
            StorageError: The disk failed.
            BusyError: Another process holds the lock.
        """
        gone: list[str] = []
        with self.changing(root) as rows:
            for name in names:
                if self.names.fullmatch(name) and durable.remove(
                    self.path(root, name), flushed=False
                ):
                    gone.append(name)
                rows.pop(name, None)
        return gone

    @contextmanager
    def changing(self, root: Path) -> Iterator[dict[str, CatalogRow]]:
        """Hold the folder's lock, give the rows to change, and write the index if they were.

        Whatever happens inside, the index says what the disk has: the next look compares.
        """
        folder = place.prepared(root, self.folder)
        settings.write_defaults(root)
        with durable.locked(folder / LOCK, place.PLAN_LOCK_TIMEOUT_S):
            rows = self.listing(root).rows
            yield rows
            index, text = folder / place.INDEX, _rendered(rows)
            if not _is(index, text):
                durable.replace(index, text, flushed=False)
            durable.sweep(folder)

    def _known(self, index: Path) -> dict[str, CatalogRow]:
        """Return what the index says, as far as it can be used."""
        try:
            document = json.loads(place.read(index))
            files = document["files"] if document["version"] == CATALOG_VERSION else {}
        except (FileNotFoundError, StorageError, ValueError, RecursionError, TypeError, KeyError):
            return {}
        rows: dict[str, CatalogRow] = {}
        for name, said in files.items() if isinstance(files, dict) else ():
            if isinstance(said, dict) and {k: type(v) for k, v in said.items()} == self._types():
                size, changed, used, hits = (said.pop(key) for key in _OWN)
                with suppress(ValueError, TypeError):  # no moment, or one without an offset
                    ahead = datetime.fromisoformat(used) - datetime.now(UTC)
                    moment = used if ahead < AHEAD else LONG_AGO
                    rows[name] = CatalogRow(
                        said, size, changed, moment, min(max(hits, 0), MAX_HIT_COUNT)
                    )
        return rows

    def _types(self) -> dict[str, type]:
        return {**_OWN, **self.shape}

    def _look(self, file: Path, known: CatalogRow | None, found: CatalogListing) -> None:
        info = file.lstat()
        if known and (known.bytes, known.changed) == (info.st_size, info.st_mtime_ns):
            found.rows[file.name] = known
            return
        try:
            data = place.read(self.path(file.parents[2], file.name))
            when = datetime.fromtimestamp(info.st_mtime, UTC).isoformat()
            row = self._row(file, data, known.used if known else when, known.hits if known else 0)
            found.rows[file.name] = row
        except StorageError as error:
            found.damaged[file.name] = error.message

    def _row(self, file: Path, data: bytes, used: str, hits: int) -> CatalogRow:
        info = file.lstat()
        return CatalogRow(
            self.describe(file.name, data), info.st_size, info.st_mtime_ns, used, hits
        )

    def _evict(self, root: Path, rows: dict[str, CatalogRow], keep: Collection[str]) -> None:
        for name in beyond(rows, *settings.limits_of(root, self.kind), keep):
            durable.remove(self.path(root, name), flushed=False)
            del rows[name]


def beyond(
    rows: Mapping[str, CatalogRow], most: int, room: int, keep: Collection[str] = ()
) -> list[str]:
    """Return the least used rows to remove, for at most `most` files and `room` bytes."""
    left, size = len(rows), sum(row.bytes for row in rows.values())
    gone = []
    for name in sorted((n for n in rows if n not in keep), key=lambda n: (rows[n].used, n)):
        if left <= most and size <= room:
            break
        gone.append(name)
        left, size = left - 1, size - rows[name].bytes
    return gone


def now() -> str:
    """Return this moment, as it is kept."""
    return datetime.now(UTC).isoformat()


def _rendered(rows: Mapping[str, CatalogRow]) -> bytes:
    files = {
        name: {"bytes": r.bytes, "changed": r.changed, "used": r.used, "hits": r.hits, **r.says}
        for name, r in sorted(rows.items())
    }
    return dumps({"version": CATALOG_VERSION, "files": files})


def _is(path: Path, data: bytes) -> bool:
    try:
        return place.read(path) == data
    except (FileNotFoundError, StorageError):
        return False
