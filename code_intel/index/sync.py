"""Bring the words of an index in line with the disk; vectors follow in `vectors`.

The digest of the bytes decides. (size, mtime, inode) is a hint that spares the reading, except for
files touched since two seconds before the last scan (git's racy rule). Laws: syncing twice is syncing
once is a fresh index; a file that fails is named and the rest goes on.

Unreadable is not deleted: `forgetting` says what is. What the user has said of single documents goes
over the patterns (docs/decisions/0017).
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from code_intel import __version__
from code_intel.chunking import decode_counting, parse_file
from code_intel.chunking.knowledge_page import MOST_BYTES
from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.index import forgetting, walk
from code_intel.index.corpus import LARGEST, is_page, priority
from code_intel.index.reading import read_resolved
from code_intel.index.report import SyncReport
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.records import ParsedFile

BATCH_FILES = 200
BATCH_BYTES = 8 << 20
RACY_NS = 2_000_000_000
CHUNKER = "6"
"""Raise it when the same bytes give other chunks, cards, words or symbols: everything is parsed again,
as it is after an upgrade; vectors of cards that stay the same are kept."""

UNFIT = "index_failed"
"""Code of the error that a file may not or cannot be indexed, as devrag calls it."""

Progress = Callable[[int, int], None]
Stop = Callable[[], bool]


def sync(
    store: Store,
    config: IndexConfig,
    *,
    progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
    stop: Stop = lambda: False,
) -> SyncReport:
    """Index what is new or changed, forget what is gone.

    Args:
        store: Open for writing.
        config: Which files, and how long a Markdown chunk is.
        progress: Called with (files done, files to read) before and after each batch, if any.
        stop: Asked before each file; what was committed stays.

    Raises:
        StorageError: The config's folder is gone, or the database cannot be written.
        BusyError: Another process is writing for more than five seconds.
    """
    started = time.time_ns()
    report = SyncReport()
    _check_chunker(store, f"{__version__}/{CHUNKER}/{config.chunk_size}")
    scan = walk.scan(config, stop)
    report.skipped, report.warnings = scan.skipped, scan.warnings
    if scan.stopped:
        report.stopped = True
        return report
    walk.heed(scan, config, store.choices())
    known = {row.path: row for row in store.documents()}
    todo = unsettled(store, scan, known)
    report.unchanged = len(scan.files) - len(todo)
    done = 0
    if todo:
        progress(0, len(todo))
    for batch in _batches(todo):
        if stop():
            break
        _index_batch(store, config, batch, known, report, stop)
        done += len(batch)
        progress(done, len(todo))
    if stop():
        report.stopped = True
        return report
    _forget(store, config, scan, known.keys(), report)
    _note(store, "skipped", len(report.skipped))
    _note(store, "unread", len(report.failed.keys() & known.keys()))
    # What is skipped is not remembered, so it is looked at each time: no reason to write.
    if any(name not in report.skipped for name, _ in todo) or store.get_meta("scanned_ns") is None:
        with store.batch():
            store.set_meta("scanned_ns", str(started))
            store.set_meta("corpus", config.corpus)
    return report


def unsettled(
    store: Store, scan: walk.Scan, known: Mapping[str, DocumentRow]
) -> list[tuple[str, walk.Found]]:
    """Return the files of a scan whose bytes must be read to know whether the index has them."""
    trusted_before = int(store.get_meta("scanned_ns") or 0) - RACY_NS
    return [
        (name, found)
        for name, found in scan.files.items()
        if max(found.mtime_ns, found.touched_ns) >= trusted_before
        or not _looks_same(known.get(name), found)
    ]


def sync_document(
    store: Store,
    config: IndexConfig,
    path: str | Path,
    *,
    named: bool = False,
    anew: bool = False,
) -> SyncReport:
    """Index one file now, or forget it when it is gone; ignore rules do not apply.

    Args:
        store: Open for writing.
        config: Which files.
        path: Relative to the config's folder, or absolute.
        named: The user asks for this very document: it is indexed beyond the patterns' globs and stays
            so, until it is deleted by name.
        anew: Parse it again though its bytes are known.

    Raises:
        UsageError: It is outside the config's folders, unwanted, or never indexed; says why.
        NotFoundError: It is not on disk and, unless `named`, not in the index either.
    """
    name, real = walk.locate(config, path)
    before = store.choices().get(name)
    if not named and before is not True:
        _check_wanted(config, name, real, kept_out=before is False)
    report = SyncReport()
    found = _examined(config, name, real)
    known = store.document(name)
    if found is None:
        if known is None or named:
            raise NotFoundError(f"{name} is not there.", details={"field": "path"})
        report.deleted = int(store.delete_document(name))
        return report
    if named:
        store.choose(name, wanted=True)
    known_as = {name: replace(known, digest="") if anew else known} if known else {}
    _index_batch(store, config, [(name, found)], known_as, report)
    why = report.failed.get(name) or report.skipped.get(name)
    if why:
        store.choose(name, before)
        raise UsageError(f"{name} is not indexed: {why}.", code=UNFIT, details={"field": "path"})
    return report


def _check_wanted(config: IndexConfig, name: str, real: Path, *, kept_out: bool) -> None:
    if kept_out or not walk.is_covered(config, real):
        why = walk.KEPT_OUT if kept_out else f"no pattern of {config.path.name} means it"
        raise UsageError(f"{name} is not indexed: {why}.", code=UNFIT, details={"field": "path"})


def _examined(config: IndexConfig, name: str, real: Path) -> walk.Found | None:
    """Return the file, or None when it is gone.

    Raises:
        UsageError: It may not be indexed.
    """
    try:
        found = walk.examine(str(real), name, config)
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}.", code=UNFIT, details={"field": "path"}
        ) from error
    if found is None and os.path.lexists(real):
        found = f"{config.path.name} takes no such files"
    if isinstance(found, str):
        raise UsageError(f"{name} is not indexed: {found}.", code=UNFIT, details={"field": "path"})
    return found


def _check_chunker(store: Store, chunker: str) -> None:
    if store.get_meta("chunker") == chunker:
        return
    with store.batch():
        store.forget_digests()
        store.set_meta("chunker", chunker)


def _looks_same(known: DocumentRow | None, found: walk.Found | DocumentRow) -> bool:
    if known is None or not known.digest:
        return False
    return (known.size, known.mtime_ns, known.inode) == (found.size, found.mtime_ns, found.inode)


def _batches(
    todo: Iterable[tuple[str, walk.Found]],
) -> Iterator[list[tuple[str, walk.Found]]]:
    batch: list[tuple[str, walk.Found]] = []
    size = 0
    for name, found in todo:
        if batch and (len(batch) >= BATCH_FILES or size + found.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((name, found))
        size += found.size
    if batch:
        yield batch


def _index_batch(
    store: Store,
    config: IndexConfig,
    batch: Iterable[tuple[str, walk.Found]],
    known: dict[str, DocumentRow],
    report: SyncReport,
    stop: Stop = lambda: False,
) -> None:
    """Read and parse first, so that the write lock is held for the writing alone."""
    fresh: list[tuple[DocumentRow, ParsedFile]] = []
    touched: list[DocumentRow] = []
    for name, found in batch:
        if stop():
            return
        old = known.get(name)
        try:
            data, info = read_resolved(found.real)
            row = _row(name, data, info)
            if old is not None and old.digest == row.digest:
                touched.append(row)
            else:
                fresh.append(_parsed(row, data, config, report))
        except _Skipped as skip:
            report.skipped[name] = str(skip)
            if old is not None:
                report.deleted += store.delete_document(name)
        except Exception as error:  # noqa: BLE001 - one file never stops the rest
            report.failed[name] = _reason(error)
    with store.batch():
        report.unchanged += len(touched)
        for row in touched:
            if not _looks_same(known.get(row.path), row):
                store.touch_document(
                    row.path, size=row.size, mtime_ns=row.mtime_ns, inode=row.inode
                )
        for row, parsed in fresh:
            _put(store, row, parsed, report, is_new=row.path not in known)


def _put(
    store: Store, row: DocumentRow, parsed: ParsedFile, report: SyncReport, *, is_new: bool
) -> None:
    try:
        store.put_document(row, parsed)
    except (ValueError, UnicodeError) as error:
        report.failed[row.path] = _reason(error)
        return
    report.added += is_new
    report.updated += not is_new


class _Skipped(Exception):  # noqa: N818 - not an error: the reason a file has no document
    """The bytes say that this file is not indexed."""


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


def _parsed(
    row: DocumentRow, data: bytes, config: IndexConfig, report: SyncReport
) -> tuple[DocumentRow, ParsedFile]:
    if len(data) > LARGEST:
        raise _Skipped("larger than 1 MiB")
    decoded = decode_counting(data)
    if decoded is None:
        raise _Skipped("binary, or not in a known encoding")
    text, masked = decoded
    report.masked += masked
    size = MOST_BYTES if is_page(row.path) else config.chunk_size  # a page is found as a whole
    parsed = parse_file(row.path, text, chunk_size=size)
    lines = parsed.chunks[-1].end_line if parsed.chunks else 0
    return replace(row, language=parsed.language, lines=lines, problem=parsed.problem), parsed


def _forget(
    store: Store, config: IndexConfig, scan: walk.Scan, known: Iterable[str], report: SyncReport
) -> None:
    """Delete the documents no pattern means any more and those that are gone, if that is believable."""
    verdict = forgetting.judge(store, config, scan, known)
    report.failed |= verdict.failed
    report.held = len(verdict.held)
    _note(store, "held", report.held)
    report.warnings += verdict.warnings
    for start in range(0, len(verdict.doomed), BATCH_FILES):
        with store.batch():
            for name in verdict.doomed[start : start + BATCH_FILES]:
                report.deleted += store.delete_document(name)


def _note(store: Store, key: str, count: int) -> None:
    """Keep a number that answers must know; no change is no reason to write."""
    if count != int(store.get_meta(key) or 0):
        store.set_meta(key, str(count))


def _reason(error: BaseException) -> str:
    if isinstance(error, CodeIntelError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
