"""Every agreement with what it is worth now: files, this machine's memory and the index together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.learned.files.agreements import AgreementEntry, Key
from code_intel.learned.files.folder import NOW
from code_intel.learned.history.experience import NONE, Objections
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import AgreementSnapshot, certain_aliases, ledger
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, SymbolFacts, judge
from code_intel.records import Agreement, Definition, Validity

MAX_FACTS = 1000
"""Symbols that are remembered at once."""


@dataclass(frozen=True, slots=True)
class AgreementStatus:
    """An agreement's file, its validity with reasons, whether it is confirmed, its certain aliases.

    Its aliases are folded; `objections` is what sessions and people have against it; `heir` is what its
    symbol was renamed to.
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
    settings: Settings, forest: Index, *, now: datetime | None = None
) -> list[AgreementStatus]:
    """Judge every agreement of the project, by path.

    Args:
        settings: The project.
        forest: The local index of its source; an incomplete one proves nothing.
        now: With an offset.
    """
    now = now or datetime.now(UTC)
    found = ledger(settings, now=now)
    judge_one = judging(settings, forest, found, now)
    return [judge_one(entry) for entry in found.known.entries]


def standings_of(
    settings: Settings, forest: Index, keys: Iterable[Key], *, since: float = NOW
) -> dict[Key, AgreementStatus]:
    """Judge those agreements that there are; see `ledger` about `since`."""
    now = datetime.now(UTC)
    found = ledger(settings, now=now, since=since)
    entries = {key: found.known.by_key[key] for key in keys if key in found.known.by_key}
    judge_one = judging(settings, forest, found, now)
    return {key: judge_one(entry) for key, entry in entries.items()}


def judging(
    settings: Settings, forest: Index, found: AgreementSnapshot, now: datetime
) -> Callable[[AgreementEntry], AgreementStatus]:
    """Return what judges an entry of the ledger: by the index of the source as it is at that moment."""
    complete = bool(found.known.entries) and forest.freshness().state in {"fresh", "stale"}

    def judged(entry: AgreementEntry) -> AgreementStatus:
        facts = _facts(forest, entry.agreement) if complete and entry.agreement else NO_SYMBOL_FACTS
        confirmed = entry.path in found.confirmed
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
        certain = certain_aliases(found, entry)
        return AgreementStatus(entry, validity, reasons, confirmed, certain, against, facts.heir)

    return judged


_FACTS: "WeakKeyDictionary[Store, tuple[tuple[int, ...], dict[str, SymbolFacts]]]" = (
    WeakKeyDictionary()
)
"""What an index said of symbols that it defines, as long as nobody writes to it."""


def _facts(forest: Index, agreement: Agreement) -> SymbolFacts:
    """Return what the index knows of a symbol; asked once, since an answer is judged where it is found and used."""
    state = forest.store.state()
    if state is None:
        return facts_of(forest, agreement)
    before, known = _FACTS.get(forest.store, (state, {}))
    if before != state or len(known) >= MAX_FACTS:
        known = {}
    _FACTS[forest.store] = (state, known)
    facts = known.get(agreement.symbol) or facts_of(forest, agreement)
    if facts.definitions:  # what is not defined depends on the disk, and on more than the symbol
        known[agreement.symbol] = facts
    return facts
