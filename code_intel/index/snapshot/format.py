r"""Define the file of a snapshot: vectors by file, place and card, without any text.

    code-intel snapshot 1\n
    length of the header (4 bytes) · SHA-256 of the header · header (JSON)
    part · part · …                each is a zstd frame

The header gives the model, the counts, and length and SHA-256 of each part. A part holds the length
of its list (4 bytes), the list of its files (JSON), and their vectors as float32. Numbers are
little-endian. The bytes depend on the content alone, so the same index gives the same file.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION = 1
MAGIC = b"code-intel snapshot "

MAX_HEADER_BYTES = 2 << 20
MAX_LIST_BYTES = 4 << 20
"""Limit of the list of one part: JSON takes far more memory than text."""
MAX_PART_BYTES = 64 << 20
MAX_PART_FILES = 256
"""Limit of the files of one part, whose contents are in memory together."""
MAX_DIMENSIONS = 8192
MAX_IDENTITY_CHARS = 200
MAX_PATH_CHARS = 4096
PART_BYTES = 4 << 20
"""A part ends with the file that exceeds this size."""
_LEVEL = 3
LENGTH_BYTES = 4
_CHUNK_BYTES = 64
"""More than a chunk takes in the list of a part."""


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


class Part(NamedTuple):
    """A part: its bytes in the file and unpacked, and its SHA-256."""

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
    parts: list[Part] = []
    packed: list[bytes] = []
    counts = [0, 0]
    for group in _groups(files, dimensions * 4):
        listed = json.dumps(
            [[file.path, file.digest, file.chunks] for file in group],
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        vectors = b"".join(vector for file in group for vector in file.vectors)
        raw = len(listed).to_bytes(LENGTH_BYTES, "little") + listed + vectors
        packed.append(zstd.compress(raw, _LEVEL))
        parts.append(Part(len(packed[-1]), len(raw), hashlib.sha256(packed[-1]).hexdigest()))
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
    length = len(header).to_bytes(LENGTH_BYTES, "little")
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
