"""Keep files of one kind in a folder, at most as many as config.json says.

The files are the truth. The folder's `index.json` describes them for people; it is written, never
read. When a file was last of use is its time of change (docs/decisions/0041).
"""

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.index import cancellation
from code_intel.planning import place, settings
from code_intel.planning.records import dumps

LOCK = "index.json.lock"
DAY_NS = 24 * 3600 * 10**9
MAX_PARSED = 512
"""Parsed files that a process remembers: a call lists the files of a kind several times."""
ContentT = TypeVar("ContentT")


@dataclass(frozen=True, slots=True)
class KeptFile(Generic[ContentT]):
    """What a file contains, its size, and its time of change in nanoseconds."""

    content: ContentT
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


@dataclass(slots=True)
class Listing(Generic[ContentT]):
    """The files of a folder by name, and those that cannot be read with the reason."""

    rows: dict[str, KeptFile[ContentT]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)

    def latest(self) -> list[KeptFile[ContentT]]:
        """Return the files, the last used first."""
        names = sorted(self.rows, key=lambda name: (self.rows[name].used_ns, name), reverse=True)
        return [self.rows[name] for name in names]


@dataclass(frozen=True, slots=True)
class Catalog(Generic[ContentT]):
    """A kind of kept file.

    Attributes:
        kind: Its name in the limits of config.json.
        folder: Its folder below the root.
        names: The names of its files; other files are neither read nor removed.
        parse: (content, name) -> what a file contains; raises StorageError for a damaged file.
        describe: What index.json says of a file.
        in_use: Whether a file is not to be removed.
    """

    kind: str
    folder: str
    names: re.Pattern[str]
    parse: Callable[[bytes, str], ContentT]
    describe: Callable[[ContentT], dict[str, Any]]
    in_use: Callable[[KeptFile[ContentT]], bool] = lambda _: False

    def path(self, root: Path, name: str) -> Path:
        """Return a file of the folder; see `place.file_in`."""
        return place.file_in(root, self.folder, name)

    def read(self, root: Path, name: str) -> ContentT:
        """Return what a file contains; raises as `place.read` and `parse`."""
        return self.parse(place.read(self.path(root, name)), name)

    def listing(self, root: Path) -> Listing[ContentT]:
        """Return what is there, writing nothing.

        Raises:
            StorageError: A link is on the way, or the folder cannot be listed.
            BusyError: The call was cancelled.
        """
        folder, found = self.path(root, place.INDEX).parent, Listing[ContentT]()
        try:
            names = sorted(
                each.name for each in folder.iterdir() if self.names.fullmatch(each.name)
            )
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as error:
            raise StorageError(f"{folder} cannot be read: {error.strerror}.") from error
        for name in names:
            cancellation.raise_if_cancelled()  # a repository may have thousands of files
            with suppress(FileNotFoundError):  # another process removed it
                info = (folder / name).lstat()
                state = (info.st_size, info.st_mtime_ns)
                try:
                    found.rows[name] = KeptFile(_content(self, root, name, *state), *state)
                except StorageError as error:
                    found.damaged[name] = error.message
        return found

    def put(self, root: Path, name: str, data: bytes) -> Path:
        """Write a file and return its path; remove the least recently used if there are too many.

        Raises:
            StorageError: The disk failed, or a link is on the way; the file is the old or the new.
            ConfigError: config.json cannot be read.
            BusyError: Another process holds the lock.
        """
        path, folder = self.path(root, name), place.prepared(root, self.folder)
        settings.write_defaults(root)
        with durable.locked(folder / LOCK, place.PLAN_LOCK_TIMEOUT_S):
            durable.replace(path, data)
            self.note_use(root, name)
            rows = self.listing(root).rows
            kept = {name, *(each for each, row in rows.items() if self.in_use(row))}
            for each in beyond(rows, *settings.load(root).most(self.kind), kept):
                durable.remove(folder / each, flushed=False)
                del rows[each]
            self._write_index(root, rows)
        return path

    def note_use(self, root: Path, name: str) -> None:
        """Note that a file was of use, if the disk allows it."""
        now = time.time_ns()
        with suppress(OSError):
            os.utime(self.path(root, name), ns=(now, now))

    def remove(self, root: Path, names: Collection[str]) -> list[str]:
        """Remove files; return those that existed. Raises as `put`."""
        folder = place.prepared(root, self.folder)
        with durable.locked(folder / LOCK, place.PLAN_LOCK_TIMEOUT_S):
            gone = [
                name
                for name in filter(self.names.fullmatch, names)
                if durable.remove(folder / name, flushed=False)
            ]
            self._write_index(root, self.listing(root).rows)
        return gone

    def _write_index(self, root: Path, rows: Mapping[str, KeptFile[ContentT]]) -> None:
        """Describe the files in index.json; remove what killed processes left."""
        index = {
            name: {**self.describe(row.content), "bytes": row.bytes, "used": row.used}
            for name, row in rows.items()
        }
        path = self.path(root, place.INDEX)
        durable.replace(path, dumps(index), flushed=False)
        durable.sweep(path.parent)


@lru_cache(maxsize=MAX_PARSED)
def _content(
    catalog: Catalog[ContentT], root: Path, name: str, size: int, changed: int
) -> ContentT:
    """Return what a file of this size and time contains."""
    del size, changed
    return catalog.read(root, name)


def beyond(
    rows: Mapping[str, KeptFile[Any]], most: int, room: int, keep: Collection[str] = ()
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
