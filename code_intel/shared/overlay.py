"""Lay the files of this machine over the shared index.

While the local index is incomplete, as in a fresh clone, a question is answered by the shared index
of the nearest earlier commit, without the files that differ, and by the local index of those that
do (docs/decisions/0096). A file counts as the same if the digests of its contents are equal, so it
does not matter how it became so.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.union_store import Part, UnionStore
from code_intel.foundation import revisions
from code_intel.index import walk
from code_intel.index.safe_files import read_resolved
from code_intel.index.store import Store
from code_intel.index.sync import sync_document
from code_intel.shared.client import CALL_TIMEOUT_S, Breaker, SharedIndexError
from code_intel.shared.fields import MAX_COMMITS
from code_intel.shared.records import Generation
from code_intel.shared.remote_store import RemoteStore

if TYPE_CHECKING:
    from code_intel.shared.connection import Connection

FIRST_WAIT_S = 3.5
"""How long the first question waits for the list of the files on the server."""
REFRESH_S = 2.0
"""Seconds after which the files are compared again, in the background."""
ASK_AGAIN_S = 60.0
"""Seconds after which the server is asked whether it has the index of a later commit."""
COVERED = 0.95
"""Share of the source with vectors from which the local index is used alone."""
MAX_INDEXED_NOW = 50
"""Maximum files that a question indexes itself; the indexer will index the others."""
BEING_READ = "the list of its files is still being read"
NO_GENERATION = "the server has no index of this repository yet"

Stat = tuple[int, int, int, int]


class OverlayState(NamedTuple):
    """The shared index of a commit, and which files on this machine are the same.

    Attributes:
        generation: The commit.
        remote: Its shared index.
        same: The documents that have the same content on this machine.
        differing: The documents of this machine that have not.
        union: Both indexes as one.
        has_graph: Whether the import graph of the union is known.
    """

    generation: Generation
    remote: RemoteStore
    same: frozenset[str]
    differing: frozenset[str]
    union: UnionStore
    has_graph: bool = False


class Overlay:
    """The overlay of one project; any thread may use it.

    Args:
        connection: The connection to the server.
        config: The configuration of the forest.

    Attributes:
        wants_graph: Whether to build the import graph in the background, which takes longer than a
            question may. A process that answers only once does without it.
    """

    def __init__(self, connection: "Connection", config: IndexConfig) -> None:
        self._connection = connection
        self._config = config
        self.wants_graph = False
        self._state: OverlayState | None = None
        self._source: tuple[Generation, RemoteStore] | None = None
        self._absence = Breaker()
        self._problem = ""
        self._head = ""
        self._asked = self._compared = 0.0
        self._digests: dict[str, tuple[Stat, str]] = {}
        self._refused: set[tuple[str, str]] = set()
        self._own: Store | None = None
        self._thread: threading.Thread | None = None
        self._is_running = self._is_closed = False
        self._lock = threading.Lock()

    @contextmanager
    def question(self, can_search: Callable[[str], bool]) -> Iterator[OverlayState]:
        """Let the block ask the union; all its calls to the server have one time limit.

        Args:
            can_search: Whether questions can be compared with the vectors of a model.

        Raises:
            SharedIndexError: The server does not answer, or has no usable index.
        """
        state = self._current(can_search)
        try:
            with state.remote.question():
                yield state
        except SharedIndexError as error:
            self._note(error)
            raise

    def join(self) -> None:
        """Wait for the work in the background."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Close the local index that the overlay has opened, after the work in the background."""
        with self._lock:
            self._is_closed = True
            self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_closed and not self._is_running and self._own is not None:
            self._own.close()

    def index_now(self, documents: Iterable[str]) -> None:
        """Index the words of some documents at once, so that their symbols are known."""
        for name in islice(self._not_indexed(documents), MAX_INDEXED_NOW):
            try:
                own = self._own_store()
                if own is not None:
                    sync_document(own, self._config, name)
            except CodeIntelError:  # such as a binary file; the indexer says why
                self._refused.add((name, self._digest(name)))

    def unindexed(self, state: OverlayState) -> int:
        """Return how many of the files that differ are not in the local index yet."""
        return sum(1 for _ in self._not_indexed(state.differing))

    def _not_indexed(self, documents: Iterable[str]) -> Iterator[str]:
        """Yield the documents whose current content the local index does not have."""
        own = self._own_store()
        known = {path: digest for path, _, digest in own.digests()} if own is not None else {}
        for name in documents:
            digest = self._digest(name)
            if known.get(name) != digest and (name, digest) not in self._refused:
                yield name

    def _digest(self, name: str) -> str:
        return self._digests[name][1] if name in self._digests else ""

    # --- the state

    def _current(self, can_search: Callable[[str], bool]) -> OverlayState:
        """Return the state; a background thread keeps it up to date.

        Raises:
            SharedIndexError: It does not exist.
        """
        self._connection.client.breaker.check()
        self._absence.check()
        if self._state is None or time.monotonic() > self._compared + REFRESH_S:
            thread = self._refresh_later(can_search)
            if self._state is None:
                thread.join(FIRST_WAIT_S)
        state = self._state
        if state is None:
            raise SharedIndexError(self._problem or BEING_READ)
        return state

    def _refresh_later(self, can_search: Callable[[str], bool]) -> threading.Thread:
        with self._lock:
            if self._thread is None or not self._is_running:
                self._is_running = True
                self._thread = threading.Thread(
                    target=self._refresh, args=(can_search,), name="overlay", daemon=True
                )
                self._thread.start()
            return self._thread

    def _refresh(self, can_search: Callable[[str], bool]) -> None:
        """Compare the files with the shared index; after an error, note why."""
        try:
            generation, remote = self._remote()
            state = self._compare(generation, remote, can_search)
            if state is not self._state and self._state is not None and self._state.has_graph:
                state = self._with_graph(state)
            self._state, self._problem = state, ""
            self._compared = time.monotonic()
            if self.wants_graph and not state.has_graph:
                self._state = self._with_graph(state)
        except SharedIndexError as error:
            self._problem = error.reason
            self._note(error)
        except (CodeIntelError, OSError, TimeoutError) as error:
            self._problem = getattr(error, "message", None) or type(error).__name__
        finally:
            self._compared = time.monotonic()
            with self._lock:
                self._is_running = False
                self._close_if_idle()

    def _note(self, error: SharedIndexError) -> None:
        """Do not ask for a while about a repository that the token may not read (any more)."""
        if error.status == HTTPStatus.NOT_FOUND:
            self._absence.fail(error.reason, ASK_AGAIN_S)
            self._state = self._source = None

    def _remote(self) -> tuple[Generation, RemoteStore]:
        """Return the nearest commit and its shared index; ask the server if HEAD has moved.

        Raises:
            SharedIndexError: The server does not answer, or has no index.
        """
        commits = revisions.ancestors(self._connection.folder, MAX_COMMITS)
        head = commits[0] if commits else ""
        is_known = head == self._head and time.monotonic() < self._asked + ASK_AGAIN_S
        if self._source is not None and is_known:
            return self._source
        generation = self._connection.generation(commits, CALL_TIMEOUT_S)
        if generation is None:
            raise SharedIndexError(NO_GENERATION, is_temporary=False)
        self._head, self._asked = head, time.monotonic()
        if self._source is None or self._source[0].id != generation.id:
            remote = RemoteStore(
                self._connection.client,
                [generation.id],
                model=generation.model,
                kept=self._connection.kept(generation),
                dimensions=self._config.dimensions,
            )
            self._source = generation, remote
        return self._source

    def _compare(
        self, generation: Generation, remote: RemoteStore, can_search: Callable[[str], bool]
    ) -> OverlayState:
        """Return the state for the files as they are now."""
        shared = {path: digest for path, _, digest in remote.digests()}
        local = self._local_digests()
        same = frozenset(path for path, digest in local.items() if shared.get(path) == digest)
        differing = frozenset(local.keys() - same)
        before = self._state
        if before and (before.remote, before.same, before.differing) == (remote, same, differing):
            return before
        parts = [Part(remote, hidden=frozenset(shared.keys() - same))]
        if (own := self._own_store()) is not None:
            parts.append(Part(own, hidden=same))
        union = before.union.over(parts) if before else UnionStore(parts, can_search)
        return OverlayState(generation, remote, same, differing, union)

    def _with_graph(self, state: OverlayState) -> OverlayState:
        """Return the state with the import graph; without it if the server does not answer."""
        with suppress(SharedIndexError):
            graph_of(state.union, walk.bases(self._config))
            return state._replace(has_graph=True)
        return state

    def _own_store(self) -> Store | None:
        """Return a connection of its own to the local index; None if there is no index.

        A question holds a snapshot, and must not keep others waiting while a server answers.
        """
        if self._own is None and self._config.db_path.exists():
            own = Store.open(self._config.db_path, dimensions=self._config.dimensions)
            with suppress(CodeIntelError):
                own.revision()  # fails if the file cannot be used
                self._own = own
        return self._own

    def _local_digests(self) -> dict[str, str]:
        """Return the digests of the files that the forest covers; only changed files are read."""
        scan = walk.scan(self._config)
        own = self._own_store()
        if own is not None:
            walk.apply_choices(scan, self._config, own.choices())
        digests: dict[str, tuple[Stat, str]] = {}
        for name, found in scan.files.items():
            stat = found.size, found.mtime_ns, found.inode, found.ctime_ns
            known = self._digests.get(name)
            if known is None or known[0] != stat:
                with suppress(OSError):
                    data, _ = read_resolved(found.real)
                    known = stat, hashlib.sha256(data).hexdigest()
            if known is not None:
                digests[name] = known
        self._digests = digests
        return {name: digest for name, (_, digest) in digests.items()}


def is_complete(store: Store, *, with_vectors: bool) -> bool:
    """Return whether a local index can answer without a shared one."""
    if store.get_meta("scanned_ns") is None:
        return False
    return not with_vectors or store.generations.coverage(store.generations.newest()) >= COVERED
