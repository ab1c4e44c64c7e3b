"""What files, this machine's memory and git say of every agreement: kept while none of them has changed.

A question to a map of 10,000 must not read 10,000 files, so each source is asked whether it is another before it is
read (docs/decisions/0028). What the index of the source says is looked up at each answer, for what is
answered: that is `standings`.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.foundation import git
from code_intel.learned.files import agreements, fingerprints
from code_intel.learned.files.agreements import AgreementEntry, Key, Known
from code_intel.learned.files.fingerprints import Stamp
from code_intel.learned.files.folder import NOW
from code_intel.learned.files.trunk import is_carried, repository
from code_intel.learned.history.experience import AgreementExperience, Objections, weigh
from code_intel.learned.history.state import State, open_state
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.validity import confirmed_paths

CERTAIN_SESSIONS = 2
"""Sessions that confirmed an alias until it is as good as the term (docs/decisions/0007)."""
TRUSTED_SECONDS = 60.0
"""After these git is asked although nothing it rests on seems changed: it may have failed the last time."""


class Memory(NamedTuple):
    """What this machine alone remembers; see `State`."""

    confirmed: frozenset[str] = frozenset()
    uses: Mapping[Key, datetime] = MappingProxyType({})
    sightings: Mapping[Key, Mapping[str, int]] = MappingProxyType({})
    contested: tuple[AgreementExperience, ...] = ()


@dataclass(frozen=True, slots=True)
class AgreementSnapshot:
    """Everything about the agreements but what the index of the source says.

    Attributes:
        revision: Another one than before means that the agreements, who saw their aliases, or what
            stands against them, are others: all that recall goes by.
        known: The agreements.
        memory: What this machine remembers of them.
        objections: What stands against each.
        confirmed: The paths of those that are confirmed.
    """

    revision: int
    known: Known
    memory: Memory
    objections: Mapping[Key, Objections]
    confirmed: frozenset[Path]


_NOTHING = AgreementSnapshot(0, Known(0, (), {}), Memory(), {}, frozenset())


def ledger(
    settings: Settings,
    *,
    now: datetime | None = None,
    since: float = NOW,
) -> AgreementSnapshot:
    """Return what is known of every agreement now; what was found out at `since` or later is good enough.

    Args:
        settings: The project.
        now: With an offset.
        since: A time of `time.monotonic`, such as when the question came; by default everything is asked.

    Raises:
        StorageError: The agreements or the memory are there but cannot be read.
        BusyError: Another process kept the memory for too long.
    """
    keeper = _keeper(settings.agreements, settings.state)
    return keeper.look(settings, now or datetime.now(UTC), since)


def forget() -> None:
    """Forget what this process knows of any project; the next question finds everything out again."""
    _keeper.cache_clear()
    agreements.forget()


@contextmanager
def looking(settings: Settings) -> Iterator[float]:
    """Find it out on a thread of its own while something else is waited for; yields since when.

    The disk is asked about each file, which needs no interpreter, and takes as long as embedding a question.
    """

    def look() -> None:
        with suppress(CodeIntelError):  # whoever asks next is told
            ledger(settings, since=since)

    since = time.monotonic()
    thread = threading.Thread(target=look, name="ledger", daemon=True)
    thread.start()
    try:
        yield since
    finally:
        thread.join()


def certain_aliases(found: AgreementSnapshot, entry: AgreementEntry) -> frozenset[str]:
    """Return the aliases that enough sessions confirmed; one that people took out of the file is none."""
    seen = found.memory.sightings.get(entry.key, {}) if entry.key else {}
    if entry.agreement is None or not seen:
        return frozenset()
    written = set(map(fold, entry.agreement.aliases))
    return frozenset(
        alias
        for alias, sessions in seen.items()
        if sessions >= CERTAIN_SESSIONS and alias in written
    )


class _Keeper:
    """The ledger of one project, as this process knows it; safe for threads."""

    def __init__(self, folder: Path, state: Path) -> None:
        self._folder = folder
        self._state = state
        self._lock = threading.Lock()
        self._looked = -1.0
        self._kept = _NOTHING
        self._stamp: Stamp | None = None
        self._confirmations = _Confirmations()

    def look(self, settings: Settings, now: datetime, since: float) -> AgreementSnapshot:
        with self._lock:
            if not 0 < since <= self._looked:
                began = time.monotonic()
                known = agreements.look(self._folder, began)
                self._kept = self._current(settings, known, now)
                self._looked = began
            return self._kept

    def _current(self, settings: Settings, known: Known, now: datetime) -> AgreementSnapshot:
        old, stamp = self._kept, fingerprints.of_database(self._state / "state.db")
        remembered = stamp.proves(self._stamp)
        merged = self._confirmations.are_current(settings)
        memory, confirmed = old.memory, old.confirmed
        if not (remembered and merged and known.revision == old.known.revision):
            with open_state(self._state, create=False) as state:
                memory = memory if remembered else _memory(state, memory)
                confirmed = self._confirmations.of(settings, known.entries, memory.confirmed, state)
        self._stamp = stamp
        objections = weigh(memory.contested, now)
        same = (
            known.revision == old.known.revision
            and memory.sightings == old.memory.sightings
            and objections == old.objections
        )
        return AgreementSnapshot(old.revision + (not same), known, memory, objections, confirmed)


class _Confirmations:
    """Which agreements are confirmed; only those are judged anew that something was changed about."""

    def __init__(self) -> None:
        self._stamp: Stamp | None = None
        self._seen: Stamp | None = None
        self._is_current = False
        self._asked = -TRUSTED_SECONDS
        self._basis: tuple[object, ...] | None = None
        self._here: frozenset[str] = frozenset()
        self._entries: dict[Path, AgreementEntry] = {}
        self._paths: frozenset[Path] = frozenset()

    def are_current(self, settings: Settings) -> bool:
        """Whether git holds what it held."""
        self._seen = fingerprints.of_references(repository(settings))
        self._is_current = self._seen.proves(self._stamp) and self._is_young()
        return self._is_current

    def _is_young(self) -> bool:
        return time.monotonic() - self._asked < TRUSTED_SECONDS

    def of(
        self,
        settings: Settings,
        entries: Sequence[AgreementEntry],
        here: frozenset[str],
        state: State,
    ) -> frozenset[Path]:
        """Return the confirmed paths; `are_current` was asked before."""
        tired, basis, changed = not self._is_young(), self._basis, self._here ^ here
        if not self._is_current:
            basis = self._asked_of_git(settings)
        anew = basis is None or basis != self._basis
        doubtful = [
            entry
            for entry in entries
            if anew
            or (tired and entry.path not in self._paths)
            or entry.digest in changed
            or self._entries.get(entry.path) != entry
        ]
        if doubtful:
            gone = {entry.path for entry in doubtful}
            found = confirmed_paths(settings, doubtful, state)
            self._paths = frozenset(path for path in self._paths if path not in gone) | found
        self._entries = {entry.path: entry for entry in entries}
        self._paths = frozenset(path for path in self._paths if path in self._entries)
        self._here, self._basis = here, basis
        self._stamp = self._seen if basis is not None else None
        return self._paths

    def _asked_of_git(self, settings: Settings) -> tuple[object, ...] | None:
        """Return what decides whether a content is merged; None when git cannot say in time."""
        self._asked = time.monotonic()
        try:
            trunk = git.trunk(repository(settings), settings.trunk) if settings.trust_git else ()
        except TimeoutError:
            return None
        return settings.trust_git, trunk, is_carried(settings)


def _memory(state: State, before: Memory) -> Memory:
    """Read what this machine remembers; the very same object where it is the same."""
    found = Memory(
        frozenset(state.confirmed()),
        state.last_uses(),
        state.alias_sessions(),
        tuple(state.contested()),
    )
    return before if found == before else found


_keeper = lru_cache(maxsize=8)(_Keeper)
