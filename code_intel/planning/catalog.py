"""Keep files of one kind in a folder: bounded, and described by an `index.json` for lists.

The files are the truth. The index only saves reading them all: a file whose size or time differs
from its entry is read again, and a missing or damaged index is rebuilt. When a file was last of use
is its time of change (docs/decisions/0041).
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index import cancellation
from code_intel.planning import place, settings
from code_intel.planning.records import StoredRecord
from code_intel.planning.stored import as_json, built, dumps, parsed

LOCK = "index.json.lock"
DAY_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(StoredRecord):
    """A file in an index: its size, and its time of change in nanoseconds."""

    bytes: int
    changed: int

    @property
    def used_ns(self) -> int:
        """When it was last written or of use; a time far in the future counts as long ago."""
        return self.changed if self.changed < time.time_ns() + DAY_NS else 0

    @property
    def used(self) -> str:
        """The same in ISO 8601."""
        return datetime.fromtimestamp(self.used_ns / 1e9, UTC).isoformat()


EntryT = TypeVar("EntryT", bound=Entry)


@dataclass(slots=True)
class Listing(Generic[EntryT]):
    """The files of a folder by name, and those that cannot be read with the reason."""

    rows: dict[str, EntryT] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Catalog(Generic[EntryT]):
    """A kind of kept file.

    Attributes:
        kind: Its name in the limits of config.json.
        folder: Its folder below the root.
        names: The names of its files; other files are neither read nor removed.
        entry: The entries of its index.
        describe: (name, content) -> what an entry says, by the names in JSON; raises StorageError
            for a damaged file.
        in_use: Whether a file is not to be removed.
    """

    kind: str
    folder: str
    names: re.Pattern[str]
    entry: type[EntryT]
    describe: Callable[[str, bytes], dict[str, Any]]
    in_use: Callable[[EntryT], bool] = lambda _: False

    def path(self, root: Path, name: str) -> Path:
        """Return a file of the folder; see `place.file_in`."""
        return place.file_in(root, self.folder, name)

    def read(self, root: Path, name: str) -> bytes:
        """Return a file's content; see `place.read`."""
        return place.read(self.path(root, name))

    def listing(self, root: Path) -> Listing[EntryT]:
        """Return what is there, writing nothing.

        Raises:
            StorageError: A link is on the way, or the folder cannot be listed.
            BusyError: The call was cancelled.
        """
        folder = self.path(root, place.INDEX).parent
        known, found = self._known(root), Listing[EntryT]()
        try:
            files = sorted(file for file in folder.iterdir() if self.names.fullmatch(file.name))
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as error:
            raise StorageError(f"{folder} cannot be read: {error.strerror}.") from error
        for file in files:
            cancellation.raise_if_cancelled()  # a repository may have thousands of unknown files
            try:
                found.rows[file.name] = self._row(root, file, known.get(file.name))
            except FileNotFoundError:  # another process removed it
                continue
            except StorageError as error:
                found.damaged[file.name] = error.message
        return found

    def put(self, root: Path, contents: Mapping[str, bytes]) -> None:
        """Write files; remove the least recently used if there are too many.

        Raises:
            StorageError: The disk failed, or a link is on the way; each file is the old or the new.
            BusyError: Another process holds the lock.
        """
        with self._changing(root) as rows:
            for name, data in contents.items():
                file = self.path(root, name)
                durable.replace(file, data)
                self.note_use(root, name)
                rows[name] = self._row(root, file)
            kept = {*contents, *(name for name, row in rows.items() if self.in_use(row))}
            for name in beyond(rows, *settings.limits_of(root, self.kind), kept):
                durable.remove(self.path(root, name), flushed=False)
                del rows[name]

    def note_use(self, root: Path, name: str) -> None:
        """Note that a file was of use, if the disk allows it."""
        now = time.time_ns()
        with suppress(OSError):
            os.utime(self.path(root, name), ns=(now, now))

    def remove(self, root: Path, names: Collection[str]) -> list[str]:
        """Remove files; return those that existed. Raises as `put`."""
        gone: list[str] = []
        with self._changing(root) as rows:
            for name in filter(self.names.fullmatch, names):
                if durable.remove(self.path(root, name), flushed=False):
                    gone.append(name)
                rows.pop(name, None)
        return gone

    @contextmanager
    def _changing(self, root: Path) -> Iterator[dict[str, EntryT]]:
        """Hold the folder's lock, give the rows to change, and write the index."""
        folder = place.prepared(root, self.folder)
        settings.write_defaults(root)
        with durable.locked(folder / LOCK, place.PLAN_LOCK_TIMEOUT_S):
            rows = self.listing(root).rows
            yield rows
            index = {name: as_json(row) for name, row in sorted(rows.items())}
            durable.replace(self.path(root, place.INDEX), dumps(index), flushed=False)
            durable.sweep(folder)

    def _known(self, root: Path) -> dict[str, EntryT]:
        """Return what the index says, nothing if it cannot be used."""
        try:
            kind = dict[str, self.entry]  # type: ignore[name-defined]  # a type at run time
            known: dict[str, EntryT] = parsed(
                kind, place.read(self.path(root, place.INDEX)), place.INDEX
            )
        except (FileNotFoundError, StorageError):
            return {}
        return known

    def _row(self, root: Path, file: Path, known: EntryT | None = None) -> EntryT:
        """Return the entry of a file; the known one, if the file is the same."""
        info = file.lstat()
        if known and (known.bytes, known.changed) == (info.st_size, info.st_mtime_ns):
            return known
        said = self.describe(file.name, self.read(root, file.name))
        return built(self.entry, {**said, "bytes": info.st_size, "changed": info.st_mtime_ns})


def beyond(
    rows: Mapping[str, Entry], most: int, room: int, keep: Collection[str] = ()
) -> list[str]:
    """Return the least recently used rows to remove, for at most `most` files and `room` bytes."""
    left, size = len(rows), sum(row.bytes for row in rows.values())
    gone = []
    for name in sorted((n for n in rows if n not in keep), key=lambda n: (rows[n].used_ns, n)):
        if left <= most and size <= room:
            break
        gone.append(name)
        left, size = left - 1, size - rows[name].bytes
    return gone
