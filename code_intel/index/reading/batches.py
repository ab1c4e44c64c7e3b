"""Read, mask and parse the files of a batch, and split their texts into words.

This takes most of the time of indexing, and needs no database: `readers` does it in other processes
if there are many files.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from code_intel.chunking import decode_counting, parse_file
from code_intel.chunking.knowledge_page import MAX_PAGE_BYTES
from code_intel.errors import CodeIntelError
from code_intel.index import skipped
from code_intel.index.corpus import MAX_FILE_BYTES, is_page, priority
from code_intel.index.rows import DocumentRow, Words, document_words
from code_intel.index.safe_files import read_resolved
from code_intel.records import ParsedFile


class FileToRead(NamedTuple):
    """A file of a batch.

    Attributes:
        name: Its path in the index.
        real: Its resolved path.
        size: In bytes, at the time of the scan.
        digest: That of the content that is in the index, or empty.
    """

    name: str
    real: str
    size: int
    digest: str = ""


class ReadFile(NamedTuple):
    """A new or changed file, with what the index stores of it."""

    row: DocumentRow
    parsed: ParsedFile
    words: Words


@dataclass(slots=True)
class Batch:
    """What was read.

    Attributes:
        read: New and changed files.
        touched: Files whose content is unchanged.
        skipped: Reasons by file that is of a kind that is not indexed.
        failed: Reasons by file that could not be read or parsed.
        masked: Number of secret values that were masked.
        count: Number of files in the batch.
    """

    read: list[ReadFile] = field(default_factory=list)
    touched: list[DocumentRow] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    masked: int = 0
    count: int = 0


def read_batch(
    files: Sequence[FileToRead], chunk_size: int, stop: Callable[[], bool] = lambda: False
) -> Batch | None:
    """Read some files; return None if `stop`, polled before each of them, returned True."""
    batch = Batch(count=len(files))
    for file in files:
        if stop():
            return None
        try:
            data, info = read_resolved(file.real)
            row = _row(file.name, data, info)
            if file.digest == row.digest:
                batch.touched.append(row)
            else:
                batch.read.append(_parse(row, data, chunk_size, batch))
        except _SkipFile as skip:
            batch.skipped[file.name] = str(skip)
        except Exception as error:  # noqa: BLE001 - the other files are indexed
            batch.failed[file.name] = reason(error)
    return batch


class _SkipFile(Exception):  # noqa: N818 - not an error, but a reason
    """A file turned out, when it was read, to be of a kind that is not indexed."""


def _row(name: str, data: bytes, info: os.stat_result) -> DocumentRow:
    return DocumentRow(
        path=name,
        digest=hashlib.sha256(data).hexdigest(),
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        inode=info.st_ino,
        indexed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        priority=priority(name),
    )


def _parse(row: DocumentRow, data: bytes, chunk_size: int, batch: Batch) -> ReadFile:
    if len(data) > MAX_FILE_BYTES:
        raise _SkipFile("larger than 1 MiB")
    decoded = decode_counting(data)
    if decoded is None:
        raise _SkipFile(skipped.BINARY)
    text, masked = decoded
    batch.masked += masked
    page = is_page(row.path)
    size = MAX_PAGE_BYTES if page else chunk_size  # a page is one chunk
    parsed = parse_file(row.path, text, chunk_size=size)
    lines = parsed.chunks[-1].end_line if parsed.chunks else 0
    row = replace(row, language=parsed.language, lines=lines, problem=parsed.problem)
    return ReadFile(row, parsed, document_words(row.path, parsed.chunks, page=page))


def reason(error: BaseException) -> str:
    """Return why a file cannot be indexed."""
    if isinstance(error, CodeIntelError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
