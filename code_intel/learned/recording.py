"""Record what a change of the map does to files and to the state store, or would do.

While `recorded` is active, each changed file of the map is recorded with its content before and
after. So a change can be shown before it is made, and undone later. In a dry run, the recorded
contents are read instead of those on disk, so that each step of a change sees the steps before it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from code_intel.errors import ConflictError, StorageError
from code_intel.foundation import durable
from code_intel.foundation.text import visible
from code_intel.index.safe_files import read_plain


class FileChange(NamedTuple):
    """A file before and after a change; None if there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class Recording:
    """What a change does.

    Attributes:
        expected: The digests of files when the change was shown; they are compared once, under the
            lock, before anything is written.
        files: The changed files.
        states: The changes of the state store, as changesets of SQLite.
        undo_steps: What else undoes the change, in the order of the steps that it undoes.
    """

    expected: dict[Path, str] = field(default_factory=dict)
    files: dict[Path, FileChange] = field(default_factory=dict)
    states: list[bytes] = field(default_factory=list)
    undo_steps: list[Callable[[], None]] = field(default_factory=list)

    def note(self, path: Path, before: bytes | None, after: bytes | None) -> None:
        """Record a new content of a file; several contents of one file become one change."""
        first = self.files[path].before if path in self.files else before
        self.files[path] = FileChange(path, first, after)

    def require_expected(self) -> None:
        """Compare the files with what was shown.

        Raises:
            ConflictError: A file has changed.
        """
        require_digests(self.expected)
        self.expected.clear()


_active: ContextVar[Recording | None] = ContextVar("recording", default=None)


def active() -> Recording | None:
    """Return the recording of the current change; None if nothing is recorded."""
    return _active.get()


@contextmanager
def recorded(expected: Mapping[Path, str] | None = None) -> Iterator[Recording]:
    """Record the changes of the map in this context; within another recording, continue that."""
    if (outer := _active.get()) is not None:
        yield outer
        return
    recording = Recording(dict(expected or {}))
    token = _active.set(recording)
    try:
        yield recording
    finally:
        _active.reset(token)


@dataclass(frozen=True, slots=True)
class MapFiles:
    """Writes the files of the map, and records what it writes; a dry run only records.

    Attributes:
        recording: The recording; None to record nothing.
        dry: Whether nothing may be written.
    """

    recording: Recording | None = None
    dry: bool = False

    def read(self, path: Path) -> bytes:
        """Return the content of a file, as it is or, in a dry run, as it would be.

        Raises:
            OSError: The file cannot be read.
        """
        planned = self.recording.files.get(path) if self.recording and self.dry else None
        if planned is None:
            return read_plain(path)
        if planned.after is None:
            raise FileNotFoundError(f"{path} would be removed.")
        return planned.after

    def replace(self, path: Path, data: bytes, *, flushed: bool = True) -> None:
        """Write a file; see `durable.replace`."""
        self._note(path, data)
        if not self.dry:
            durable.replace(path, data, flushed=flushed)

    def create(self, path: Path, data: bytes) -> None:
        """Write a new file; see `durable.create`."""
        if not self.dry:
            durable.create(path, data)
        elif path.exists():
            raise StorageError(f"{path} exists.") from FileExistsError()
        self._note(path, data, is_new=True)

    def move(self, path: Path, target: Path) -> None:
        """Rename a file, and replace the target if it exists; see `durable.move`."""
        if self.recording:
            self._note(target, self.read(path))
            self._note(path, None)
        if not self.dry:
            durable.move(path, target, overwrite=True)

    def remove(self, path: Path) -> None:
        """Remove a file; see `durable.remove`."""
        self._note(path, None)
        if not self.dry:
            durable.remove(path)

    def _note(self, path: Path, data: bytes | None, *, is_new: bool = False) -> None:
        if self.recording:
            self.recording.note(path, None if is_new else content_of(path), data)


def content_of(path: Path) -> bytes | None:
    """Return the bytes of a file; None if it does not exist.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        return read_plain(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def raw_digest(data: bytes | None) -> str:
    """Return the hex SHA-256 of a content; empty if there is no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def digests_of(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the digest of each file; empty for a file that does not exist."""
    return {path: raw_digest(content_of(path)) for path in paths}


def require_digests(expected: Mapping[Path, str]) -> None:
    """Require that files have the given digests.

    Raises:
        ConflictError: One has another; the error names the files.
    """
    changed = [path for path, digest in expected.items() if raw_digest(content_of(path)) != digest]
    if changed:
        names = ", ".join(visible(path.name) for path in changed)
        raise ConflictError(
            f"Changed in the meantime: {names}. Nothing was written.",
            details={"files": [visible(path.name) for path in changed]},
        )
