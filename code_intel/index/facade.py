"""One corpus as servers and tools hold it: its store, its indexer, and how complete it is.

index = open_index(settings.forest, embedder=embedder, cache=cache)
index.start()                     # background: walk, words, vectors
index.store.word_hits(...)        # at once, with whatever is there
index.refresh("docs/a.md")        # one document, now
index.close()
"""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.index.indexer import Indexer, Role
from code_intel.index.store import Store
from code_intel.index.sync import Progress, SyncReport, sync, sync_document
from code_intel.index.vectors import embed_chunks, embed_pending
from code_intel.index.walk import locate
from code_intel.records import Freshness

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 10
ALL = 10_000


class Index:
    """Everything about one corpus; making it opens, reads and locks nothing.

    Args:
        config: Which files, and where the database is.
        embedder: Makes vectors; None: words only.
        cache: Vectors known already, of all projects.
        readonly: A sibling's index: it is looked at and never built from here.
    """

    def __init__(
        self,
        config: IndexConfig,
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
        readonly: bool = False,
    ) -> None:
        self.config = config
        self.embedder = embedder
        self.cache = cache
        self.readonly = readonly
        self.indexer: Indexer | None = None
        self._store: Store | None = None
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """The store, opened at the first use.

        Raises:
            NotFoundError: Read-only, and there is no index yet.
            StorageError: The file cannot be used.
        """
        with self._lock:
            if self._store is None:
                self._store = Store.open(
                    self.config.db_path, dimensions=self.config.dimensions, readonly=self.readonly
                )
            return self._store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def start(self) -> None:
        """Run the indexer in the background; read-only, nothing."""
        if not self.readonly and self.indexer is None:
            self.indexer = Indexer(self.config, embedder=self.embedder, cache=self.cache)
            self.indexer.start()

    def poke(self, *, suspect: bool = False) -> None:
        """Ask the indexer for a look at the disk, and for the role if nobody has it; no wait."""
        if self.indexer is not None:
            self.indexer.request(suspect=suspect)

    def freshness(self, degraded: Sequence[str] = ()) -> Freshness:
        """Return how complete the index is; `degraded` is what the caller knows to be missing."""
        reasons = list(degraded)
        try:
            files, pending = self.store.document_count(), self.store.pending_count()
            scanned = self.store.get_meta("scanned_ns") is not None
        except CodeIntelError as error:
            return Freshness("building", degraded=(*reasons, f"index: {error.message}"))
        status = self.indexer.status if self.indexer else None
        if status is not None and status.degraded and pending:
            reasons.append(status.degraded)
        if status is not None and status.problem:
            reasons.append(f"index: {status.problem}")
        if not scanned:
            return Freshness("building", files, pending, tuple(reasons))
        stale = status is not None and (status.scanning or status.problem or status.report.held)
        return Freshness("stale" if stale else "fresh", files, pending, tuple(reasons))

    def refresh(self, path: str | Path) -> SyncReport:
        """Index one document now, words and, with a usable model, vectors.

        Raises:
            UsageError: It is outside the config's patterns, or never indexed.
            NotFoundError: It is neither on disk nor in the index.
        """
        report = sync_document(self.store, self.config, path)
        if self.embedder is None:
            return report
        try:
            name, _ = locate(self.config, path)
            embed_chunks(self.store, self.embedder, self.cache, self.store.pending(ALL, path=name))
        except EmbeddingError as error:
            report.warnings.append(f"embedding: {error.message}")
        return report

    def complete(
        self,
        *,
        words_only: bool = False,
        progress: Progress = lambda done, total: None,  # noqa: ARG005 - says nothing by default
        stop: Callable[[], bool] = lambda: False,
    ) -> SyncReport:
        """Bring words and vectors up to date before returning; what `sync` on a terminal does.

        Vectors are left to the process that has the role, if one has it, and waited for.

        Raises:
            StorageError: The config's folder is gone, or the database cannot be written.
        """
        report = sync(self.store, self.config, progress=progress, stop=stop)
        if not words_only and self.embedder is not None:
            try:
                self._complete_vectors(self.embedder, progress, stop)
            except EmbeddingError as error:
                report.warnings.append(f"embedding: {error.message}")
        return report

    def close(self) -> None:
        """Stop the indexer within a second and give the file back."""
        if self.indexer is not None:
            self.indexer.stop()
            self.indexer = None
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _complete_vectors(
        self, embedder: Embedder, progress: Progress, stop: Callable[[], bool]
    ) -> None:
        total = self.store.pending_count()
        role = Role(self.config.db_path)
        try:
            if not role.take():
                self._wait_for_others(total, progress, stop)
            embed_pending(
                self.store,
                embedder,
                self.cache,
                progress=lambda left: progress(total - left, total),
                stop=stop,
            )
        finally:
            role.give_up()

    def _wait_for_others(self, total: int, progress: Progress, stop: Callable[[], bool]) -> None:
        """Wait while another process embeds; not for one that has stopped making headway."""
        left, patience = total, time.monotonic() + PATIENCE_SECONDS
        while left and not stop() and time.monotonic() < patience:
            threading.Event().wait(POLL_SECONDS)
            now = self.store.pending_count()
            if now < left:
                patience = time.monotonic() + PATIENCE_SECONDS
            left = now
            progress(total - left, total)


def open_index(
    config: IndexConfig,
    *,
    embedder: Embedder | None = None,
    cache: VectorCache | None = None,
    readonly: bool = False,
) -> Index:
    """Return the index of a config, nothing opened yet; see `Index`."""
    return Index(config, embedder=embedder, cache=cache, readonly=readonly)
