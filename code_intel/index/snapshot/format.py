r"""Define the file of a snapshot: vectors by file, place and card, without any text.

    code-intel snapshot 1\n
    length of the header (4 bytes) · SHA-256 of the header · header (JSON)
    part · part · …                each is a zstd frame

The header gives the model, the counts, and length and SHA-256 of each part. A part holds the length
of its list (4 bytes), the list of its files (JSON), and their vectors as float32. Numbers are
little-endian. The bytes depend on the content alone, so the same index gives the same file.

A snapshot is untrusted. Every length is limited and checked before memory is used for it, and the
digest of a part before it is unpacked.
"""

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, NoReturn, Self

from code_intel.errors import StorageError
from code_intel.index.corpus import MAX_FILE_BYTES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION = 1
MAGIC = b"code-intel snapshot "
DAMAGED = "snapshot_damaged"
NEWER = "snapshot_newer"

MAX_HEADER_BYTES = 2 << 20
MAX_LIST_BYTES = 4 << 20
"""Limit of the list of one part: JSON takes far more memory than text."""
MAX_PART_BYTES = 64 << 20
MAX_TOTAL_BYTES = 8 << 30
"""Limit of all parts unpacked, about five million vectors of 384 numbers."""
FREE_BYTES, MAX_RATIO = 256 << 20, 20
"""A file may unpack to the first, or to so many times its size: vectors hardly compress."""
MAX_PART_FILES = 256
"""Limit of the files of one part, whose contents are in memory together."""
MAX_DIMENSIONS = 8192
MAX_IDENTITY_CHARS = 200
MAX_PATH_CHARS = 4096
PART_BYTES = 4 << 20
"""A part ends with the file that exceeds this size."""
_LEVEL = 3
_WINDOW_LOG = 27  # 128 MiB, the most that a frame of a part may need

_FIRST_LINE = re.compile(rb"code-intel snapshot ([1-9][0-9]{0,8})\n")
_LFS_POINTER = b"version https://git-lfs"
_LENGTH = 4
_CHUNK_BYTES = 64
"""More than a chunk takes in the list of a part."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CARD = re.compile(r"[0-9a-f]{16}")


class SnapshotChunk(NamedTuple):
    """A chunk with a vector: its first and last character (excluded), and its card's digest."""

    start: int
    end: int
    card: str


class SnapshotFile(NamedTuple):
    """A file of a snapshot.

    Attributes:
        path: The document's name, relative to the project.
        digest: The SHA-256 of its content.
        chunks: The chunks that have a vector, in order.
        vectors: Their vectors, in the same order.
    """

    path: str
    digest: str
    chunks: Sequence[SnapshotChunk]
    vectors: Sequence[bytes]


class _Part(NamedTuple):
    size: int
    unpacked: int
    digest: str


def dump(identity: str, dimensions: int, files: Iterable[SnapshotFile]) -> bytes:
    """Return the bytes of a snapshot.

    Args:
        identity: The engine that computed the vectors.
        dimensions: Numbers per vector.
        files: The files, those first that are needed first.
    """
    parts: list[_Part] = []
    packed: list[bytes] = []
    counts = [0, 0]
    for group in _groups(files, dimensions * 4):
        listed = json.dumps(
            [[file.path, file.digest, file.chunks] for file in group],
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        vectors = b"".join(vector for file in group for vector in file.vectors)
        raw = len(listed).to_bytes(_LENGTH, "little") + listed + vectors
        packed.append(zstd.compress(raw, _LEVEL))
        parts.append(_Part(len(packed[-1]), len(raw), hashlib.sha256(packed[-1]).hexdigest()))
        counts[0] += len(group)
        counts[1] += sum(len(file.chunks) for file in group)
    header = json.dumps(
        {
            "identity": identity,
            "dimensions": dimensions,
            "files": counts[0],
            "chunks": counts[1],
            "parts": parts,
        }
    ).encode()
    first = b"%s%d\n" % (MAGIC, VERSION)
    length = len(header).to_bytes(_LENGTH, "little")
    return b"".join((first, length, hashlib.sha256(header).digest(), header, *packed))


def _groups(files: Iterable[SnapshotFile], vector_bytes: int) -> Iterator[list[SnapshotFile]]:
    group: list[SnapshotFile] = []
    size = 0
    for file in files:
        group.append(file)
        size += len(file.chunks) * vector_bytes
        if size >= PART_BYTES or len(group) >= MAX_PART_FILES:
            yield group
            group, size = [], 0
    if group:
        yield group


def max_chunks(dimensions: int) -> int:
    """Return how many chunks a file of a snapshot can have, so that it fits into a part."""
    return min(MAX_PART_BYTES // (2 * 4 * dimensions), MAX_LIST_BYTES // (2 * _CHUNK_BYTES))


def is_snapshot(path: Path) -> bool:
    """Return whether a regular file begins as a snapshot does."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


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
            self._parts: list[_Part] = []
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
        length = int.from_bytes(self._file.read(_LENGTH), "little")
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
                    size > 0 and _LENGTH < unpacked <= MAX_PART_BYTES
                ):
                    self._parts.append(_Part(size, unpacked, digest))
                case _:
                    self._fail("its list of parts is wrong")
        size = os.fstat(self._file.fileno()).st_size
        limit = min(MAX_TOTAL_BYTES, max(FREE_BYTES, MAX_RATIO * size))
        if sum(part.unpacked for part in self._parts) > limit:
            self._fail(f"it unpacks to more than {limit >> 20} MiB")
        if self._start + sum(part.size for part in self._parts) != size:
            self._fail("its length is wrong")

    def _packed(self, part: _Part) -> bytes:
        packed = self._file.read(part.size)
        if hashlib.sha256(packed).hexdigest() != part.digest:
            self._fail("a part is not as it was written")
        return packed

    def _parsed(self, raw: bytes) -> list[SnapshotFile]:
        end = _LENGTH + int.from_bytes(raw[:_LENGTH], "little")
        if end > min(len(raw), _LENGTH + MAX_LIST_BYTES):
            self._fail("the list of a part is too long")
        rows = _json(raw[_LENGTH:end])
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
