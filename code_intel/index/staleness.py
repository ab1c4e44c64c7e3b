"""Check whether an index is up to date, without writing anything.

A process without an indexer, such as a command on a terminal, has to scan the disk itself
(docs/decisions/0011).
"""

import hashlib
import time

from code_intel.chunking import decode
from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.rows import DocumentRow
from code_intel.index.safe_files import read_resolved
from code_intel.index.store import Store
from code_intel.index.sync import files_to_read

CHECK_TIMEOUT_S = 0.5
"""Time limit of one check, which takes about 0.1 s for a thousand files."""
NOT_CHECKED = "index: results may be out of date. Run `code-intel sync`"


def staleness(store: Store, config: IndexConfig, timeout: float = CHECK_TIMEOUT_S) -> str:
    """Return why the index may be out of date, or an empty text."""
    deadline = time.monotonic() + timeout
    try:
        scan = walk.scan(config, lambda: time.monotonic() > deadline)
        if scan.stopped:
            return NOT_CHECKED
        walk.apply_choices(scan, config, store.choices())
        known = {row.path: row for row in store.documents()}
        count = len(known.keys() - scan.files.keys())
        for name, found in files_to_read(store, scan, known):
            if time.monotonic() > deadline:
                break
            count += _is_changed(known.get(name), found)
        else:
            return _message(count)
    except CodeIntelError as error:
        return f"index: {error.message}"
    return _message(count) or NOT_CHECKED


def _is_changed(known: DocumentRow | None, found: walk.FoundFile) -> bool:
    """Return whether a file's content differs from the index, or is missing there."""
    try:
        data, _ = read_resolved(found.real)
    except OSError:  # deleted or unreadable
        return known is not None
    if known is not None:
        return hashlib.sha256(data).hexdigest() != known.digest
    return len(data) <= MAX_FILE_BYTES and decode(data) is not None


def _message(count: int) -> str:
    return f"index: {counted(count, 'file')} changed since the last sync" if count else ""
