"""The present status of every agreement, from files, this machine's memory and the index."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.history.experience import NONE, Objections
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import NOW, Snapshot, SnapshotCache
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, judge
from code_intel.records import Definition, Validity


@dataclass(frozen=True, slots=True)
class AgreementStatus:
    """An agreement with what it is worth now.

    Attributes:
        entry: Its file.
        validity: How far it may be trusted.
        reasons: Why not more.
        confirmed: Whether its content was confirmed here or agreed on in git.
        certain_aliases: Its aliases, folded, that are as good as the term.
        objections: What sessions and people have against it.
        heir: The definition that its symbol was renamed to.
    """

    entry: AgreementEntry
    validity: Validity
    reasons: tuple[str, ...]
    confirmed: bool
    certain_aliases: frozenset[str] = frozenset()
    objections: Objections = NONE
    heir: Definition | None = None

    @property
    def symbol(self) -> str:
        """What its symbol is called now; empty for a file that cannot be read."""
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
    """Judge every agreement of the project, by path.

    Args:
        settings: The project.
        forest: The local index of its source; an incomplete one proves nothing.
        now: With an offset.
        cache: What is kept between questions, if anything.
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
    """Judge those of the agreements that exist; see `SnapshotCache.snapshot` about `since`."""
    now = datetime.now(UTC)
    found = (cache or SnapshotCache()).snapshot(settings, now=now, since=since)
    entries = {key: found.known.by_key[key] for key in keys if key in found.known.by_key}
    judge_one = judging(settings, forest, found, now)
    return {key: judge_one(entry) for key, entry in entries.items()}


def judging(
    settings: Settings, forest: Index, found: Snapshot, now: datetime
) -> Callable[[AgreementEntry], AgreementStatus]:
    """Return a function that judges an entry of a snapshot by the present index of the source."""
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
        against = found.objections.get(entry.key, NONE) if entry.key else NONE
        reasons += (against.doubt,) if against.doubt else ()
        certain = found.certain_aliases(entry)
        return AgreementStatus(entry, validity, reasons, confirmed, certain, against, facts.heir)

    return judged
