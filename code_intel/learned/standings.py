"""Every agreement with what it is worth now: files, this machine's memory and the index together."""

from dataclasses import dataclass
from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.agreements import Entry, Key, load_all
from code_intel.learned.definitions import facts_of
from code_intel.learned.experience import NONE, Objections, weigh
from code_intel.learned.recall import fold
from code_intel.learned.reconcile import refresh
from code_intel.learned.state import State, open_state
from code_intel.learned.validity import NO_FACTS, confirmed_paths, judge
from code_intel.records import Definition, Validity

CERTAIN_SESSIONS = 2
"""Sessions that confirmed an alias until it is as good as the term (docs/decisions/0007)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An agreement's file, its validity with reasons, whether it is confirmed, its certain aliases.

    Its aliases are folded; `objections` is what sessions and people have against it; `heir` is what its
    symbol was renamed to.
    """

    entry: Entry
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
    settings: Settings, forest: Index, *, now: datetime | None = None, repair: bool = True
) -> list[Standing]:
    """Judge every agreement of the project, by path.

    Args:
        settings: The project.
        forest: The local index of its source; an incomplete one proves nothing.
        now: With an offset.
        repair: Whether edits of learned_pairs.json are honoured first; False writes nothing.
    """
    if repair:
        refresh(settings)
    entries = load_all(settings.agreements)
    if not entries:
        return []
    with open_state(settings.state, create=False) as state:
        return _judged(settings, forest, state, entries, now or datetime.now(UTC))


def _judged(
    settings: Settings, forest: Index, state: State, entries: list[Entry], now: datetime
) -> list[Standing]:
    confirmed = confirmed_paths(settings, entries, state)
    uses, sightings = state.last_uses(), state.alias_sessions()
    contested = weigh(state.contested(), now)
    complete = forest.freshness().state in {"fresh", "stale"}
    found = []
    for entry in entries:
        facts = facts_of(forest, entry.agreement) if complete and entry.agreement else NO_FACTS
        validity, reasons = judge(
            entry,
            facts,
            confirmed=entry.path in confirmed,
            now=now,
            expire_days=settings.expire_days,
            last_confirmed_use=uses.get(entry.key) if entry.key else None,
        )
        certain = _certain(sightings, entry)
        against = contested.get(entry.key, NONE) if entry.key else NONE
        reasons += (against.doubt,) if against.doubt else ()
        is_agreed = entry.path in confirmed
        standing = Standing(entry, validity, reasons, is_agreed, certain, against, facts.heir)
        found.append(standing)
    return found


def _certain(sightings: dict[Key, dict[str, int]], entry: Entry) -> frozenset[str]:
    """Return the aliases that enough sessions confirmed; one that people took out of the file is none."""
    seen = sightings.get(entry.key, {}) if entry.key else {}
    if entry.agreement is None or not seen:
        return frozenset()
    written = set(map(fold, entry.agreement.aliases))
    return frozenset(
        alias
        for alias, sessions in seen.items()
        if sessions >= CERTAIN_SESSIONS and alias in written
    )
