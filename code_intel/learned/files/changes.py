"""Change agreements and learned_pairs.json, one process at a time and each file atomically.

A change is committed when the agreement's file is renamed into place. Its confirmation is written
to the state store before that, and is harmless if the process dies in between
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
from code_intel.learned.history.state import State, open_state, planned_state
from code_intel.learned.recording import MapFiles, Recording, active
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.records import Agreement

LOCK_TIMEOUT_S = 20.0
"""Seconds that a writer waits for the lock; with eight concurrent writers, seven are waiting."""
BATCH_SIZE = 200
"""Agreements that are written while the lock is held, which takes about a second."""
PAUSE_S = 0.05
"""Seconds between batches: several polling intervals of `durable.locked`."""
Item = TypeVar("Item")


def lock_path(settings: Settings) -> Path:
    """Return the path of the lock for changes of agreements and learned_pairs.json."""
    return settings.state / "learned.lock"


def locked(settings: Settings) -> AbstractContextManager[None]:
    """Hold `lock_path`.

    Raises:
        BusyError: Another process holds it for longer than `LOCK_TIMEOUT_S`.
        StorageError: The lock cannot be created.
    """
    return durable.locked(lock_path(settings), LOCK_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A written agreement, and a note about learned_pairs.json or an empty text."""

    entry: AgreementEntry
    note: str = ""


@dataclass(frozen=True, slots=True)
class MapChange:
    """A change of a project's agreements, made while no other process can change them.

    Attributes:
        settings: The project.
        state: The project's state store.
        now: The time of the change.
        cache: The cache of the project's agreements.
        files: Reads and writes the files. A dry run only plans their contents.
    """

    settings: Settings
    state: State
    now: datetime
    cache: SnapshotCache
    files: MapFiles

    @property
    def dry(self) -> bool:
        """Whether nothing may be written."""
        return self.files.dry

    def known(self) -> AgreementFolder:
        """Return the current agreements; in a dry run, those after the planned changes."""
        known = self.cache.known(self.settings)
        return agreements.with_planned(self.settings.agreements, known, self.files)

    def write(
        self, agreement: Agreement, *, confirmed: bool, known: AgreementFolder | None = None
    ) -> WriteResult:
        """Write learned_pairs.json, then the agreement (the order that seed 004 §4.2 requires).

        Only what `agreement` says is confirmed, not what other files with its key say.

        Args:
            agreement: The new content of the file.
            confirmed: Whether this machine confirms the agreement.
            known: The agreements, if the caller has just read them.

        Raises:
            StorageError: A file could not be written, or an unreadable file has the name of the new
                one.
        """
        folder = self.settings.agreements
        known = known or self.known()
        key = agreements.key_of(agreement)
        draft = agreements.draft(folder, known, agreement, self.settings.language, self.files)
        entry = known.by_key.get(key)
        if confirmed and not _is_extended(agreement, entry):
            with self.state.transaction():
                self.state.confirm(draft.digest, self.now)
                self.state.record_use(key, self.now)
        pair = pairs.of_agreement(agreement, agreements.relative(folder, draft.path), {})
        note = self.generate(known, pair)
        if draft.data is not None:
            self.files.replace(draft.path, draft.data)
        found = self.known().by_key.get(key) if entry and entry.other_paths else None
        return WriteResult(found or self._written(draft.path), note)

    def merge_files(self, entry: AgreementEntry, *, confirmed: bool) -> None:
        """Merge all files of an entry into the first one, and move the others to the trash."""
        if not entry.other_paths or entry.agreement is None:
            return
        data = agreements.rewritten(entry.path, entry.agreement, self.settings.language, self.files)
        if confirmed:
            self.state.confirm(agreements.digest_of(data), self.now)
        self.files.replace(entry.path, data)
        for path in entry.other_paths:
            self.to_trash(path)

    def to_trash(self, path: Path) -> Path:
        """Move a file to the trash; return its new path."""
        return trash.move(self.settings, path, now=self.now, files=self.files)

    def generate(
        self, known: AgreementFolder | None = None, *new: pairs.Pair, replace_edits: bool = False
    ) -> str:
        """Write learned_pairs.json from the agreements; return a note, or an empty text.

        A dry run leaves this file out, because it follows from the others.
        """
        if self.dry:
            return ""
        done = generated.generate(
            self.settings,
            self.state,
            known or self.known(),
            now=self.now,
            new={pair.key: pair for pair in new},
            replace_edits=replace_edits,
        )
        return done.note

    def _written(self, path: Path) -> AgreementEntry:
        """Return the entry of a file that has been written, or would be."""
        if self.dry:
            return agreements.parsed(path, self.files.read(path))
        return agreements.load(path)


