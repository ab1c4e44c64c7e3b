"""Decide what a successful session may teach the map (docs/decisions/0008)."""

import re
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.wording import symbol_parts

_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_FILLERS = frozenset({"a", "an", "the", "of", "function", "method", "class"})
_MAX_PLAIN_WORDS = 1
"""A term with more words describes something, even if one of them is also a name."""


class LearnedAs(StrEnum):
    """What becomes of a symbol that a session has confirmed."""

    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    NOTHING = "nothing"


class SymbolOutcome(NamedTuple):
    """The facts about a symbol that a session has confirmed, once its outcome is known.

    Attributes:
        symbol: Its name.
        defined: Whether it is still defined.
        places: The places that define it, if several files do and it is not clear which is meant.
        changed: Whether its own code has changed since the session began; comments, documentation
            and blank lines do not count. None if git cannot tell.
        offered: Whether an agreement that led this session to READY or VERIFICATION names it.
        plausible: Whether it is a plausible place for the request.
        rivals: Other defined symbols that the term names exactly.
        opposite: Whether its name means the opposite of the term, and no person has confirmed it.
        agreed: Whether a confirmed agreement pairs it with the term already.
    """

    symbol: str
    defined: bool = True
    places: str = ""
    changed: bool | None = True
    offered: bool = False
    plausible: bool = True
    rivals: tuple[str, ...] = ()
    opposite: bool = False
    agreed: bool = False


class LearningRule(NamedTuple):
    """A reason to learn less. `why` is a clause; `{symbol}` etc. are replaced.

    If `final`, the user's insistence changes nothing.
    """

    applies: Callable[[Session, SymbolOutcome], bool]
    result: LearnedAs
    why: str
    final: bool = False


LEARNING_RULES: tuple[LearningRule, ...] = (
    LearningRule(
        lambda session, _: not _term(session),
        LearnedAs.NOTHING,
        "the query frame names no target_feature",
        final=True,
    ),
    LearningRule(
        lambda _, it: not it.defined,
        LearnedAs.NOTHING,
        "{symbol} is no longer defined",
        final=True,
    ),
    LearningRule(
        lambda _, it: bool(it.places),
        LearnedAs.NOTHING,
        "several files define {symbol} ({places}): call record_outcome again with the same "
        "session_id, and name the file in analysis.related_files",
        final=True,
    ),
    LearningRule(
        lambda session, _: session.intent.writes and session.phase is not Phase.READY,
        LearnedAs.NOTHING,
        "READY was not reached through understanding or verification",
    ),
    LearningRule(
        lambda session, it: it.symbol not in session.corroborated_symbols,
        LearnedAs.NOTHING,
        "{symbol} was not looked up in this session",
    ),
    LearningRule(
        lambda session, it: session.intent.writes and it.changed is False,
        LearnedAs.NOTHING,
        "the code of {symbol} has not changed since the session began",
    ),
    LearningRule(
        lambda session, it: not session.intent.writes and it.agreed,
        LearnedAs.NOTHING,
        "a confirmed agreement says so already",
        final=True,
    ),
    LearningRule(
        lambda session, it: not session.intent.writes and not _is_quoted(session, it),
        LearnedAs.NOTHING,
        "no quote of {symbol} was accepted in this session",
    ),
    LearningRule(
        lambda session, _: not session.intent.writes,
        LearnedAs.UNCONFIRMED,
        "the intent is read-only",
    ),
    LearningRule(
        lambda _, it: it.changed is None,
        LearnedAs.UNCONFIRMED,
        "git cannot tell what has changed",
    ),
    LearningRule(
        lambda session, it: session.ready_by == "map" and not it.offered,
        LearnedAs.NOTHING,
        "READY was reached through an agreement about another symbol",
    ),
    LearningRule(
        lambda session, it: not (_is_quoted(session, it) or it.offered or it.agreed),
        LearnedAs.UNCONFIRMED,
        "no quote of {symbol} was accepted in this session",
    ),
    LearningRule(
        lambda _, it: not (it.plausible or it.agreed),
        LearnedAs.UNCONFIRMED,
        "{symbol} is hardly linked to the request",
    ),
    LearningRule(
        lambda _, it: bool(it.rivals) and not it.agreed,
        LearnedAs.UNCONFIRMED,
        "the term names {rivals} exactly",
    ),
    LearningRule(
        lambda _, it: it.opposite,
        LearnedAs.UNCONFIRMED,
        "the name of {symbol} means the opposite of the term",
    ),
)
"""Reasons to learn less than a confirmed agreement. Of those that apply, the first one counts."""


