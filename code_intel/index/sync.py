"""Update the words of an index from the disk; `vectors` embeds the chunks afterwards.

The digest of a file's content decides whether it changed. A file with the same size, mtime and
inode as before is not read again, unless it changed after, or less than two seconds before, the
last scan (git calls such entries racy). Syncing is idempotent and gives the same index as building
a new one. If a file cannot be read, it is reported and the others are indexed.

`deletions` decides which documents are deleted. The user's choices about single documents override
the patterns (docs/decisions/0017).
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from code_intel import __version__
from code_intel.config import IndexConfig
from code_intel.errors import NotFoundError, UsageError
from code_intel.index import deletions, skipped, walk
from code_intel.index.corpus import CORPORA
from code_intel.index.history.reading import sync_history
from code_intel.index.reading.batches import Batch, FileToRead, ReadFile, read_batch, reason
from code_intel.index.reading.readers import read_batches
from code_intel.index.report import SyncReport
from code_intel.index.rows import DocumentRow, FileState
from code_intel.index.store import Store

FIRST_BATCH_FILES, BATCH_FILES = 20, 200
BATCH_BYTES = 8 << 20
RACY_NS = 2_000_000_000
CHUNKER = "8"
"""Increase it when the same content yields different chunks, cards, words or symbols. Every file is
then parsed again, as after an upgrade; vectors of unchanged cards are kept."""

INDEX_FAILED = "index_failed"
"""Error code for a file that cannot be indexed; devrag, a similar server, uses the same."""

Progress = Callable[[int, int], None]
Stop = Callable[[], bool]


def sync(
    store: Store,
    config: IndexConfig,
    *,
    progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
    stop: Stop = lambda: False,
    on_scan: Callable[[walk.Scan], None] = lambda scan: None,  # noqa: ARG005 - tells no one
) -> SyncReport:
    """Index new and changed files, and delete documents whose file no longer exists.

    Args:
        store: Open for writing.
        config: Which files to index, and the length of Markdown chunks.
        progress: Called with (files done, files to read) before the first batch and after each.
        stop: Polled before each file; returning True ends early and keeps what is committed.
        on_scan: Called with the files that were found, before any is read.

    Raises:
        StorageError: The config's folder no longer exists, or the database cannot be written.
        BusyError: Another process kept the write lock for more than five seconds.
    """
    started = time.time_ns()
    report = SyncReport()
    _check_chunker(store, f"{__version__}/{CHUNKER}/{config.chunk_size}")
    scan = walk.scan(config, stop)
    report.skipped, report.warnings = scan.skipped, scan.warnings
    if scan.stopped:
        report.stopped = True
        return report
    walk.apply_choices(scan, config, store.choices())
    known = store.file_states()
    todo = files_to_read(store, scan, known)
    on_scan(scan)
    report.unchanged = len(scan.files) - len(todo)
    done = 0
    if todo:
        progress(0, len(todo))
    batches = _batches(_to_read(todo, known)) if todo else []
    with closing(read_batches(batches, config.chunk_size, stop)) as read:
        for batch in read:
            if stop():
                break
            write_batch(store, batch, known, report)
            done += batch.count
            progress(done, len(todo))
    if stop():
        report.stopped = True
        return report
    _delete_missing(store, config, scan, known.keys(), report)
    skipped.keep(store, report.skipped)
    _store_count(store, "unread", len(report.failed.keys() & known.keys()))
    # Skipped files are not stored, so every sync reads them again. Do not write because of them.
    if any(name not in report.skipped for name, _ in todo) or store.get_meta("scanned_ns") is None:
        with store.batch():
            store.set_meta("scanned_ns", str(started))
            store.set_meta("corpus", config.corpus)
    if CORPORA[config.corpus].history:
        sync_history(store, config.folder, stop)
    return report


def files_to_read(
    store: Store, scan: walk.Scan, known: Mapping[str, FileState]
) -> list[tuple[str, walk.FoundFile]]:
    """Return the files of a scan that must be read to know whether they changed."""
    trusted_before = int(store.get_meta("scanned_ns") or 0) - RACY_NS
    return [
        (name, found)
        for name, found in scan.files.items()
        if max(found.mtime_ns, found.ctime_ns) >= trusted_before
        or not _looks_same(known.get(name), found)
    ]


def sync_document(
    store: Store,
    config: IndexConfig,
    path: str | Path,
    *,
    named: bool = False,
    force: bool = False,
) -> SyncReport:
    """Index one file now, or delete its document if the file no longer exists.

    .gitignore does not apply.

    Args:
        store: Open for writing.
        config: Which files the index covers.
        path: Relative to the config's folder, or absolute.
        named: The user asked for this document: index it although no glob covers it, and keep it
            until the user deletes it.
        force: Parse it again even if it is unchanged.

    Raises:
        UsageError: The file is outside the config's folders, excluded, or never indexed.
        NotFoundError: The file does not exist, and (unless `named`) is not in the index either.
    """
    name, real = walk.locate(config, path)
    before = store.choices().get(name)
    if not named and before is not True:
        _check_wanted(config, name, real, excluded=before is False)
    report = SyncReport()
    found = _examine(config, name, real)
    known = store.document(name)
    if found is None:
        if known is None or named:
            raise NotFoundError(f"{name} does not exist.", details={"field": "path"})
        report.deleted = int(store.delete_document(name))
        return report
    if named:
        store.choose(name, wanted=True)
    states = {}
    if known is not None:
        digest = "" if force else known.digest
        states[name] = FileState(digest, known.size, known.mtime_ns, known.inode)
    index_files(store, config, [(name, found)], states, report)
    why = report.failed.get(name) or report.skipped.get(name)
    if why:
        store.choose(name, before)
        raise _not_indexed(f"{name} is not indexed: {why}.")
    return report


def _not_indexed(message: str) -> UsageError:
    return UsageError(message, code=INDEX_FAILED, details={"field": "path"})


def _check_wanted(config: IndexConfig, name: str, real: Path, *, excluded: bool) -> None:
    if excluded or not walk.is_covered(config, real):
        uncovered = f"it matches no pattern in {config.path.name}"
        why = walk.EXCLUDED_BY_USER if excluded else uncovered
        raise _not_indexed(f"{name} is not indexed: {why}.")


def _examine(config: IndexConfig, name: str, real: Path) -> walk.FoundFile | None:
    """Return the file, or None if it no longer exists.

    Raises:
        UsageError: Such files are never indexed.
    """
    try:
        found = walk.examine(str(real), name, config)
    except OSError as error:
        raise _not_indexed(f"{name} cannot be read: {error.strerror}.") from error
    if found is None and os.path.lexists(real):
        found = f"{config.path.name} covers no such files"
    if isinstance(found, str):
        raise _not_indexed(f"{name} is not indexed: {found}.")
    return found


def _check_chunker(store: Store, chunker: str) -> None:
    if store.get_meta("chunker") == chunker:
        return
    with store.batch():
        store.forget_digests()
        store.set_meta("chunker", chunker)


def _looks_same(known: FileState | None, found: walk.FoundFile | DocumentRow) -> bool:
    if known is None or not known.digest:
        return False
    return (known.size, known.mtime_ns, known.inode) == (found.size, found.mtime_ns, found.inode)


def _batches(files: Iterable[FileToRead]) -> list[list[FileToRead]]:
    """Split files into batches; the first is small, so that the first answer comes soon."""
    batches: list[list[FileToRead]] = [[]]
    size = 0
    for file in files:
        most = BATCH_FILES if len(batches) > 1 else FIRST_BATCH_FILES
        if batches[-1] and (len(batches[-1]) >= most or size + file.size > BATCH_BYTES):
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return batches


def index_files(
    store: Store,
    config: IndexConfig,
    found: Iterable[tuple[str, walk.FoundFile]],
    known: Mapping[str, FileState],
    report: SyncReport,
    stop: Stop = lambda: False,
) -> None:
    """Read and index some files in this process.

    Args:
        store: Open for writing.
        config: Which files the index covers.
        found: Names and states of the files.
        known: What the index has of them.
        report: Is completed.
        stop: Polled before each file.
    """
    for files in _batches(_to_read(found, known)):
        batch = read_batch(files, config.chunk_size, stop)
        if batch is None:
            return
        write_batch(store, batch, known, report)


def _to_read(
    found: Iterable[tuple[str, walk.FoundFile]], known: Mapping[str, FileState]
) -> Iterator[FileToRead]:
    for name, file in found:
        old = known.get(name)
        yield FileToRead(name, file.real, file.size, old.digest if old else "")


def write_batch(
    store: Store, batch: Batch, known: Mapping[str, FileState], report: SyncReport
) -> None:
    """Store a batch in one transaction; if a file cannot be stored, the others one by one."""
    report.masked += batch.masked
    report.failed |= batch.failed
    report.skipped |= batch.skipped
    for name in batch.skipped:
        if name in known:
            report.deleted += store.delete_document(name)
    with store.batch():
        report.unchanged += len(batch.touched)
        for row in batch.touched:
            if not _looks_same(known.get(row.path), row):
                store.touch_document(
                    row.path, size=row.size, mtime_ns=row.mtime_ns, inode=row.inode
                )
    # Not inside the same transaction: a savepoint would copy each page that it changes.
    stored = _put(store, batch.read, report)
    new = sum(each.row.path not in known for each in stored)
    report.added += new
    report.updated += len(stored) - new


def _put(store: Store, files: list[ReadFile], report: SyncReport) -> list[ReadFile]:
    """Store files; return those that could be stored."""
    try:
        store.put_documents(files)
    except (ValueError, UnicodeError) as error:
        if len(files) == 1:
            report.failed[files[0].row.path] = reason(error)
            return []
        return [read for file in files for read in _put(store, [file], report)]
    return files


def _delete_missing(
    store: Store, config: IndexConfig, scan: walk.Scan, known: Iterable[str], report: SyncReport
) -> None:
    """Delete documents that disappeared or are no longer covered; postpone doubtful deletions."""
    verdict = deletions.judge(store, config, scan, known)
    report.failed |= verdict.failed
    report.held = len(verdict.held)
    _store_count(store, "held", report.held)
    report.warnings += verdict.warnings
    for start in range(0, len(verdict.to_delete), BATCH_FILES):
        with store.batch():
            for name in verdict.to_delete[start : start + BATCH_FILES]:
                report.deleted += store.delete_document(name)


def _store_count(store: Store, key: str, count: int) -> None:
    """Store a count for `completeness`, if it changed."""
    if count != int(store.get_meta(key) or 0):
        store.set_meta(key, str(count))
