"""Move outdated agreements to the trash on request (docs/decisions/0036).

Nothing is pruned automatically. Files that are unreadable or in a merge conflict are never pruned.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.config.table import EXPIRE_DAYS
from code_intel.errors import NotFoundError
from code_intel.index.facade import Index
from code_intel.learned.files import trash
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.changes import MapChange, batches, changing
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.learned.status.validity import is_confirmed


class Reason(NamedTuple):
    """A reason to prune.

    Attributes:
        name: The name on the command line.
        about: The reason as a clause.
        applies: Returns whether the reason applies to an agreement, given the time before which
            `unconfirmed` agreements are pruned.
        is_proven: Whether a complete index of the source proves the reason. Such reasons are the
            default.
    """

    name: str
    about: str
    applies: Callable[[AgreementStatus, datetime], bool]
    is_proven: bool = False


REASONS = (
    Reason(
        "broken", "its symbol is gone from the code", lambda it, _: it.validity == "broken",
        is_proven=True,
    ),
    Reason(
        "expired", "it was not used for a long time and is not known to be valid",
        lambda it, _: it.validity == "expired", is_proven=True,
    ),
    Reason(
        "unconfirmed", "it was not confirmed for a long time",
        lambda it, since: bool(
            it.entry.agreement and not it.confirmed and _learned(it.entry) < since
        ),
    ),
    Reason(
        "twin", "it was merged into another file with its term and symbol",
        lambda it, _: bool(it.entry.other_paths),
    ),
)  # fmt: skip
"""The reasons to prune; the first chosen one that applies is used."""
DEFAULT_REASONS = tuple(reason.name for reason in REASONS if reason.is_proven)


class PruneCandidate(NamedTuple):
    """An agreement to prune, and the reason. Of twins, the first file is kept."""

    entry: AgreementEntry
    reason: Reason
    details: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files to move to the trash."""
        first = () if self.reason.name == "twin" else (self.entry.path,)
        return tuple(path.name for path in (*first, *self.entry.other_paths))


def prune(
    settings: Settings,
    forest: Index,
    reasons: Collection[str] = DEFAULT_REASONS,
    *,
    days: int = EXPIRE_DAYS,
    now: datetime | None = None,
    dry: bool = False,
) -> list[PruneCandidate]:
    """Move outdated agreements to the trash; return them.

    Args:
        settings: The project.
        forest: The current index of the project's source.
        reasons: Names of `REASONS`.
        days: The age in days from which `unconfirmed` applies.
        now: The current time.
        dry: Whether to return the agreements without moving them.

    Raises:
        NotFoundError: A reason needs a complete index of the source, and none exists.
        StorageError: A file could not be moved.
        BusyError: Another process holds the lock.
    """
    now = now or datetime.now(UTC)
    chosen = [reason for reason in REASONS if reason.name in reasons]
    if any(reason.is_proven for reason in chosen):
        _require_complete(forest)
    cache = SnapshotCache()
    candidates = _candidates(settings, forest, chosen, days, now, cache)
    if dry:
        return candidates
    done: list[PruneCandidate] = []
    for batch in batches(candidates):
        with changing(settings, now, cache) as change:
            known = change.known().by_key
            unchanged = [it for it in batch if it.entry.key and known.get(it.entry.key) == it.entry]
            for item in unchanged:
                _move_to_trash(change, item)
            change.generate()
        done += unchanged
    return done


def _candidates(
    settings: Settings,
    forest: Index,
    chosen: Iterable[Reason],
    days: int,
    now: datetime,
    cache: SnapshotCache,
) -> list[PruneCandidate]:
    since = now - timedelta(days=days)
    found = []
    for standing in standings(settings, forest, now=now, cache=cache):
        reason = next((reason for reason in chosen if reason.applies(standing, since)), None)
        if reason and standing.entry.key:
            found.append(PruneCandidate(standing.entry, reason, standing.reasons))
    return found


def _require_complete(forest: Index) -> None:
    index = forest.freshness()
    if index.state != "fresh" or not index.files:
        reason = " ".join(index.degraded) or f"it is {index.state}"
        raise NotFoundError(
            f"The index of the source is incomplete, so nothing was pruned: {reason}",
            hint="Run `code-intel sync --words-only`; if that does not help, `code-intel doctor`.",
        )


def _learned(entry: AgreementEntry) -> datetime:
    return when(entry.agreement.learned_at) if entry.agreement else datetime.max.replace(tzinfo=UTC)


def _move_to_trash(change: MapChange, item: PruneCandidate) -> None:
    """Move an agreement's files to the trash; merge twins into one file first, which is kept."""
    entry = item.entry
    if item.reason.name == "twin":
        confirmed = is_confirmed(change.settings, entry, change.state)
        change.merge_files(entry, confirmed=confirmed)
        return
    for path in (entry.path, *entry.other_paths):
        trash.move(change.settings, path, now=change.now)
