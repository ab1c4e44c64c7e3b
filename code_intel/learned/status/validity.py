"""Compute the status of an agreement from present facts; it is never stored (docs/decisions/0013).

Validity comes before age. An agreement whose symbol is provably unchanged does not expire. One
whose symbol is missing is not served at any age (seed 004 §7 C).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.foundation.spelling import composed
from code_intel.foundation.text import code_point, counted, mixed_word
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.files.trunk import is_carried, trunk_ids
from code_intel.learned.history.state import State
from code_intel.records import READY_SCORE, Agreement, Definition, Validity

SERVED: frozenset[Validity] = frozenset({"valid", "changed", "unchecked", "expired", "unconfirmed"})
"""The statuses that a search answers; agreements of the others are only listed."""

SCORE_CAP: Mapping[Validity, float] = MappingProxyType(
    {
        "valid": 1.0,
        "changed": READY_SCORE - 0.001,
        "unchecked": 1.0,
        "expired": 1.0,
        "unconfirmed": 1.0,
        "broken": 0.0,
        "conflict": 0.0,
        "invalid": 0.0,
    }
)
"""The limit of the calibrated score; only a changed symbol puts the content in doubt."""


@dataclass(frozen=True, slots=True)
class SymbolFacts:
    """The facts of the local index about an agreement's symbol.

    Attributes:
        complete: Whether the index has seen every file; only then does absence mean anything.
        definitions: Every definition of the symbol, as `lookup_name` spells it.
        heirs: If the symbol is missing: definitions with the agreed body under another name.
    """

    complete: bool
    definitions: tuple[Definition, ...] = ()
    heirs: tuple[Definition, ...] = ()

    @property
    def heir(self) -> Definition | None:
        """What the symbol was renamed to: one definition with its text, and none with its name."""
        return self.heirs[0] if len(self.heirs) == 1 and not self.definitions else None


NO_SYMBOL_FACTS = SymbolFacts(complete=False)


@dataclass(frozen=True, slots=True)
class _Case:
    """An agreement and everything that is known when it is judged."""

    agreement: Agreement
    facts: SymbolFacts
    confirmed: bool
    now: datetime
    expire_days: int
    last_use: datetime

    @property
    def unchanged(self) -> bool:
        """Whether a definition is provably the one that was agreed on."""
        if not self.agreement.digest:
            return False
        own = own_definitions(self.agreement, self.facts)
        meant = own if self.agreement.files else self.facts.definitions
        same = self.agreement.digest in {definition.digest for definition in meant}
        return same or moved_to(self.agreement, self.facts) is not None


def lookup_name(symbol: str) -> str:
    """Return a symbol as an index knows it: ``AuthService.login()`` gives ``AuthService.login``."""
    return (
        re.sub(r"\(.*\Z", "", symbol, flags=re.DOTALL).strip().replace("::", ".").replace("#", ".")
    )


def own_definitions(agreement: Agreement, facts: SymbolFacts) -> tuple[Definition, ...]:
    """Return the definitions in the agreement's own files.

    Other files may define the same name: what happens to those says nothing.
    """
    files = {file.path for file in agreement.files}
    own = tuple(found for found in facts.definitions if found.file in files)
    if not own:  # the same names, written in the other Unicode form
        files = {composed(file) for file in files}
        own = tuple(found for found in facts.definitions if composed(found.file) in files)
    return own


def moved_to(agreement: Agreement, facts: SymbolFacts) -> Definition | None:
    """Return where the agreed symbol is, once none of the agreement's files defines it.

    One definition alone has its text, and enough of it that another one would not.
    """
    if not agreement.files or not agreement.digest or own_definitions(agreement, facts):
        return None
    same = [found for found in facts.definitions if found.digest == agreement.digest]
    return same[0] if len(same) == 1 and same[0].body else None


def lookalike(agreement: Agreement) -> str:
    """Return a note about a name with letters that are not what they look like, or nothing."""
    names = (agreement.nl_term, agreement.symbol, *agreement.aliases)
    word = next(filter(None, map(mixed_word, names)), "")
    if not word:
        return ""
    others = ", ".join(f"{c} {code_point(c)}" for c in dict.fromkeys(word) if not _is_latin(c))
    return (
        f"“{word}” mixes Latin letters with others that look like them ({others}). "
        "Only `code-intel map confirm` confirms it."
    )


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith("LATIN")


def judge(
    entry: AgreementEntry,
    facts: SymbolFacts,
    *,
    confirmed: bool,
    now: datetime,
    expire_days: int,
    last_confirmed_use: datetime | None = None,
) -> tuple[Validity, tuple[str, ...]]:
    """Return the status of an entry and every reason for it; pure.

    Args:
        entry: The agreement, or the file that should have been one.
        facts: What the index knows of its symbol now.
        confirmed: What `is_confirmed` said.
        now: With an offset.
        expire_days: Days without confirmed use; 0 for never.
        last_confirmed_use: From the state store; its learning counts as well.
    """
    if entry.agreement is None:
        return entry.problem or "invalid", (entry.reason,)
    learned = when(entry.agreement.learned_at)
    last_use = max(learned, last_confirmed_use) if last_confirmed_use else learned
    case = _Case(entry.agreement, facts, confirmed, now, expire_days, last_use)
    found = [(validity, reason) for validity, rule in _RULES if (reason := rule(case))]
    notes = tuple(filter(None, (_moved(case), lookalike(entry.agreement), entry.reason)))
    return found[0][0] if found else "valid", (*(reason for _, reason in found), *notes)


class Trust(NamedTuple):
    """What confirms an agreement's content.

    Attributes:
        here: Digests that were confirmed on this machine.
        merged: Git's ids of the contents that the trunk holds.
    """

    here: frozenset[str] = frozenset()
    merged: frozenset[str] = frozenset()

    def confirms(self, entry: AgreementEntry) -> bool:
        """Return whether an entry's content was confirmed here, or agreed on in git.

        Names that are not what they look like (`lookalike`) can be confirmed only here, because a
        reviewer did not see them.
        """
        if entry.agreement is None:
            return False
        if entry.digest in self.here:
            return True
        return (
            entry.agreement.confirmed
            and bool(entry.git_ids)
            and all(not ids.isdisjoint(self.merged) for ids in entry.git_ids)
            and not lookalike(entry.agreement)
        )


def trust_of(settings: Settings, here: frozenset[str]) -> Trust:
    """Return what confirms agreements of a project, given the digests that its state store holds.

    Without `trust_git` the trunk confirms nothing.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    merged = trunk_ids(settings) if settings.trust_git else frozenset[str]()
    return trust_without_trunk(settings, here)._replace(merged=merged)


