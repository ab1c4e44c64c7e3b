"""Agreements that have had their time, moved to the trash because somebody asks for it (docs/decisions/0036).

Nothing is pruned by itself. What a file says while its merge is not resolved, or while it cannot be read, is for
people to mend, so it is no reason.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import NotFoundError
from code_intel.index.facade import Index
from code_intel.learned.files import trash
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.batches import batches
from code_intel.learned.files.changes import MapChange, changing
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed

DAYS = 30
"""How long nobody may have confirmed what goes as unconfirmed, where nothing else is said."""


class Reason(NamedTuple):
    """Why an agreement may go.

    Attributes:
        name: As on the command line.
        about: The same as a clause.
        applies: Whether it does; the last argument is the time since which nobody may have confirmed it.
        is_default: Whether it counts without being asked for.
        is_proven: Whether only a complete index of the source can say so.
    """

    name: str
    about: str
    applies: Callable[[AgreementStatus, datetime], bool]
    is_default: bool = False
    is_proven: bool = False


REASONS = (
    Reason(
        "broken", "its symbol is gone from the code", lambda it, _: it.validity == "broken",
        is_default=True, is_proven=True,
    ),
    Reason(
        "expired", "it was not used for long, and cannot be told to hold",
        lambda it, _: it.validity == "expired", is_default=True, is_proven=True,
    ),
    Reason(
        "unconfirmed", "nobody has confirmed it for long",
        lambda it, since: bool(it.entry.agreement) and not it.confirmed and _learned(it.entry) < since,
    ),
    Reason(
        "twin", "another file has its term and symbol, and takes in what it says",
        lambda it, _: bool(it.entry.also),
    ),
)  # fmt: skip
"""The first that was asked for and applies is the reason."""
DEFAULT_REASONS = tuple(reason.name for reason in REASONS if reason.is_default)


class Doomed(NamedTuple):
    """An agreement, and why it goes: all of its files, or, of twins, all but the first."""

    entry: AgreementEntry
    reason: Reason
    details: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that go."""
        stays = self.reason.name == "twin"
        return tuple(
            path.name
            for path in (self.entry.path, *self.entry.also)
            if not stays or path != self.entry.path
        )


def prune(
    settings: Settings,
    forest: Index,
    reasons: Collection[str] = DEFAULT_REASONS,
    *,
    days: int = DAYS,
    now: datetime | None = None,
    dry: bool = False,
) -> list[Doomed]:
    """Move agreements to the trash; return what went, or would go.

    Args:
        settings: The project.
        forest: The index of its source, brought up to date.
        reasons: Names of `REASONS`.
        days: For how long nobody has confirmed what is unconfirmed.
        now: When.
        dry: Only say what would be.

    Raises:
        NotFoundError: A reason needs a complete index of the source, and there is none.
        StorageError: The disk refused.
        BusyError: Another process is writing for too long.
    """
    now = now or datetime.now(UTC)
    chosen = [reason for reason in REASONS if reason.name in reasons]
    if any(reason.is_proven for reason in chosen):
        _require_complete(forest)
    cache = SnapshotCache()
    doomed = _doomed(settings, forest, chosen, days, now, cache)
    if dry:
        return doomed
    done: list[Doomed] = []
    for some in batches(doomed):
        with changing(settings, now, cache) as change:
            known = change.known().by_key
            same = [it for it in some if it.entry.key and known.get(it.entry.key) == it.entry]
            for item in same:
                _take_away(change, item)
            change.generate()
        done += same
    return done


def _doomed(
    settings: Settings,
    forest: Index,
    chosen: Iterable[Reason],
    days: int,
    now: datetime,
    cache: SnapshotCache,
) -> list[Doomed]:
    since = now - timedelta(days=days)
    found = []
    for standing in standings(settings, forest, now=now, cache=cache):
        reason = next((reason for reason in chosen if reason.applies(standing, since)), None)
        if reason and standing.entry.key:
            found.append(Doomed(standing.entry, reason, standing.reasons))
    return found


def _require_complete(forest: Index) -> None:
    index = forest.freshness()
    if index.state != "fresh" or not index.files:
        why = " ".join(index.degraded) or f"it is {index.state}"
        raise NotFoundError(
            f"The index of the source is not complete, so nothing is proven to be gone: {why}",
            hint="Run `code-intel sync --words-only`, and `code-intel doctor` if that does not help.",
        )


def _learned(entry: AgreementEntry) -> datetime:
    return when(entry.agreement.learned_at) if entry.agreement else datetime.max.replace(tzinfo=UTC)


def _take_away(change: MapChange, item: Doomed) -> None:
    """Move an agreement's files to the trash; of twins one file stays and says what all of them said."""
    entry = item.entry
    if item.reason.name == "twin":
        confirmed = is_confirmed(change.settings, entry, change.state)
        change.unite_files(entry, confirmed=confirmed)
        return
    for path in (entry.path, *entry.also):
        trash.move(change.settings, path, now=change.now)
