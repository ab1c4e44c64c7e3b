"""Keep an index up to date in a background thread.

One process per database does this, the holder of the `lease`. It indexes the files that a watch
names at once. It also scans: on request, and from time to time, or every few seconds where nothing
can be watched (less often if scans take long). It embeds in small steps in between. If damage was
reported, it checks the database and rebuilds it if necessary. The other processes try to acquire
the lease at each turn.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.index.corpus import CORPORA, OwnNames
from code_intel.index.database import DAMAGED
from code_intel.index.lease import HEARTBEAT_S, IndexerLease
from code_intel.index.opening import prepare_folder
from code_intel.index.report import SyncReport
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending
from code_intel.index.walk import Scan, document_name
from code_intel.index.watching.named import ChangedFiles
from code_intel.index.watching.watch import Watch

log = logging.getLogger(__name__)

SCAN_INTERVAL_S = 3.0
REQUEST_BACKOFF = 4
"""After a scan that took t seconds, a requested scan starts no sooner than 4 t later. Pauses, and
the time in which changed files are indexed, do not count."""
REQUEST_DELAY_S = 0.3
"""Delay of a requested scan, so that the answer is sent first: both share one interpreter."""
FEW_CHANGES = 50
"""So many changes are indexed without a pause for requests: these may be about them."""
PAUSE_S, MAX_PAUSE_S = 0.1, 3.0
"""How long a running scan pauses for one request, and at most for all requests together."""
SCAN_BACKOFF = 20
"""After a scan that took t seconds, the next is at least 20 t later: it uses 5% of one core."""
IDLE_BACKOFF = 150
"""The same if no request came for a minute: less than 1%, with git and the search for deleted
files, whose processor time is not part of t."""
WATCHED_BACKOFF = 400
"""The same if a watch names the files that change: the scan only finds what the watch missed."""
IDLE_S = 60.0
WATCHED_INTERVALS = 20
"""With a watch, scans are at least so many intervals apart: a minute."""
STOP_TIMEOUT_S = 0.9


@dataclass(slots=True)
class Activity:
    """When this process last received a request (`time.monotonic`); shared by its indexers."""

    last_request: float = -PAUSE_S


@dataclass(slots=True)
class Status:
    """What the indexer of this process is doing.

    Attributes:
        leading: Whether this process holds the lease.
        scanning: Whether a scan is indexing changed files.
        turns: Number of turns, with or without the lease.
        scans: Number of completed scans.
        report: Result of the last completed scan.
        problem: Why the last turn failed, or empty.
        degraded: Why chunks are not being embedded, or empty.
    """

    leading: bool = False
    scanning: bool = False
    turns: int = 0
    scans: int = 0
    report: SyncReport = field(default_factory=SyncReport)
    problem: str = ""
    degraded: str = ""


class Indexer:
    """A background thread that updates one database through its own store.

    Args:
        config: The configuration of the index.
        embedder: Computes the vectors; with None, only words are indexed.
        cache: The vectors that any project has computed so far.
        activity: When the process last received a request; scans pause for requests.
        interval: Seconds between two scans.
    """

    def __init__(
        self,
        config: IndexConfig,
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
        activity: Activity | None = None,
        interval: float = SCAN_INTERVAL_S,
    ) -> None:
        self.config = config
        self.status = Status()
        self.lease = IndexerLease(config.db_path, min(interval, HEARTBEAT_S))
        self._embedder = embedder
        self._cache = cache
        self._activity = activity or Activity()
        self._interval = interval
        self._wake = threading.Event()
        self._named: ChangedFiles | None = None
        self._own = OwnNames(config)
        self._folder = os.path.realpath(config.folder)
        self._watch = Watch(self._wake.set, self._is_wanted)
        self._needs_scan = False
        self._earliest_scan = 0.0
        self._next_scan = 0.0
        self._earliest_requested_scan = 0.0
        self._suspect = False
        self._pause_left = 0.0
        self._store: Store | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._turn_ended = threading.Condition()

    def start(self) -> None:
        """Start the thread, unless it was started already."""
        if self._thread is None:
            name = f"indexer {self.config.corpus}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def request(self, *, suspect: bool = False) -> None:
        """Request a turn with a scan, and return at once.

        Args:
            suspect: A read found damage; let the holder of the lease check the database first.
        """
        if suspect:
            self._suspect = True
            if not self.status.leading:
                self.lease.report_damage()
        now = self._activity.last_request = time.monotonic()
        soon = now + (0.0 if suspect else REQUEST_DELAY_S)
        self._next_scan = min(self._next_scan, max(self._earliest_requested_scan, soon))
        self._wake.set()

    @property
    def is_behind(self) -> bool:
        """Whether a change was noticed that is not in the index yet."""
        return self._watch.has_changes or self._needs_scan

    @property
    def watched(self) -> frozenset[str]:
        """The folders in which changes are noticed at once."""
        return self._watch.folders

    def wait(self, until: Callable[[Status], bool], timeout: float) -> bool:
        """Wait until the status satisfies `until`; return False after `timeout` seconds."""
        with self._turn_ended:
            return self._turn_ended.wait_for(lambda: until(self.status), timeout)

    def stop(self) -> None:
        """Stop the thread; do not wait for an embedding step that takes more than a second."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                self._take_turn()
                with self._turn_ended:
                    self.status.turns += 1
                    self._turn_ended.notify_all()
                self._wake.wait(max(0.0, min(self._interval, self._next_scan - time.monotonic())))
        finally:
            self._watch.stop()
            if self._store is not None:
                self._store.close()
            self.lease.release()
            self.status.leading = False

    def _take_turn(self) -> None:
        """Do what is due; after an error, record it in the status and try again later."""
        try:
            prepare_folder(self.config.folder, self.config.db_path)
            self.status.leading = self.lease.acquire()
            if self.status.leading:
                self.lease.heartbeat()
                self._scan_and_embed()
            else:
                self._watch.stop()
                self._next_scan = time.monotonic() + self._interval
            self.status.problem = self._disk_problem()
        except CodeIntelError as error:
            self.status.problem = error.message
            self._watch.outdate()
            if not self.config.db_path.parent.is_dir():  # the lock file was deleted, too
                self.lease.release()
            if error.error == DAMAGED:
                self._suspect = True
                self.lease.require_check()
            self._next_scan = time.monotonic() + self._interval
        except Exception as error:
            if not self._stopping.is_set():  # resources may be closed while the process ends
                log.exception("The indexer of %s failed; it will try again.", self.config.db_path)
            self.status.problem = f"{type(error).__name__}: {error}"
            self._next_scan = time.monotonic() + self._interval
        finally:
            self.status.scanning = False

    def _disk_problem(self) -> str:
        """Return why no process updates the index: this one must not lock it, and no other does."""
        if not self.lease.lock_error or not self.lease.is_free():
            return ""
        return f"{self.config.db_path.name} is not updated: {self.lease.lock_error}."

    def _scan_and_embed(self) -> None:
        store = self._checked_store()
        is_whole = store.get_meta("scanned_ns") is not None
        self._pause_left = MAX_PAUSE_S if is_whole else 0.0  # the first requests wait for files
        self._index_changes(store)
        if time.monotonic() >= self._next_scan:
            self._scan(store)
        self._embed(store)

    def _index_changes(self, store: Store) -> None:
        """Index the files that the watch names; plan a scan if that is not certain to suffice."""
        if not self._watch.has_changes:
            return
        self.status.scanning = True
        changes, watched = self._watch.take(), self._watch.folders
        named = self._named = self._named or ChangedFiles(store, self.config)
        if not watched.isdisjoint(changes.paths):
            self._watch.outdate()
        is_few = len(changes.paths) <= FEW_CHANGES
        stop = self._stopping.is_set if is_few else self._should_stop
        if changes.everything or not named.sync(changes.paths, watched, stop):
            self._watch.follow(watched | named.folders)  # now, so that the scan misses nothing
            self._needs_scan = True
            self._next_scan = min(self._next_scan, self._earliest_scan)
        self.status.scanning = False

    def _scan(self, store: Store) -> None:
        started, pauses = time.monotonic(), self._pause_left
        seconds = 0.0

        def follow(scan: Scan) -> None:
            nonlocal seconds
            self._follow(scan)
            seconds = time.monotonic() - started - (pauses - self._pause_left)

        report = sync(
            store,
            self.config,
            progress=self._note_scanning,
            stop=self._should_stop,
            on_scan=follow,
        )
        self.status.scanning = False
        ended = time.monotonic()
        seconds = seconds or ended - started  # it was stopped before all files were listed
        self._earliest_scan = ended + REQUEST_BACKOFF * seconds
        self._earliest_requested_scan = self._earliest_scan
        self._next_scan = ended + self._pause_after(seconds, is_settled=not report.held)
        if self._watch.is_active:
            self._earliest_requested_scan = ended + SCAN_BACKOFF * seconds
        if self._needs_scan:
            self._next_scan = self._earliest_scan
        if not report.stopped:
            self.status.report = report
            self.status.scans += 1
            with self._turn_ended:
                self._turn_ended.notify_all()

    def _follow(self, scan: Scan) -> None:
        """Watch the folders of a scan; if the watch is new, scan once more."""
        self._needs_scan = False
        if CORPORA[self.config.corpus].ignore_rules:  # agreements are few, and are polled
            folders = scan.folders(self.config)
            if self._named is not None:
                self._named.ignored.clear()
                folders |= {folder for folder in self._named.folders if Path(folder).is_dir()}
                self._named.folders &= folders
            self._needs_scan = self._watch.follow(folders)

    def _pause_after(self, seconds: float, *, is_settled: bool) -> float:
        """Return the time until the next scan, after one that took some seconds.

        Without `is_settled`, the next one has to confirm what this one found.
        """
        if self._watch.is_active and is_settled:
            return max(self._interval * WATCHED_INTERVALS, WATCHED_BACKOFF * seconds)
        is_idle = time.monotonic() - self._activity.last_request > IDLE_S
        return max(self._interval, (IDLE_BACKOFF if is_idle else SCAN_BACKOFF) * seconds)

    def _is_wanted(self, path: str) -> bool:
        """Return whether a change of this file may matter; the index itself changes often."""
        name = document_name(path, self._folder)
        is_ignored = self._named is not None and path in self._named.ignored
        return not (is_ignored or self._own.holds(name) or self._own.is_plan_file(name))

    def _embed(self, store: Store) -> None:
        if self._embedder is None:
            return
        try:
            embed_pending(store, self._embedder, self._cache, stop=self._should_interrupt)
            self.status.degraded = ""
        except EmbeddingError as error:
            self.status.degraded = f"embedding: {error.message}"

    def _should_interrupt(self) -> bool:
        due = time.monotonic() >= self._next_scan
        return due or self._should_stop() or self._is_suspect()

    def _should_stop(self) -> bool:
        self.lease.heartbeat()
        self._pause_for_requests()
        return self._stopping.is_set()

    def _pause_for_requests(self) -> None:
        """Let a request run first, up to a limit per scan: both share one interpreter."""
        pause = min(self._pause_left, self._activity.last_request + PAUSE_S - time.monotonic())
        if pause > 0:
            self._pause_left -= pause
            self._stopping.wait(pause)

    def _note_scanning(self, _done: int, _total: int) -> None:
        self.status.scanning = True

    def _checked_store(self) -> Store:
        """Return the open store; check and repair it on first use and when damage was reported."""
        if self._store is None:
            self._store = Store.open(self.config.db_path, dimensions=self.config.dimensions)
            self._suspect = self.lease.needs_check() or self._suspect
        if self._is_suspect():
            self._suspect = False
            try:
                problems = self._store.repair()
            except CodeIntelError:
                self._suspect = True
                raise
            if problems:
                log.warning(
                    "%s was damaged and is being rebuilt: %s",
                    self.config.db_path,
                    "; ".join(problems),
                )
                self._next_scan = 0.0
            self.lease.note_check()
        return self._store

    def _is_suspect(self) -> bool:
        self._suspect = self.lease.damage_reported() or self._suspect
        return self._suspect
