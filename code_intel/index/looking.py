"""Whether the disk is as the index has it: a look for those who read and write nothing, such as a terminal's answer.

Only a process with an indexer knows that the index is up to date; a reader has to look (docs/decisions/0011).
"""

import hashlib
import time

from code_intel.chunking import decode
from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.corpus import LARGEST
from code_intel.index.reading import read_resolved
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.sync import unsettled

SECONDS = 0.5
"""What a look may cost an answer; it takes about 0.1 s for a thousand files."""
UNSEEN = "index: nobody has looked at the disk since the last sync, which takes longer than an answer may"


def doubt(store: Store, config: IndexConfig, seconds: float = SECONDS) -> str:
    """Return why the index may not be what the disk is, or nothing; writes nothing."""
    end = time.monotonic() + seconds
    try:
        scan = walk.scan(config, lambda: time.monotonic() > end)
        if scan.stopped:
            return UNSEEN
        walk.heed(scan, config, store.choices())
        known = {row.path: row for row in store.documents()}
        count = len(known.keys() - scan.files.keys())
        for name, found in unsettled(store, scan, known):
            if time.monotonic() > end:
                break  # a file is read at least where one seems changed: enough to say so, or not to know
            count += _is_other(known.get(name), found)
        else:
            return _told(count)
    except CodeIntelError as error:
        return f"index: {error.message}"
    return _told(count) or UNSEEN


def _is_other(known: DocumentRow | None, found: walk.Found) -> bool:
    """Whether a file has other bytes than the index knows, or is a document that it lacks."""
    try:
        data, _ = read_resolved(found.real)
    except OSError:  # gone since, or unreadable: the next sync says which
        return known is not None
    if known is not None:
        return hashlib.sha256(data).hexdigest() != known.digest
    return len(data) <= LARGEST and decode(data) is not None


def _told(count: int) -> str:
    return f"index: {counted(count, 'file')} changed since the last sync" if count else ""
