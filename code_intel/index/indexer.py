"""The background role: one process a database walks, indexes and embeds; the others only ask.

The elected one (`role`) re-scans when asked and every few seconds, less often where a scan is dear,
and embeds in small steps in between; when anybody has met damage it checks, and rebuilds what is
broken. Others try for the role whenever they are asked something.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from code_intel.config import IndexConfig
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.engine import Embedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.index.database import DAMAGED
from code_intel.index.opening import make_place
from code_intel.index.report import SyncReport
from code_intel.index.role import BEAT_SECONDS, Role
from code_intel.index.store import Store
from code_intel.index.sync import sync
from code_intel.index.vectors import embed_pending

log = logging.getLogger(__name__)

EVERY_SECONDS = 3.0
ASKED_SHARE = 4
"""A scan on request waits for 4 t after the last one: questions in a row do not pay for scans."""
CALM_SECONDS = 0.3
"""A scan that a question asks for comes after the answer: the two would share one interpreter."""
WAY_SECONDS, MOST_WAY = 0.1, 3.0
"""A scan that is under way pauses for so long when somebody asks, and in all for so long."""
SCAN_SHARE = 20
"""A scan that takes t seconds is repeated after 20 t at the earliest: at most 5 % of one core."""
STOP_SECONDS = 0.9


@dataclass(slots=True)
class Status:
    """What the indexer of this process is doing.

    Attributes:
        leading: Whether this process has the role.
        scanning: Whether a scan has found something to do and is at it.
        turns: How often it has looked, leading or not.
        scans: Completed scans.
        report: Of the last completed scan.
        problem: Why the last turn failed, or empty.
        degraded: Why vectors are not being made, or empty.
    """

    leading: bool = False
    scanning: bool = False
    turns: int = 0
    scans: int = 0
    report: SyncReport = field(default_factory=SyncReport)
    problem: str = ""
    degraded: str = ""


class Indexer:
    """One background thread for one database; it has a store of its own.

    Attributes:
        asked: When anything in this process was asked last, whatever index it asked (`time.monotonic`).
    """

    asked = -WAY_SECONDS

    def __init__(
        self,
        config: IndexConfig,
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
        every: float = EVERY_SECONDS,
    ) -> None:
        self.config = config
        self.status = Status()
        self.role = Role(config.db_path, min(every, BEAT_SECONDS))
        self._embedder = embedder
        self._cache = cache
        self._every = every
        self._next_scan = 0.0
        self._earliest = 0.0
        self._suspect = True
        self._way = 0.0
        self._store: Store | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._turned = threading.Condition()

    def start(self) -> None:
        """Begin in the background; once started, nothing."""
        if self._thread is None:
            name = f"indexer {self.config.corpus}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def request(self, *, suspect: bool = False) -> None:
        """Ask for a scan soon, and for the role if nobody has it; returns at once.

        `suspect` says that a read found the database damaged: whoever has the role checks it first.
        """
        if suspect:
            self._suspect = True
            if not self.status.leading:
                self.role.report_damage()
        now = Indexer.asked = time.monotonic()
        soon = now + (0.0 if suspect else CALM_SECONDS)
        self._next_scan = min(self._next_scan, max(self._earliest, soon))
        self._wake.set()

    def wait(self, until: Callable[[Status], bool], timeout: float) -> bool:
        """Wait until the status after a turn satisfies `until`; False after `timeout` seconds."""
        with self._turned:
            return self._turned.wait_for(lambda: until(self.status), timeout)

    def stop(self) -> None:
        """End within a second; a step that is still embedding then ends by itself."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                self._turn()
                with self._turned:
                    self.status.turns += 1
                    self._turned.notify_all()
                self._wake.wait(max(0.0, min(self._every, self._next_scan - time.monotonic())))
        finally:
            if self._store is not None:
                self._store.close()
            self.role.give_up()
            self.status.leading = False

    def _turn(self) -> None:
        """Do what is due; whatever goes wrong is kept in the status and tried again later."""
        try:
            make_place(self.config.folder, self.config.db_path)
            self.status.leading = self.role.take()
            if self.status.leading:
                self.role.beat()
                self._work()
            else:
                self._next_scan = time.monotonic() + self._every
            self.status.problem = self._unkept()
        except CodeIntelError as error:
            self.status.problem = error.message
            if not self.config.db_path.parent.is_dir():  # its lock is no lock any more
                self.role.give_up()
            self._suspect = self._suspect or error.error == DAMAGED
            self._next_scan = time.monotonic() + self._every
        except Exception as error:
            if not self._stopping.is_set():  # what it works with may be taken from it at the end
                log.exception("The indexer of %s failed; it will try again.", self.config.db_path)
            self.status.problem = f"{type(error).__name__}: {error}"
            self._next_scan = time.monotonic() + self._every
        finally:
            self.status.scanning = False

    def _unkept(self) -> str:
        """Return why nobody keeps the index up to date: not this process, which may not, and no other."""
        if not self.role.refused or not self.role.is_free():
            return ""
        return f"{self.config.db_path.name} is not kept up to date: {self.role.refused}."

    def _work(self) -> None:
        store = self._opened()
        started, self._way = time.monotonic(), MOST_WAY
        if started >= self._next_scan:
            report = sync(store, self.config, progress=self._scanning, stop=self._told_to_stop)
            self.status.scanning = False
            ended = time.monotonic()
            self._earliest = ended + ASKED_SHARE * (ended - started)
            self._next_scan = ended + max(self._every, SCAN_SHARE * (ended - started))
            if not report.stopped:
                self.status.report = report
                self.status.scans += 1
                with self._turned:
                    self._turned.notify_all()
        self._embed(store)

    def _embed(self, store: Store) -> None:
        if self._embedder is None:
            return
        try:
            embed_pending(store, self._embedder, self._cache, stop=self._interrupted)
            self.status.degraded = ""
        except EmbeddingError as error:
            self.status.degraded = f"embedding: {error.message}"

    def _interrupted(self) -> bool:
        due = time.monotonic() >= self._next_scan
        return due or self._told_to_stop() or self._suspected()

    def _told_to_stop(self) -> bool:
        self.role.beat()
        self._give_way()
        return self._stopping.is_set()

    def _give_way(self) -> None:
        """Let a question that came meanwhile go first, since the two share one interpreter; but not for ever."""
        pause = min(self._way, Indexer.asked + WAY_SECONDS - time.monotonic())
        if pause > 0:
            self._way -= pause
            self._stopping.wait(pause)

    def _scanning(self, _done: int, _total: int) -> None:
        self.status.scanning = True

    def _opened(self) -> Store:
        """Open the store; just elected, or when told so, make sure that it is sound."""
        if self._store is None:
            self._store = Store.open(self.config.db_path, dimensions=self.config.dimensions)
        if self._suspected():
            self._suspect = False
            try:
                broken = self._store.mend()
            except CodeIntelError:
                self._suspect = True
                raise
            if broken:
                log.warning("%s is rebuilt: %s", self.config.db_path, "; ".join(broken))
                self._next_scan = 0.0
        return self._store

    def _suspected(self) -> bool:
        self._suspect = self.role.damage_reported() or self._suspect
        return self._suspect
