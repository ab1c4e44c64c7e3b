"""Decide which entries of the map wait for a person, and why. A table maps reason to condition."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.notes.note_status import NoteStatus, note_statuses
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.learned.status.snapshot import SnapshotCache

Reason = Literal["unconfirmed", "changed", "disputed", "superseded", "conflicting"]


class ReviewEntry(NamedTuple):
    """An entry of the map, as a review shows it.

    Attributes:
        kind: The kind of entry, such as `agreement`.
        path: Its file.
        name: Its name in one line.
        status: Its status in lists.
        why: The reasons for the status.
        since: The date by which entries are sorted, with an offset.
        symbol: The current name of the symbol that it is about, if any.
        files: The files that it names.
        says: What it says of the symbol.
        is_disputed: Whether a person or sessions object to it.
    """

    kind: str
    path: Path
    name: str
    status: str
    why: tuple[str, ...]
    since: datetime
    symbol: str = ""
    files: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    is_disputed: bool = False


CONDITIONS: Mapping[Reason, Callable[[ReviewEntry], bool]] = MappingProxyType(
    {
        "conflicting": lambda entry: entry.status == "conflict",
        "changed": lambda entry: entry.status == "changed",
        "superseded": lambda entry: entry.status == "superseded",
        "disputed": lambda entry: entry.is_disputed,
        "unconfirmed": lambda entry: entry.status == "unconfirmed",
    }
)
"""Why an entry waits, and the condition; each condition that holds is a reason."""


class WaitingEntry(NamedTuple):
    """An entry that waits, and the reasons, in the order of `CONDITIONS`."""

    entry: ReviewEntry
    reasons: tuple[Reason, ...]


def agreement_entries(
    settings: Settings, forest: Index, cache: SnapshotCache
) -> Iterator[ReviewEntry]:
    """Return the agreements of a project as entries of a review."""
    return map(entry_of_agreement, standings(settings, forest, cache=cache))


def note_entries(settings: Settings, forest: Index, cache: SnapshotCache) -> Iterator[ReviewEntry]:
    """Return the notes of a project as entries of a review.

    A decision that its author has marked as superseded waits for no one.
    """
    found = cache.snapshot(settings)
    statuses = note_statuses(forest, found)
    return (entry_of_note(status) for status in statuses if status.note.status != "superseded")


SOURCES: tuple[Callable[[Settings, Index, SnapshotCache], Iterable[ReviewEntry]], ...] = (
    agreement_entries,
    note_entries,
)
"""Where the entries of a review come from: one function for each kind of file of the map."""


def waiting(
    settings: Settings, forest: Index, cache: SnapshotCache | None = None
) -> list[WaitingEntry]:
    """Return all entries that wait for a person, oldest first; `cache` is for servers."""
    cache = cache or SnapshotCache()
    entries = (entry for source in SOURCES for entry in source(settings, forest, cache))
    found = [WaitingEntry(entry, reasons) for entry in entries if (reasons := reasons_of(entry))]
    return sorted(found, key=lambda item: (item.entry.since, item.entry.path))


def reasons_of(entry: ReviewEntry) -> tuple[Reason, ...]:
    """Return why an entry waits; empty if it does not. Pure."""
    return tuple(reason for reason, holds in CONDITIONS.items() if holds(entry))


def entry_of_agreement(standing: AgreementStatus) -> ReviewEntry:
    """Return an agreement as an entry of a review."""
    path, agreement = standing.entry.path, standing.entry.agreement
    entry = ReviewEntry(
        kind="agreement",
        path=path,
        name=path.name,
        status=standing.listed_status,
        why=standing.reasons,
        since=when(agreement.learned_at) if agreement else _modified(path),
        is_disputed=bool(standing.objections.doubt),
    )
    if agreement is None:
        return entry
    return entry._replace(
        name=f"{agreement.nl_term} → {agreement.symbol}",
        symbol=standing.symbol,
        files=tuple(file.path for file in agreement.files),
        says=agreement.evidence,
    )


def entry_of_note(status: NoteStatus) -> ReviewEntry:
    """Return a note as an entry of a review."""
    path, note = status.entry.path, status.note
    return ReviewEntry(
        kind=note.kind,
        path=path,
        name=f"{note.kind}: {note.title}",
        status=status.validity,
        why=status.reasons,
        since=when(note.learned_at) if note.learned_at else _modified(path),
        symbol=next(iter(note.symbols), ""),
        says=(note.text,) if note.text else (),
    )


def _modified(path: Path) -> datetime:
    """Return when a file was last changed, for files that name no date."""
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except OSError:  # deleted meanwhile
        return when("")
