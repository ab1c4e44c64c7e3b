"""Read all that files, this machine's state store and git say about a project's agreements.

The index of the source is not read here, but in `agreement_status`.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.learned.files.agreements import AgreementCache, AgreementEntry, AgreementFolder, Key
from code_intel.learned.files.stat_cache import StatCache, database_stats
from code_intel.learned.files.trunk import reference_stats, repository
from code_intel.learned.history.experience import AgreementExperience, Objections, weigh
from code_intel.learned.history.state import open_state
from code_intel.learned.notes.entries import NoteEntry, RecordCache, entries_of
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.validity import Trust, trust_of, trust_without_trunk

CERTAIN_SESSIONS = 2
"""Number of sessions after which an alias is as good as the term (docs/decisions/0027)."""
TRUNK_SECONDS = 60
"""Time after which git is asked again even if its files have not changed, in case it failed."""
NOW = 0.0
"""The value of `since` that always reads the disk."""

_since: ContextVar[float] = ContextVar("since", default=NOW)
"""The start of the block of `reading_once` in which this runs."""


@contextmanager
def reading_once() -> Iterator[None]:
    """Read the disk at most once in this block, which only shows what the map says.

    Looking for changes takes 50 ms with 10,000 agreements, and several functions do it.
    """
    token = _since.set(time.monotonic())
    try:
        yield
    finally:
        _since.reset(token)


class Memory(NamedTuple):
    """The content of this machine's state store; see `State`."""

    confirmed: frozenset[str] = frozenset()
    uses: Mapping[Key, datetime] = MappingProxyType({})
    sightings: Mapping[Key, Mapping[str, int]] = MappingProxyType({})
    contested: tuple[AgreementExperience, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The agreements of a project and everything about them except the index of the source.

    Attributes:
        revision: A number that changes whenever agreements, alias sessions or objections change.
        known: The agreements.
        memory: The content of the state store.
        objections: The objections to each agreement.
        trust: The contents that are confirmed.
        notes: The conventions, decisions and warnings.
    """

    revision: int
    known: AgreementFolder
    memory: Memory
    objections: Mapping[Key, Objections]
    trust: Trust
    notes: tuple[NoteEntry, ...] = ()

    def certain_aliases(self, entry: AgreementEntry) -> frozenset[str]:
        """Return the folded aliases in an entry's file that enough sessions confirmed."""
        seen = self.memory.sightings.get(entry.key, {}) if entry.key else {}
        if entry.agreement is None or not seen:
            return frozenset()
        written = set(map(fold, entry.agreement.aliases))
        return frozenset(
            alias
            for alias, sessions in seen.items()
            if sessions >= CERTAIN_SESSIONS and alias in written
        )


_EMPTY = Snapshot(0, AgreementFolder(0, (), {}), Memory(), {}, Trust())


class SnapshotCache:
    """Takes snapshots of a project, reading only what has changed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._agreements = AgreementCache()
        self._records = RecordCache()
        self._memory: StatCache[Memory] = StatCache()
        self._trust: StatCache[Trust] = StatCache()
        self._last = _EMPTY
        self._taken = self._looked = -1.0

    def snapshot(
        self, settings: Settings, *, now: datetime | None = None, since: float = NOW
    ) -> Snapshot:
        """Take a snapshot, or return the last one if it was taken at `since` or later.

        Args:
            settings: The project; the same in every call.
            now: The current time, with an offset.
            since: A time of `time.monotonic`, such as the start of the request.

        Raises:
            StorageError: The agreements or the state store exist but cannot be read.
            BusyError: Another process locks the state store for too long.
        """
        since = since or _since.get()
        with self._lock:
            if 0 < since <= self._taken:
                return self._last
            began, last = time.monotonic(), self._last
            known = self._look(settings)
            memory = self._memory.get(
                database_stats(settings.state / "state.db"), None, lambda: _memory(settings)
            )
            objections = weigh(memory.contested, now or datetime.now(UTC))
            same = (
                known.revision == last.known.revision
                and memory.sightings == last.memory.sightings
                and objections == last.objections
            )
            trust = self._trust_now(settings, memory.confirmed)
            revision = last.revision + (not same)
            notes = (*entries_of(known), *self._records.look(settings.decisions))
            self._last = Snapshot(revision, known, memory, objections, trust, notes)
            self._taken = began
            return self._last

    def known(self, settings: Settings) -> AgreementFolder:
        """Return the current agreements.

        Raises:
            StorageError: The folder exists but cannot be listed.
        """
        with self._lock:
            return self._look(settings)

    def _look(self, settings: Settings) -> AgreementFolder:
        if 0 < _since.get() <= self._looked:
            return self._agreements.last
        began = time.monotonic()
        known = self._agreements.look(settings.agreements)
        self._looked = began
        return known

    def _trust_now(self, settings: Settings, here: frozenset[str]) -> Trust:
        stats = reference_stats(repository(settings))
        minute = time.monotonic() // TRUNK_SECONDS
        key = (settings.trust_git, settings.trunk, here, minute)
        try:
            return self._trust.get(stats, key, lambda: trust_of(settings, here))
        except TimeoutError:
            return trust_without_trunk(settings, here)


def _memory(settings: Settings) -> Memory:
    with open_state(settings.state, create=False) as state:
        return Memory(
            frozenset(state.confirmed()),
            state.last_uses(),
            state.alias_sessions(),
            tuple(state.contested()),
        )