class LearningVerdict(NamedTuple):
    """What becomes of a symbol, and the reason if it is less than a confirmed agreement."""

    symbol: str
    result: LearnedAs
    why: str = ""


def judge_symbol(session: Session, facts: SymbolOutcome, *, insist: bool) -> LearningVerdict:
    """Return what a success of this session teaches about a symbol that it has confirmed.

    With `insist`, the user wants an unconfirmed agreement where nothing would be learned.
    """
    rule = next((rule for rule in LEARNING_RULES if rule.applies(session, facts)), None)
    if rule is None:
        return LearningVerdict(facts.symbol, LearnedAs.CONFIRMED)
    why = rule.why.format(symbol=facts.symbol, rivals=", ".join(facts.rivals), places=facts.places)
    result = rule.result
    if insist and result is LearnedAs.NOTHING and not rule.final and not facts.agreed:
        result = LearnedAs.UNCONFIRMED
    if result is LearnedAs.UNCONFIRMED and facts.agreed:  # it would lose its confirmation
        result = LearnedAs.NOTHING
    return LearningVerdict(facts.symbol, result, why)


def symbols_to_learn(session: Session) -> tuple[str, ...]:
    """Return the symbols that the session has confirmed and not yet learned."""
    term = _term(session)
    names = (symbol.name for symbol in session.symbols if symbol.confirmed)
    return tuple(name for name in names if (term, name) not in session.learned)


def why_no_symbol(session: Session) -> str:
    """Return why no symbol can be learned, as a clause."""
    if session.learned:
        return "everything that this session confirmed has been learned already"
    return "no symbol was confirmed in this session"


def names_of(term: str) -> tuple[str, ...]:
    """Return the words of a term that are names of code: by their form, or since they stand alone.

    >>> names_of("TaggedJSONSerializer of the session"), names_of("the jsonify function")
    (('TaggedJSONSerializer',), ('jsonify',))
    >>> names_of("the login form of the shop")
    ()
    """
    words = [word.strip(".") for word in _NAME.findall(term)]
    shaped = [word for word in words if _is_code(word)]
    plain = [word for word in words if word not in shaped and word.casefold() not in _FILLERS]
    return tuple(dict.fromkeys(shaped or (plain if len(plain) <= _MAX_PLAIN_WORDS else ())))


def is_related(one: str, other: str) -> bool:
    """Return whether two symbols are the same, or one is a member of the other."""
    first, second = _prefix(one), _prefix(other)
    return first.startswith(second) or second.startswith(first)


def _is_quoted(session: Session, facts: SymbolOutcome) -> bool:
    """Return whether the session has quoted the symbol; the counts do not demand it."""
    symbol = session.symbol(facts.symbol)
    return session.demands == "counts" or bool(symbol and symbol.quote)


def has_confirmed(session: Session, symbol: str) -> bool:
    """Return whether the session has quoted this symbol, a member of it or its class.

    Under the demands of counts, it is enough that the session has confirmed it.
    """
    counts = session.demands == "counts"
    return any(
        is_related(item.name, symbol)
        for item in session.symbols
        if item.quote or (counts and item.confirmed)
    )


def _prefix(symbol: str) -> str:
    """Return the start of the dotted names of a symbol's members, such as `Auth.login.`."""
    return ".".join((*symbol_parts(symbol), ""))


def _term(session: Session) -> str:
    return session.frame.value("target_feature") if session.frame else ""


def _is_code(word: str) -> bool:
    """Return whether a word can only be a name in code: `a_b`, `aB`, `a.b`."""
    return any(
        one in "_." or (one.isupper() and before.islower()) for before, one in pairwise(word)
    )