def trust_without_trunk(settings: Settings, here: frozenset[str]) -> Trust:
    """Return what this machine has confirmed; a store that git carries confirms nothing."""
    return Trust(frozenset() if here and is_carried(settings) else here)


def is_confirmed(settings: Settings, entry: AgreementEntry, state: State) -> bool:
    """Return whether an agreement's content was confirmed here, or agreed on in git."""
    trust = trust_without_trunk(settings, frozenset(state.confirmed()))
    if trust.confirms(entry):
        return True
    try:
        return trust_of(settings, frozenset()).confirms(entry)
    except TimeoutError:
        return False


def _broken(case: _Case) -> str:
    facts = case.facts
    if not facts.complete or facts.definitions or facts.heir:
        return ""
    gone = f"{lookup_name(case.agreement.symbol)} is not defined anywhere."
    same = ", ".join(f"{found.qualified} ({found.file}:{found.line})" for found in facts.heirs)
    return f"{gone} Its text is in several places now: {same}." if same else gone


def _changed(case: _Case) -> str:
    if not case.facts.complete or case.unchanged:
        return ""
    if heir := case.facts.heir:
        return (
            f"Its symbol was renamed to {heir.qualified} ({heir.file}:{heir.line}), "
            "with the same text."
        )
    if not case.agreement.digest:
        return ""
    meant = own_definitions(case.agreement, case.facts) or case.facts.definitions
    places = ", ".join(f"{found.file}:{found.line}" for found in meant[:3])
    return f"The symbol has changed since it was agreed on: {places}." if places else ""


def _moved(case: _Case) -> str:
    place = moved_to(case.agreement, case.facts)
    return f"Its symbol has moved to {place.file}:{place.line}, unchanged." if place else ""


def _unconfirmed(case: _Case) -> str:
    return "" if case.confirmed else "Not confirmed, here or on the main branch."


def _unchecked(case: _Case) -> str:
    return (
        ""
        if case.facts.complete
        else "Not checked: the index of the source is incomplete. "
        "Run `code-intel sync --words-only`."
    )


def _expired(case: _Case) -> str:
    proven = case.facts.complete and case.unchanged
    if (
        proven
        or not case.expire_days
        or case.now - case.last_use <= timedelta(days=case.expire_days)
    ):
        return ""
    if case.last_use == when(""):
        return (
            "It has neither a date nor a fingerprint of its symbol. "
            "Run `code-intel map confirm` to record both."
        )
    return f"It was not used successfully for {counted(case.expire_days, 'day')}."


_RULES: tuple[tuple[Validity, Callable[[_Case], str]], ...] = (
    ("broken", _broken),
    ("changed", _changed),
    ("unconfirmed", _unconfirmed),
    ("unchecked", _unchecked),
    ("expired", _expired),
)
"""The first rule that applies gives the status; all that apply give their reasons."""
