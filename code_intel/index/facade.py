"""One corpus as servers and tools hold it: its store, its indexer, and how complete it is.

index = Index(settings.forest, embedder=embedder, cache=cache)
index.start()                     # background: walk, words, vectors
index.store.word_hits(...)        # at once, with whatever is there
index.refresh("docs/a.md")        # one document, now
index.close()
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.index.counts import Counts, counts_of
from code_intel.index.database import NEWER, Database
from code_intel.index.indexer import Indexer, Status
from code_intel.index.looking import doubt
from code_intel.index.opening import make_place
from code_intel.index.report import SyncReport
from code_intel.index.role import Role
from code_intel.index.store import Store
from code_intel.index.sync import Progress, sync, sync_document
from code_intel.index.vectors import embed_document, embed_pending
from code_intel.index.walk import locate
from code_intel.records import Freshness

LOOK_SECONDS = 1.0
"""How often a wait for another process looks whether it makes headway, and a reader at the disk."""
PATIENCE = 10
"""Looks without headway after which vectors are made beside it."""


class Index:
    """Everything about one corpus; making it opens, reads and locks nothing.

    Args:
        config: Which files, and where the database is.
        embedder: Makes vectors; None: words only.
        cache: Vectors known already, of all projects.
        readonly: It is looked at and never built, moved or repaired from here.
        looks: `freshness` looks at the disk itself: nobody else may have since the index was built.
        command: The command line that builds it, for hints.
    """

    def __init__(
        self,
        config: IndexConfig,
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
        readonly: bool = False,
        looks: bool = False,
        command: str = "code-intel sync",
    ) -> None:
        self.config = config
        self.embedder = embedder
        self.cache = cache
        self.readonly = readonly
        self.looks = looks
        self._looked = (-math.inf, "")
        self.command = command
        self.indexer: Indexer | None = None
        self._completed = False
        self._found: tuple[int, ...] | None = None
        self._counted: tuple[tuple[int, ...], Counts] | None = None
        self._store: Store | None = None
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """The store, opened at the first use.

        Raises:
            NotFoundError: Read-only, and there is no index yet.
            StorageError: The project is gone, or the file cannot be used; whoever meets damage in a process with an indexer has
                set its repair in motion.
        """
        if not self.readonly:
            self._make_place()
        with self._lock:
            if self._store is None:
                database = Database(
                    self.config.db_path,
                    readonly=self.readonly,
                    command=self.command,
                    noticed=self._noticed,
                )
                self._store = Store(database, dimensions=self.config.dimensions)
            return self._store

    def _make_place(self) -> None:
        """Make sure of the index's folder, unless its file is as it was found there: a question asks a hundred times."""
        found = _facts(self.config.db_path)
        if found is None or found != self._found:
            make_place(self.config.folder, self.config.db_path)
            self._found = _facts(self.config.db_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def start(self) -> None:
        """Run the indexer in the background; read-only, nothing."""
        if not self.readonly and self.indexer is None:
            self.indexer = Indexer(self.config, embedder=self.embedder, cache=self.cache)
            self.indexer.start()

    def poke(self) -> None:
        """Ask the indexer for a look at the disk, and for the role if nobody has it; no wait."""
        if self.indexer is not None:
            self.indexer.request()

    def freshness(self, degraded: Sequence[str] = ()) -> Freshness:
        """Return how complete the index is; `degraded` is what the caller knows to be missing."""
        reasons, counts, lost = list(degraded), Counts(), False
        try:
            counts = self._count()
            reasons += self._emptiness() if counts.scanned and not counts.files else []
        except CodeIntelError as error:
            reasons.append(f"index: {error.message} {error.hint}")
            lost = error.error == NEWER or not self.config.db_path.parent.is_dir()
        status = self.indexer.status if self.indexer else Status()
        role = Role(self.config.db_path)
        if status.degraded and counts.files:
            reasons.append(status.degraded)
        if status.problem and not lost:
            reasons.append(f"index: {status.problem}")
        doubts = [*counts.doubts, *self._seen(scanned=counts.scanned)]
        reasons += doubts
        if silence := 0.0 if status.leading else role.silence():
            reasons.append(_unheard(role.holder(), silence))
        if counts.scanned:
            stale = status.scanning or status.problem or doubts or silence
            stale = stale or self._is_unlooked(status)
            state: Literal["fresh", "stale", "building", "missing"] = "stale" if stale else "fresh"
        elif lost or (self.readonly and role.is_free()):
            state = "missing"
            if not any(reason.startswith("index: ") for reason in reasons):
                reasons.append(f"index: it is not complete. Run `{self.command}`.")
        else:
            state = "building"
        return Freshness(state, counts.files, counts.pending, tuple(dict.fromkeys(reasons)))

    def _count(self) -> Counts:
        """Return what the database says of its completeness, asked once until anybody writes."""
        store = self.store
        state, known = store.state(), self._counted
        if known is None or state is None or known[0] != state:
            self._counted = known = (state or (), counts_of(store))
        return known[1]

    def _emptiness(self) -> list[str]:
        """Return that a complete index holds nothing, which is usual for a map that is still to be learned."""
        if self.config.corpus == "map":
            return []
        name = self.config.path.name
        return [f"index: it holds no file; `code-intel doctor` says what {name} means"]

    def _seen(self, *, scanned: bool) -> list[str]:
        """Return what a look at the disk of one's own says against the index; several answers at once share one."""
        if not (scanned and self.looks):
            return []
        now = time.monotonic()
        if now - self._looked[0] > LOOK_SECONDS:
            self._looked = (now, doubt(self.store, self.config))
        return [*filter(None, [self._looked[1]])]

    def refresh(self, path: str | Path, *, named: bool = False, anew: bool = False) -> SyncReport:
        """Index one document now, words and, with a usable model, vectors; see `sync_document`.

        Raises:
            UsageError: It is outside the config's patterns, or never indexed.
            NotFoundError: It is neither on disk nor in the index.
        """
        report = sync_document(self.store, self.config, path, named=named, anew=anew)
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
        say: Callable[[str], None] = lambda sentence: None,  # noqa: ARG005 - says nothing by default
    ) -> SyncReport:
        """Bring words and vectors up to date before returning; what `sync` on a terminal does.

        A damaged index is rebuilt first. That and vectors are left to the process that has the role,
        if another one has it; the vectors are waited for.

        Args:
            words_only: Leave the vectors to others.
            progress: Called with (done, total), of files and then of vectors.
            stop: Asked in between.
            say: Told at once, in a sentence, what else is done or waited for; the report's warnings
                repeat it.

        Raises:
            StorageError: The config's folder is gone, or the database cannot be written.
        """
        notes: list[str] = []

        def note(sentence: str) -> None:
            notes.append(sentence)
            say(sentence)

        make_place(self.config.folder, self.config.db_path)
        role = Role(self.config.db_path)

        def stopped() -> bool:
            role.beat()
            return stop()

        try:
            self._mend(role, note)
            report = sync(self.store, self.config, progress=progress, stop=stopped)
            if not words_only and self.embedder is not None:
                try:
                    self._complete_vectors(self.embedder, role, progress, stopped)
                except EmbeddingError as error:
                    notes.append(f"embedding: {error.message}")
        finally:
            role.give_up()
        self._completed = self._completed or not report.stopped
        report.warnings += notes
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

    def _mend(self, role: Role, note: Callable[[str], None]) -> None:
        name = self.config.db_path.name
        if not role.take():
            if self.indexer is None or not self.indexer.status.leading:
                who = role.holder()
                note(f"{f'Process {who}' if who else 'Another process'} is indexing {name} too.")
            self._noticed()
            return
        before = self._kept()
        with Store.open(self.config.db_path, dimensions=self.config.dimensions) as store:
            if store.mend():
                note(f"{name} was damaged and is built anew.")
        for kept in sorted(self._kept() - before):
            note(f"What {name} was before is kept as {kept}.")

    def _kept(self) -> set[str]:
        """Return the names of the files that were set aside or copied before a migration."""
        begin = f"{self.config.db_path.name}."
        names = (path.name for path in self.config.db_path.parent.glob("*-bak*"))
        return {
            name for name in names if name.startswith(begin) and name.endswith(("-bak", "-bak2"))
        }

    def _is_unlooked(self, status: Status) -> bool:
        """Whether a process that keeps the index up to date has not looked at the disk yet."""
        if self.readonly or self._completed or status.scans:
            return False
        return status.leading or not status.turns

    def _noticed(self) -> bool:
        """Set the repair of a damaged index in motion; whether anybody is there to do it."""
        if self.readonly:
            return False
        if self.indexer is not None:
            self.indexer.request(suspect=True)
            return True
        role = Role(self.config.db_path)
        if role.is_free():
            return False
        role.report_damage()
        return True

    def _complete_vectors(
        self, embedder: Embedder, role: Role, progress: Progress, stop: Callable[[], bool]
    ) -> None:
        """Embed what is pending, after the process that has the role unless that makes no headway."""

        def left() -> int:
            made, cards = self.store.generations.progress(embedder.identity)
            return cards - made

        now = total = left()
        looks = 0
        while now and looks < PATIENCE and not stop() and not role.take(LOOK_SECONDS):
            before, now = now, left()
            looks = 0 if now < before else looks + 1
            progress(max(0, total - now), total)
        embed_pending(
            self.store,
            embedder,
            self.cache,
            progress=lambda now: progress(max(0, total - now), total),
            stop=stop,
        )


def _facts(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _unheard(process: int | None, seconds: float) -> str:
    who = f"process {process}" if process else "the process"
    return (
        f"index: {who}, which keeps it up to date, has not been heard of for {seconds / 60:.0f} min;"
        " if it hangs, end it"
    )
