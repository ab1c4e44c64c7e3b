"""Compute the status of an agreement from current facts; it is not stored (docs/decisions/0013).

An agreement whose symbol is provably unchanged does not expire. One whose symbol is missing is not
served, whatever its age (seed 004 §7 C).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
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
"""The statuses of agreements that searches return; others are only listed."""

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
"""Upper limits of the calibrated score by status."""

MAX_NAMED_PLACES = 10
"""Limit of the definitions that a message lists."""


@dataclass(frozen=True, slots=True)
class SymbolFacts:
    """The facts in the index of the source about an agreement's symbol.

    Attributes:
        complete: Whether the index covers every file; otherwise a missing symbol proves nothing.
        definitions: All definitions of the symbol, as written by `lookup_name`.
        heirs: If the symbol is missing, definitions of other names with the agreed body.
    """

    complete: bool
    definitions: tuple[Definition, ...] = ()
    heirs: tuple[Definition, ...] = ()

    @property
    def heir(self) -> Definition | None:
        """The definition that the symbol was renamed to, if exactly one has the agreed body."""
        return self.heirs[0] if len(self.heirs) == 1 and not self.definitions else None


NO_SYMBOL_FACTS = SymbolFacts(complete=False)


@dataclass(frozen=True, slots=True)
class _Case:
    """An agreement and everything that is needed to judge it."""

    agreement: Agreement
    facts: SymbolFacts
    confirmed: bool
    now: datetime
    expire_days: int
    last_use: datetime

    @property
    def unchanged(self) -> bool:
        """Whether the agreed definition provably still exists unchanged."""
        if not self.agreement.digest:
            return False
        own = own_definitions(self.agreement, self.facts)
        meant = own if self.agreement.files else self.facts.definitions
        same = self.agreement.digest in {definition.digest for definition in meant}
        return same or moved_to(self.agreement, self.facts) is not None


def lookup_name(symbol: str) -> str:
    """Return the name of a symbol in the index: `AuthService.login` for `AuthService::login()`."""
    return (
        re.sub(r"\(.*\Z", "", symbol, flags=re.DOTALL).strip().replace("::", ".").replace("#", ".")
    )


def own_definitions(agreement: Agreement, facts: SymbolFacts) -> tuple[Definition, ...]:
    """Return the definitions in the first of the agreement's files that defines the symbol.

    Other files may define the same name.
    """
    for file in agreement.files:
        own = tuple(found for found in facts.definitions if found.file == file.path)
        if not own:  # the same name, written in the other Unicode form
            path = composed(file.path)
            own = tuple(found for found in facts.definitions if composed(found.file) == path)
        if own:
            return own
    return ()


def several_files(agreement: Agreement, facts: SymbolFacts) -> tuple[Definition, ...]:
    """Return the definitions if several files have one and the agreement names none of them.

    An agreement without its file does not say which symbol it means.
    """
    files = {found.file for found in facts.definitions}
    several = len(files) > 1
    if not several or own_definitions(agreement, facts) or moved_to(agreement, facts):
        return ()
    return facts.definitions


def moved_to(agreement: Agreement, facts: SymbolFacts) -> Definition | None:
    """Return the definition of a symbol that has moved to a file outside the agreement.

    It must be the only definition with the agreed text, and long enough not to be a coincidence.
    """
    if not agreement.files or not agreement.digest or own_definitions(agreement, facts):
        return None
    same = [found for found in facts.definitions if found.digest == agreement.digest]
    return same[0] if len(same) == 1 and same[0].body else None


def lookalike(agreement: Agreement) -> str:
    """Return a warning about a name that contains look-alike letters; empty if none exists."""
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
    """Return the status of an entry and all reasons for it. Pure.

    Args:
        entry: The entry of the agreement.
        facts: The current facts about its symbol.
        confirmed: Whether the agreement is confirmed; see `Trust.confirms`.
        now: The current time, with an offset.
        expire_days: Days without a successful use after which it expires; 0 for never.
        last_confirmed_use: The last successful use according to the state store.
    """
    if entry.agreement is None:
        return entry.problem or "invalid", (entry.reason,)
    learned = when(entry.agreement.learned_at)
    last_use = max(learned, last_confirmed_use) if last_confirmed_use else learned
    case = _Case(entry.agreement, facts, confirmed, now, expire_days, last_use)
    found = [(validity, reason) for validity, rule in _RULES if (reason := rule(case))]
    notes = tuple(
        filter(None, (_ambiguous(case), _moved(case), lookalike(entry.agreement), entry.reason))
    )
    return found[0][0] if found else "valid", (*(reason for _, reason in found), *notes)


class Trust(NamedTuple):
    """The contents of agreements that are confirmed.

    Attributes:
        here: Digests of contents that were confirmed on this machine.
        merged: Git object ids of the contents in the trunk.
    """

    here: frozenset[str] = frozenset()
    merged: frozenset[str] = frozenset()

    def confirms(self, entry: AgreementEntry) -> bool:
        """Return whether an entry's content was confirmed on this machine, or merged in git.

        Names with look-alike letters can be confirmed only on this machine, because a reviewer
        cannot see them.
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
    """Return the confirmed contents, given the digests in the project's state store.

    Without `trust_git`, contents in the trunk are not confirmed.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    merged = trunk_ids(settings) if settings.trust_git else frozenset[str]()
    return trust_without_trunk(settings, here)._replace(merged=merged)


def trust_without_trunk(settings: Settings, here: frozenset[str]) -> Trust:
    """Return the contents confirmed on this machine; none if git tracks the state store."""
    return Trust(frozenset() if here and is_carried(settings) else here)


def is_confirmed(settings: Settings, entry: AgreementEntry, state: State) -> bool:
    """Return whether an agreement's content was confirmed on this machine, or merged in git."""
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


def _ambiguous(case: _Case) -> str:
    found = several_files(case.agreement, case.facts)
    if not found:
        return ""
    return (
        f"Several files define its symbol: {places_of(found)}. "
        "Name one: `code-intel map confirm TERM SYMBOL --file PATH`."
    )


def places_of(definitions: Sequence[Definition]) -> str:
    """Return the places of definitions as text, at most `MAX_NAMED_PLACES`."""
    shown = ", ".join(f"{found.file}:{found.line}" for found in definitions[:MAX_NAMED_PLACES])
    more = len(definitions) - MAX_NAMED_PLACES
    return f"{shown} and {more} more" if more > 0 else shown


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
"""The first rule that applies determines the status; all that apply add their reasons."""
