"""Judge agreements by their files, this machine's state store and the index of the source."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.history.experience import NO_OBJECTIONS, Objections
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import NOW, Snapshot, SnapshotCache
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, judge
from code_intel.records import Definition, Validity

HIDDEN_BY_REJECTION: frozenset[Validity] = frozenset(
    {"valid", "unchecked", "expired", "unconfirmed"}
)
"""The statuses instead of which lists say `rejected`. The others ask for another action first."""


@dataclass(frozen=True, slots=True)
class AgreementStatus:
    """An agreement with its current status.

    Attributes:
        entry: The entry of the agreement.
        validity: The status.
        reasons: The reasons for the status, and notes.
        confirmed: Whether the content was confirmed on this machine or merged in git.
        certain_aliases: Folded aliases that are as good as the term.
        objections: The objections of sessions and people.
        heir: The definition that the symbol was renamed to.
    """

    entry: AgreementEntry
    validity: Validity
    reasons: tuple[str, ...]
    confirmed: bool
    certain_aliases: frozenset[str] = frozenset()
    objections: Objections = NO_OBJECTIONS
    heir: Definition | None = None

    @property
    def listed_status(self) -> Validity:
        """The status for lists: `rejected` if a person has rejected a usable agreement.

        Searches use `validity`, because a rejected agreement is still offered for verification.
        """
        is_rejected = self.objections.is_rejected and self.validity in HIDDEN_BY_REJECTION
        return "rejected" if is_rejected else self.validity

    @property
    def symbol(self) -> str:
        """The current name of the symbol; empty for an unreadable file."""
        if self.heir is not None:
            return self.heir.qualified
        return self.entry.agreement.symbol if self.entry.agreement else ""


def standings(
    settings: Settings,
    forest: Index,
    *,
    now: datetime | None = None,
    cache: SnapshotCache | None = None,
) -> list[AgreementStatus]:
    """Judge all agreements of the project; return them by path.

    Args:
        settings: The project.
        forest: The index of the project's source.
        now: The current time, with an offset.
        cache: A cache of the agreements, for servers.
    """
    now = now or datetime.now(UTC)
    found = (cache or SnapshotCache()).snapshot(settings, now=now)
    judge_one = judging(settings, forest, found, now)
    return [judge_one(entry) for entry in found.known.entries]


def standings_of(
    settings: Settings,
    forest: Index,
    keys: Iterable[Key],
    *,
    since: float = NOW,
    cache: SnapshotCache | None = None,
) -> dict[Key, AgreementStatus]:
    """Judge the existing agreements with these keys; see `SnapshotCache.snapshot` for `since`."""
    now = datetime.now(UTC)
    found = (cache or SnapshotCache()).snapshot(settings, now=now, since=since)
    entries = {key: found.known.by_key[key] for key in keys if key in found.known.by_key}
    judge_one = judging(settings, forest, found, now)
    return {key: judge_one(entry) for key, entry in entries.items()}


def judging(
    settings: Settings, forest: Index, found: Snapshot, now: datetime
) -> Callable[[AgreementEntry], AgreementStatus]:
    """Return a function that judges an entry of a snapshot with the current index of the source."""
    complete = bool(found.known.entries) and forest.freshness().state in {"fresh", "stale"}

    def judged(entry: AgreementEntry) -> AgreementStatus:
        facts = (
            facts_of(forest, entry.agreement) if complete and entry.agreement else NO_SYMBOL_FACTS
        )
        confirmed = found.trust.confirms(entry)
        validity, reasons = judge(
            entry,
            facts,
            confirmed=confirmed,
            now=now,
            expire_days=settings.expire_days,
            last_confirmed_use=found.memory.uses.get(entry.key) if entry.key else None,
        )
        against = found.objections.get(entry.key, NO_OBJECTIONS) if entry.key else NO_OBJECTIONS
        reasons += (against.doubt,) if against.doubt else ()
        certain = found.certain_aliases(entry)
        return AgreementStatus(entry, validity, reasons, confirmed, certain, against, facts.heir)

    return judged
