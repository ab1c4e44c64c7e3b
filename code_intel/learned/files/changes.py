"""Change agreements and learned_pairs.json: one process at a time, each file whole or unchanged.

Renaming an agreement's file into place commits a change. The state store gets what the change needs
to count as confirmed before that. The entry is harmless if the process dies in between
(docs/decisions/0050).
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TypeVar

from code_intel.chunking.agreement import canonical
from code_intel.config import Settings
from code_intel.foundation import durable
from code_intel.learned.files import agreements, generated, merge_agreements, pairs, trash
from code_intel.learned.files.agreements import AgreementEntry, AgreementFolder
from code_intel.learned.history.state import State, open_state
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.records import Agreement

LOCK_TIMEOUT_S = 20.0
"""Seconds that a writer waits for others; of eight concurrent writers seven wait."""
BATCH_SIZE = 200
"""Agreements written under one lock, which takes about a second."""
PAUSE_S = 0.05
"""Seconds between batches: several times the polling interval of `durable.locked`."""
Item = TypeVar("Item")


def lock_path(settings: Settings) -> Path:
    """Return the lock of everything that changes agreements or learned_pairs.json."""
    return settings.state / "learned.lock"


def locked(settings: Settings) -> AbstractContextManager[None]:
    """Hold `lock_path`.

    Raises:
        BusyError: Another process holds it for longer than `LOCK_TIMEOUT_S`.
        StorageError: The lock cannot be made.
    """
    return durable.locked(lock_path(settings), LOCK_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """An agreement as it was written, and what to say about learned_pairs.json, if anything."""

    entry: AgreementEntry
    note: str = ""


@dataclass(frozen=True, slots=True)
class MapChange:
    """The agreements of a project while no other process changes them; made by `changing`.

    Attributes:
        settings: The project.
        state: Its store.
        now: The time of the change.
        cache: What is kept of the agreements, at least during the change.
        dry: Whether nothing may be written.
    """

    settings: Settings
    state: State
    now: datetime
    cache: SnapshotCache
    dry: bool = False

    def known(self) -> AgreementFolder:
        """Return the agreements as they are now."""
        return self.cache.known(self.settings)

    def write(
        self, agreement: Agreement, *, confirmed: bool, known: AgreementFolder | None = None
    ) -> WriteResult:
        """Write learned_pairs.json, then the agreement, as seed 004 §4.2 requires.

        Only the claims of `agreement` are confirmed, not those of further files of its key.

        Args:
            agreement: The new content of its file.
            confirmed: Whether this machine confirms it.
            known: The agreements, if the caller has just read them.

        Raises:
            StorageError: A file that cannot be read is in the way, or the disk refused.
        """
        folder = self.settings.agreements
        known = known or self.known()
        key = agreements.key_of(agreement)
        draft = agreements.draft(folder, known, agreement)
        entry = known.by_key.get(key)
        if confirmed and not _is_extended(agreement, entry):
            with self.state.transaction():
                self.state.confirm(draft.digest, self.now)
                self.state.use(key, self.now)
        pair = pairs.of_agreement(agreement, agreements.relative(folder, draft.path), {})
        note = self.generate(known, pair)
        if draft.data is not None:
            durable.replace(draft.path, draft.data)
        found = self.known().by_key.get(key) if entry and entry.also else None
        return WriteResult(found or agreements.load(draft.path), note)

    def unite_files(self, entry: AgreementEntry, *, confirmed: bool) -> None:
        """Write what all files of an entry say into the first one; trash the others."""
        if not entry.also or entry.agreement is None:
            return
        data = agreements.rewritten(entry.path, entry.agreement)
        if confirmed:
            self.state.confirm(agreements.digest_of(data), self.now)
        durable.replace(entry.path, data)
        for path in entry.also:
            trash.move(self.settings, path, now=self.now)

    def generate(
        self, known: AgreementFolder | None = None, *coming: pairs.Pair, replace_edits: bool = False
    ) -> str:
        """Write learned_pairs.json from the agreements; return a note or an empty text."""
        done = generated.generate(
            self.settings,
            self.state,
            known or self.known(),
            now=self.now,
            coming={pair.key: pair for pair in coming},
            replace_edits=replace_edits,
        )
        return done.note


@contextmanager
def changing(
    settings: Settings, now: datetime, cache: SnapshotCache | None = None, *, dry: bool = False
) -> Iterator[MapChange]:
    """Hold the lock of a project's agreements; a dry run only reads and needs no lock.

    Args:
        settings: The project.
        now: The time of the change.
        cache: What a server, or a caller with several changes, keeps of the agreements.
        dry: Whether nothing may be written.

    Raises:
        BusyError: Another process is writing for longer than `LOCK_TIMEOUT_S`.
        StorageError: The lock or the state store cannot be used.
    """
    cache = cache or SnapshotCache()
    if dry:
        with open_state(settings.state, create=False) as state:
            yield MapChange(settings, state, now, cache, dry=True)
        return
    with locked(settings), open_state(settings.state) as state:
        durable.sweep(settings.state)
        durable.sweep(settings.agreements)
        yield MapChange(settings, state, now, cache)


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in lists of `BATCH_SIZE`, each to be written under a lock of its own.

    Pause in between, or this process would always reacquire the lock before others.
    """
    rest = iter(items)
    batch = list(islice(rest, BATCH_SIZE))
    while batch:
        yield batch
        batch = list(islice(rest, BATCH_SIZE))
        if batch:
            time.sleep(PAUSE_S)  # noqa: TID251 - others poll for the lock


def sync(settings: Settings, now: datetime) -> generated.PairsUpdate:
    """Update learned_pairs.json from the agreements; create nothing where both are missing.

    Raises:
        StorageError: The agreements or the file cannot be read, or the disk refused.
        BusyError: Another process is writing for longer than `LOCK_TIMEOUT_S`.
    """
    places = (pairs.path_of(settings), settings.agreements)
    if not any(place.exists() for place in places):
        return generated.PairsUpdate({})
    with changing(settings, now) as change:
        return generated.generate(settings, change.state, change.known(), now=now)


def planned(settings: Settings) -> generated.PairsUpdate:
    """Return what `sync` would do now; writes nothing."""
    with changing(settings, datetime.now(UTC), dry=True) as change:
        known, digests = change.known(), change.state.generated()
    found = generated.examine(settings, known, digests)
    note = generated.NOTES.get(found.condition, "")
    return generated.PairsUpdate(
        {} if found.condition in {"edited", "newer"} else found.steps, note
    )


def _is_extended(agreement: Agreement, entry: AgreementEntry | None) -> bool:
    """Return whether other files of the same key claim more than `agreement` does."""
    if entry is None or not entry.also:
        return False
    others = [agreements.load(path).agreement for path in entry.also]
    united = merge_agreements.unite([agreement, *(other for other in others if other)])
    return merge_agreements.adds(united, canonical(agreement))
