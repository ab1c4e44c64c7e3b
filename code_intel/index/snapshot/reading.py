"""Read a snapshot, which is untrusted (docs/decisions/0094).

Every length is limited and checked before memory is used for it, and the digest of a part before it
is unpacked.
"""

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Self

from code_intel.errors import StorageError
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.snapshot.format import (
    LENGTH_BYTES,
    MAGIC,
    MAX_DIMENSIONS,
    MAX_HEADER_BYTES,
    MAX_IDENTITY_CHARS,
    MAX_LIST_BYTES,
    MAX_PART_BYTES,
    MAX_PART_FILES,
    MAX_PATH_CHARS,
    VERSION,
    Part,
    SnapshotChunk,
    SnapshotFile,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DAMAGED = "snapshot_damaged"
NEWER = "snapshot_newer"

MAX_TOTAL_BYTES = 8 << 30
"""Limit of all parts unpacked, about five million vectors of 384 numbers."""
FREE_BYTES, MAX_RATIO = 256 << 20, 20
"""A file may unpack to the first, or to so many times its size: vectors hardly compress."""
_WINDOW_LOG = 27  # 128 MiB, the most that a frame of a part may need

_FIRST_LINE = re.compile(rb"code-intel snapshot ([1-9][0-9]{0,8})\n")
_LFS_POINTER = b"version https://git-lfs"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CARD = re.compile(r"[0-9a-f]{16}")


class Snapshot:
    """An open snapshot, whose digests were checked. Use it as a context manager.

    Attributes:
        identity: The engine that computed the vectors.
        dimensions: Numbers per vector.
        files: Number of files.
        chunks: Number of vectors.

    Raises:
        StorageError: The file cannot be read, is no snapshot, is damaged, or needs a newer version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open(path)
        try:
            self._parts: list[Part] = []
            self._read_header()
            for part in self._parts:
                self._packed(part)
        except OSError as error:
            self._file.close()
            raise _unreadable(path, error) from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def parts(self) -> Iterator[list[SnapshotFile]]:
        """Yield the files, in groups of a few megabytes.

        Raises:
            StorageError: The file has changed, or its content is not that of a snapshot.
        """
        seen: set[str] = set()
        self._file.seek(self._start)
        for part in self._parts:
            raw = _unpacked(self._packed(part), part.unpacked)
            if raw is None:
                self._fail("a part cannot be unpacked")
            group = self._parsed(raw)
            for file in group:
                if file.path in seen:
                    self._fail("it has a file twice")
                seen.add(file.path)
            yield group

    def _read_header(self) -> None:
        first = self._file.readline(len(MAGIC) + 10)
        match = _FIRST_LINE.fullmatch(first)
        if match is None:
            self._refuse_other(first)
        if int(match[1]) > VERSION:
            raise StorageError(
                f"{self._path} was written by a newer version of code-intel. Nothing was loaded.",
                code=NEWER,
                hint="Upgrade code-intel, or write the snapshot with this version.",
            )
        length = int.from_bytes(self._file.read(LENGTH_BYTES), "little")
        digest, header = self._file.read(32), b""
        if length <= MAX_HEADER_BYTES:
            header = self._file.read(length)
        if not header or hashlib.sha256(header).digest() != digest:
            self._fail("its header is not as it was written")
        self._start = self._file.tell()
        self._take_header(_json(header))

    def _take_header(self, header: Any) -> None:
        """Check the values of the header, and that the file has the length they give."""
        match header:
            case {
                "identity": str(identity),
                "dimensions": int(dimensions),
                "files": int(files),
                "chunks": int(chunks),
                "parts": list(parts),
            } if 0 < len(identity) <= MAX_IDENTITY_CHARS and 0 < dimensions <= MAX_DIMENSIONS:
                self.identity, self.dimensions = identity, dimensions
                self.files, self.chunks = files, chunks
            case _:
                self._fail("its header has other fields")
        for part in parts:
            match part:
                case [int(size), int(unpacked), str(digest)] if (
                    size > 0 and LENGTH_BYTES < unpacked <= MAX_PART_BYTES
                ):
                    self._parts.append(Part(size, unpacked, digest))
                case _:
                    self._fail("its list of parts is wrong")
        size = os.fstat(self._file.fileno()).st_size
        limit = min(MAX_TOTAL_BYTES, max(FREE_BYTES, MAX_RATIO * size))
        if sum(part.unpacked for part in self._parts) > limit:
            self._fail(f"it unpacks to more than {limit >> 20} MiB")
        if self._start + sum(part.size for part in self._parts) != size:
            self._fail("its length is wrong")

    def _packed(self, part: Part) -> bytes:
        packed = self._file.read(part.size)
        if hashlib.sha256(packed).hexdigest() != part.digest:
            self._fail("a part is not as it was written")
        return packed

    def _parsed(self, raw: bytes) -> list[SnapshotFile]:
        end = LENGTH_BYTES + int.from_bytes(raw[:LENGTH_BYTES], "little")
        if end > min(len(raw), LENGTH_BYTES + MAX_LIST_BYTES):
            self._fail("the list of a part is too long")
        rows = _json(raw[LENGTH_BYTES:end])
        if isinstance(rows, list) and len(rows) > MAX_PART_FILES:
            self._fail("a part has too many files")
        files = []
        size = self.dimensions * 4
        for row in rows if isinstance(rows, list) else [None]:
            match row:
                case [str(path), str(digest), list(chunks)] if 0 < len(
                    path
                ) <= MAX_PATH_CHARS and _DIGEST.fullmatch(digest):
                    places = self._chunks(chunks)
                case _:
                    self._fail("a file of its list is wrong")
            starts = range(end, end + len(places) * size, size)
            files.append(SnapshotFile(path, digest, places, [raw[at : at + size] for at in starts]))
            end = starts.stop
        if end != len(raw):
            self._fail("it has other vectors than chunks")
        self._check_vectors(raw[len(raw) - sum(len(file.chunks) for file in files) * size :])
        return files

    def _chunks(self, rows: list[Any]) -> list[SnapshotChunk]:
        """Return the chunks of a file, which must not overlap: they would repeat its text."""
        chunks, last = [], 0
        for row in rows:
            match row:
                case [int(start), int(end), str(card)] if (
                    last <= start < end <= MAX_FILE_BYTES and _CARD.fullmatch(card)
                ):
                    chunks.append(SnapshotChunk(start, end, card))
                    last = end
                case _:
                    self._fail("a chunk of its list is wrong")
        return chunks

    def _check_vectors(self, vectors: bytes) -> None:
        import numpy as np

        from code_intel.index.vectors import LENGTH_TOLERANCE

        rows = np.frombuffer(vectors, "<f4").reshape(-1, self.dimensions)
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows, axis=1)
        if not (np.abs(lengths - 1) < LENGTH_TOLERANCE).all():
            self._fail("a vector is not of length 1")

    def _refuse_other(self, first: bytes) -> NoReturn:
        if first.startswith(_LFS_POINTER):
            raise StorageError(
                f"{self._path} is a pointer of git LFS, without the content.",
                code=DAMAGED,
                hint="Run `git lfs pull`, then try again.",
            )
        raise StorageError(
            f"{self._path} is not a snapshot.",
            code=DAMAGED,
            hint="Name a file that `code-intel snapshot write` wrote.",
        )

    def _fail(self, problem: str) -> NoReturn:
        raise StorageError(
            f"{self._path} is damaged: {problem}.",
            code=DAMAGED,
            hint="Fetch the file again, or write it again with `code-intel snapshot write`.",
        )


def _open(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.fdopen(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb")
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _unreadable(path, OSError(0, "it is not a regular file"))
    return file


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be read: {error.strerror or error}.",
        hint="Name a file that `code-intel snapshot write` wrote.",
        details={"field": "file"},
    )


def _unpacked(packed: bytes, size: int) -> bytes | None:
    """Unpack one frame of exactly `size` bytes; return None if it is anything else."""
    options = {int(zstd.DecompressionParameter.window_log_max): _WINDOW_LOG}
    unpacker = zstd.ZstdDecompressor(options=options)
    try:
        raw = unpacker.decompress(packed, max_length=size)
        # The end of a frame is noticed only if more is asked for.
        more = b"" if unpacker.eof else unpacker.decompress(b"", max_length=1)
    except (zstd.ZstdError, EOFError):
        return None
    is_whole = unpacker.eof and not more and not unpacker.unused_data and len(raw) == size
    return raw if is_whole else None


def _json(data: bytes) -> Any:
    """Return a JSON value; None if it is not one."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