@contextmanager
def changing(
    settings: Settings, now: datetime, cache: SnapshotCache | None = None, *, dry: bool = False
) -> Iterator[MapChange]:
    """Hold the lock of a project's agreements. A dry run only reads and needs no lock.

    While `recording.recorded` is active, the changes are recorded, and what a caller expects of the
    files is compared once the lock is held.

    Args:
        settings: The project.
        now: The time of the change.
        cache: A cache of the agreements, for servers and for callers with several changes.
        dry: Whether nothing may be written.

    Raises:
        BusyError: Another process holds the lock for longer than `LOCK_TIMEOUT_S`.
        StorageError: The lock or the state store cannot be used.
        ConflictError: A file is not as the caller expects.
    """
    cache, recording = cache or SnapshotCache(), active()
    if dry:
        with planned_state(settings.state) as state:
            files = MapFiles(recording or Recording(), dry=True)
            yield MapChange(settings, state, now, cache, files)
        return
    with locked(settings), open_state(settings.state) as state:
        durable.sweep(settings.state)
        durable.sweep(settings.agreements)
        if recording:
            recording.require_expected()
        yield MapChange(settings, state, now, cache, MapFiles(recording))


def current_agreements(settings: Settings, cache: SnapshotCache) -> AgreementFolder:
    """Return the agreements; in a recorded dry run, as they are after its planned changes."""
    files = MapFiles(active(), dry=True)
    return agreements.with_planned(settings.agreements, cache.known(settings), files)


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in lists of `BATCH_SIZE`; the caller takes the lock for each list.

    Pause in between; otherwise this process would always reacquire the lock before others.
    """
    rest = iter(items)
    batch = list(islice(rest, BATCH_SIZE))
    while batch:
        yield batch
        batch = list(islice(rest, BATCH_SIZE))
        if batch:
            time.sleep(PAUSE_S)  # noqa: TID251 - others poll for the lock


def sync(settings: Settings, now: datetime) -> generated.PairsUpdate:
    """Update learned_pairs.json from the agreements; create nothing if both are missing.

    Raises:
        StorageError: The agreements or the file cannot be read, or the file could not be written.
        BusyError: Another process holds the lock for longer than `LOCK_TIMEOUT_S`.
    """
    if not (pairs.path_of(settings).exists() or settings.agreements.exists()):
        return generated.PairsUpdate({})
    with changing(settings, now) as change:
        return generated.generate(settings, change.state, change.known(), now=now)


def planned(settings: Settings) -> generated.PairsUpdate:
    """Return what `sync` would do, without writing anything."""
    with changing(settings, datetime.now(UTC), dry=True) as change:
        known, digests = change.known(), change.state.generated()
    found = generated.examine(settings, known, digests)
    note = generated.NOTES.get(found.condition, "")
    return generated.PairsUpdate(
        {} if found.condition in {"edited", "newer"} else found.steps, note
    )


def _is_extended(agreement: Agreement, entry: AgreementEntry | None) -> bool:
    """Return whether other files with the same key claim more than `agreement` does."""
    if entry is None or not entry.other_paths:
        return False
    others = [agreements.load(path).agreement for path in entry.other_paths]
    merged = merge_agreements.merge([agreement, *(other for other in others if other)])
    return merge_agreements.claims_more(merged, canonical(agreement))
