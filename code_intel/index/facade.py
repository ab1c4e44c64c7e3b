"""Open the index of one corpus for servers and tools.

index = Index(settings.forest, embedder=embedder, cache=cache)
index.start()                     # background: walk, words, vectors
index.store.word_hits(...)        # answers at once from what is indexed so far
index.refresh("docs/a.md")        # index one document now
index.close()
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError, StorageError
from code_intel.index.completeness import Completeness, completeness_of
from code_intel.index.database import DAMAGED, NEWER_INDEX, Database
from code_intel.index.indexer import Activity, Indexer, Status
from code_intel.index.lease import IndexerLease
from code_intel.index.opening import prepare_folder
from code_intel.index.report import SyncReport
from code_intel.index.staleness import DiskCheck
from code_intel.index.store import Store
from code_intel.index.sync import Progress, sync, sync_document
from code_intel.index.vectors import embed_document, embed_pending
from code_intel.index.walk import locate
from code_intel.records import Freshness

CHECK_INTERVAL_S = 1.0
"""Seconds between two checks of another process's progress."""
MAX_IDLE_CHECKS = 10
"""Number of checks without progress after which this process embeds, too."""


class Index:
    """The index of one corpus. Creating the object opens, reads and locks nothing.

    Args:
        config: Which files to index, and where the database is.
        embedder: Computes the vectors; with None, only words are indexed.
        cache: The vectors that any project has computed so far.
        readonly: Never build, move or repair the database.
        check_disk: Let `freshness` scan the disk, because no indexer may be running.
        activity: When the process last received a request; see `Indexer`.
        command: The command line that builds the index, which hints name.
    """

    def __init__(
        self,
        config: IndexConfig,
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
        readonly: bool = False,
        check_disk: bool = False,
        activity: Activity | None = None,
        command: str = "code-intel sync",
    ) -> None:
        self.config = config
        self.embedder = embedder
        self.cache = cache
        self.readonly = readonly
        self.check_disk = check_disk
        self.activity = activity
        self.command = command
        self.indexer: Indexer | None = None
        self.disk_check = DiskCheck(config)
        self._completed = False
        self._file_state: tuple[int, ...] | None = None
        self._counts: tuple[tuple[int, ...], Completeness] | None = None
        self._store: Store | None = None
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """The store, opened on first use.

        Raises:
            NotFoundError: The index is read-only and does not exist yet.
            StorageError: The project no longer exists, or the file cannot be used. If the file is
                damaged, this process's indexer has been asked to repair it.
        """
        if not self.readonly:
            self._prepare_folder()
        with self._lock:
            if self._store is None:
                database = Database(
                    self.config.db_path,
                    readonly=self.readonly,
                    command=self.command,
                    on_damage=self._request_repair,
                )
                self._store = Store(database, dimensions=self.config.dimensions)
            return self._store

    def _prepare_folder(self) -> None:
        """Create and check the database's folder, unless the file is the same as last time."""
        state = _file_state(self.config.db_path)
        if state is None or state != self._file_state:
            prepare_folder(self.config.folder, self.config.db_path)
            self._file_state = _file_state(self.config.db_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def read_once(self, embedder: Embedder | None) -> "Index":
        """Return this index as a process of its own would open it for one answer.

        It shares the store, has no indexer, and looks at the disk itself. Do not close it.
        """
        alone = Index(
            self.config,
            embedder=embedder,
            cache=self.cache,
            readonly=True,
            check_disk=True,
            command=self.command,
        )
        alone._store = self.store
        return alone

    def start(self) -> None:
        """Start the indexer in the background; do nothing if read-only."""
        if not self.readonly and self.indexer is None:
            self.indexer = Indexer(
                self.config, embedder=self.embedder, cache=self.cache, activity=self.activity
            )
            self.indexer.start()

    def request_scan(self) -> None:
        """Ask the indexer for a scan; return at once."""
        if self.indexer is not None:
            self.indexer.request()

    def freshness(self, degraded: Sequence[str] = ()) -> Freshness:
        """Return how complete the index is; `degraded` holds further reasons to report."""
        reasons, counts, is_unavailable = list(degraded), Completeness(), False
        try:
            counts = self._count()
            reasons += self._empty_note() if counts.scanned and not counts.files else []
        except CodeIntelError as error:
            reasons.append(f"index: {error.message} {error.hint}")
            is_unavailable = error.error == NEWER_INDEX or not self.config.db_path.parent.is_dir()
        status = self.indexer.status if self.indexer else Status()
        lease = IndexerLease(self.config.db_path)
        if status.degraded and counts.files:
            reasons.append(status.degraded)
        if status.problem and not is_unavailable:
            reasons.append(f"index: {status.problem}")
        notes = [*counts.notes, *self._disk_notes(scanned=counts.scanned)]
        reasons += notes
        if overdue := 0.0 if status.leading else lease.overdue():
            reasons.append(_stalled_note(lease.holder(), overdue))
        if counts.scanned:
            stale = status.scanning or status.problem or notes or overdue
            stale = stale or self._awaits_scan(status)
            stale = stale or (self.indexer is not None and self.indexer.is_behind)
            state: Literal["fresh", "stale", "building", "missing"] = "stale" if stale else "fresh"
        elif is_unavailable or (self.readonly and lease.is_free()):
            state = "missing"
            if not any(reason.startswith("index: ") for reason in reasons):
                reasons.append(f"index: it is not complete. Run `{self.command}`.")
        else:
            state = "building"
        return Freshness(state, counts.files, counts.pending, tuple(dict.fromkeys(reasons)))

    def _count(self) -> Completeness:
        """Return the counts of the database; read them again only after a write."""
        store = self.store
        token, cached = store.version_token(), self._counts
        if cached is None or token is None or cached[0] != token:
            self._counts = cached = (token or (), completeness_of(store))
        return cached[1]

    def _empty_note(self) -> list[str]:
        """Return a note about an empty forest; an empty map is normal at first."""
        if self.config.corpus == "map":
            return []
        name = self.config.path.name
        return [f"index: it contains no files. `code-intel doctor` shows what {name} covers"]

    def _disk_notes(self, *, scanned: bool) -> list[str]:
        """Return a note if the disk differs from the index; scan it at most once per interval."""
        if not (scanned and self.check_disk):
            return []
        return [*filter(None, [self.disk_check.note(self.store)])]

    def refresh(self, path: str | Path, *, named: bool = False, force: bool = False) -> SyncReport:
        """Index the words of one document now, and its vectors if a model works.

        See `sync_document` for the arguments.

        Raises:
            UsageError: No pattern covers the path, or the file is never indexed.
            NotFoundError: The document is neither on disk nor in the index.
        """
        report = sync_document(self.store, self.config, path, named=named, force=force)
        if self.embedder is None:
            return report
        try:
            name, _ = locate(self.config, path)
            embed_document(self.store, self.embedder, self.cache, name)
        except EmbeddingError as error:
            report.warnings.append(f"embedding: {error.message}")
        return report

    def complete(
        self,
        *,
        words_only: bool = False,
        progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
        stop: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda note: None,  # noqa: ARG005 - silent by default
    ) -> SyncReport:
        """Bring words and vectors up to date before returning, as `code-intel sync` does.

        A damaged index is rebuilt first. If another process holds the lease, that process repairs
        the index and computes the vectors, and this call waits for the vectors.

        Args:
            words_only: Neither compute vectors nor wait for them.
            progress: Called with (done, total), first for files, then for vectors.
            stop: Polled between steps; returning True ends the call early.
            say: Called with each note at once; the report's warnings include the notes.

        Raises:
            StorageError: The project folder no longer exists, or the database cannot be written.
        """
        notes: list[str] = []

        def note(sentence: str) -> None:
            notes.append(sentence)
            say(sentence)

        prepare_folder(self.config.folder, self.config.db_path)
        lease = IndexerLease(self.config.db_path)

        def stopped() -> bool:
            lease.heartbeat()
            return stop()

        try:
            self._repair(lease, note)
            try:
                report = sync(self.store, self.config, progress=progress, stop=stopped)
            except StorageError as error:
                if error.error != DAMAGED:
                    raise
                self._repair(lease, note)  # which now checks the whole database
                report = sync(self.store, self.config, progress=progress, stop=stopped)
            if not words_only and self.embedder is not None:
                try:
                    self._complete_vectors(self.embedder, lease, progress, stopped)
                except EmbeddingError as error:
                    notes.append(f"embedding: {error.message}")
        finally:
            lease.release()
        self._completed = self._completed or not report.stopped
        report.warnings += notes
        return report

    def close(self) -> None:
        """Stop the indexer within a second and close the database."""
        if self.indexer is not None:
            self.indexer.stop()
            self.indexer = None
        self.disk_check.join()
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _repair(self, lease: IndexerLease, note: Callable[[str], None]) -> None:
        name = self.config.db_path.name
        if not lease.acquire():
            if self.indexer is None or not self.indexer.status.leading:
                pid = lease.holder()
                note(f"{f'Process {pid}' if pid else 'Another process'} is also indexing {name}.")
            self._request_repair()
            return
        if not lease.needs_check():
            return
        before = self._names_set_aside()
        with Store.open(self.config.db_path, dimensions=self.config.dimensions) as store:
            if store.repair():
                note(f"{name} was damaged and is being rebuilt.")
        lease.note_check()
        for copy in sorted(self._names_set_aside() - before):
            note(f"The previous {name} is kept as {copy}.")

    def _names_set_aside(self) -> set[str]:
        """Return the names of the files that were set aside."""
        prefix = f"{self.config.db_path.name}."
        names = (path.name for path in self.config.db_path.parent.glob("*-bak*"))
        return {
            name for name in names if name.startswith(prefix) and name.endswith(("-bak", "-bak2"))
        }

    def _awaits_scan(self, status: Status) -> bool:
        """Return whether the first scan of this process's indexer is still to come."""
        if self.readonly or self._completed or status.scans:
            return False
        return status.leading or not status.turns

    def _request_repair(self) -> bool:
        """Ask this or another process's indexer for a repair; return whether one is running."""
        lease = IndexerLease(self.config.db_path)
        lease.require_check()
        if self.readonly:
            return False
        if self.indexer is not None:
            self.indexer.request(suspect=True)
            return True
        if lease.is_free():
            return False
        lease.report_damage()
        return True

    def _complete_vectors(
        self, embedder: Embedder, lease: IndexerLease, progress: Progress, stop: Callable[[], bool]
    ) -> None:
        """Wait for the lease holder to embed; embed here if it ends or makes no progress."""

        def count_pending() -> int:
            processed, cards = self.store.generations.progress(embedder.identity)
            return cards - processed

        def report(pending: int) -> None:
            progress(max(0, total - pending), total)

        pending = total = count_pending()
        idle = 0
        while pending and idle < MAX_IDLE_CHECKS and not stop():
            if lease.acquire(CHECK_INTERVAL_S):
                break
            before, pending = pending, count_pending()
            idle = 0 if pending < before else idle + 1
            report(pending)
        embed_pending(self.store, embedder, self.cache, progress=report, stop=stop)


def _file_state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _stalled_note(pid: int | None, seconds: float) -> str:
    process = f"process {pid}" if pid else "the process"
    return (
        f"index: {process}, which updates it, has shown no progress for {seconds / 60:.0f} min."
        " If it hangs, end it"
    )
