"""Check whether an index is up to date, without writing anything.

A process without an indexer, such as a command on a terminal, has to scan the disk itself
(docs/decisions/0011).
"""

import hashlib
import math
import threading
import time

from code_intel.chunking import decode
from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.rows import FileState
from code_intel.index.safe_files import read_resolved
from code_intel.index.store import Store
from code_intel.index.sync import files_to_read

CHECK_TIMEOUT_S = 0.5
"""Time limit of one check, which takes about 0.1 s for a thousand files."""
CHECK_INTERVAL_S = 1.0
"""Seconds between two checks by one `DiskCheck`."""
QUIET_INTERVAL_S = 5.0
"""The same in the background, while nothing writes to the index."""
NOT_CHECKED = "index: results may be out of date. Run `code-intel sync`"


def staleness(store: Store, config: IndexConfig, timeout: float = CHECK_TIMEOUT_S) -> str:
    """Return why the index may be out of date, or an empty text."""
    deadline = time.monotonic() + timeout
    try:
        scan = walk.scan(config, lambda: time.monotonic() > deadline)
        if scan.stopped:
            return NOT_CHECKED
        walk.apply_choices(scan, config, store.choices())
        known = store.file_states()
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


def _is_changed(known: FileState | None, found: walk.FoundFile) -> bool:
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


class DiskCheck:
    """Compares an index with the disk, at most once per interval.

    Attributes:
        in_background: Whether to return the last note while the next check runs in a thread.
            Processes that answer for long set it.
    """

    def __init__(self, config: IndexConfig) -> None:
        self.in_background = False
        self._config = config
        self._checked = -math.inf
        self._version: tuple[int, ...] | None = None
        self._note = ""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, store: Store) -> str:
        """Return why the index may be out of date, or an empty text."""
        is_first = self._checked == -math.inf
        is_quiet = self.in_background and self._version == store.version_token()
        age = time.monotonic() - self._checked
        if age > (QUIET_INTERVAL_S if is_quiet else CHECK_INTERVAL_S):
            if is_first or not self.in_background:
                self._check(store)
            else:
                self._check_later(store)
        return self._note

    def join(self) -> None:
        """Wait for a check in the background, which has a time limit."""
        if self._thread is not None:
            self._thread.join()

    def _check_later(self, store: Store) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._check, args=(store,), daemon=True)
                self._thread.start()

    def _check(self, store: Store) -> None:
        began, version = time.monotonic(), store.version_token()
        self._note = staleness(store, self._config)
        self._checked, self._version = began, version
