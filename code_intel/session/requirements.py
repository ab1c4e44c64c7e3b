"""What a session must have understood before it may write (seed 004 §4.5, docs/decisions/0008).

Three ends: a formal slip or an unused tool is refused and nothing moves; what is short or still a
hypothesis leads to SEMANTIC; everything met leads to READY.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import RequirementError
from code_intel.session.frame import Slot, SlotSource
from code_intel.session.guidance import GREENFIELD, SEARCH_FIRST, UNREADABLE, hint_for
from code_intel.session.phases import Event, Intent, Phase, advance
from code_intel.session.relevance import carriers
from code_intel.session.risk import Risk
from code_intel.session.state import FOREST_TOOLS, Call, Session, Step
from code_intel.session.submission import (
    LEAST_NAME,
    Submission,
    UnderstandingFacts,
    consistency_errors,
    is_confusable,
    names,
    shown,
    starts_at,
)
from code_intel.session.wording import content_words, covers, fold, fold_symbol, says_something

__all__ = [
    "Submission",
    "Understanding",
    "UnderstandingFacts",
    "missing",
    "need_for",
    "slot_evidenced",
    "slots_asked",
    "submit_understanding",
]

REQUIRED_TOOLS = ("find_definitions", "find_references")
SLOT_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "search_files",
    "analyze_structure",
    "get_symbols",
)
"""Tools whose results are facts about the code, and so may evidence a slot. A `query` does so by the calls
that it makes: one question in the user's own words speaks of every slot (docs/decisions/0031)."""


_CORRECT = "Correct what consistency_errors lists, then call submit_understanding again."
_SHORT = " What else missing_requirements lists would lead to SEMANTIC: supply it before."


class Need(NamedTuple):
    """One row of the requirements table."""

    symbols: int
    entry_points: int
    files: int
    patterns: int
    slots: tuple[str, ...] = ()


WRITE_NEEDS: Mapping[Risk, Need] = MappingProxyType(
    {
        Risk.HIGH: Need(5, 2, 4, 2, ("target_feature", "observed_issue")),
        Risk.MEDIUM: Need(3, 1, 2, 1, ("target_feature",)),
        Risk.LOW: Need(3, 1, 2, 1),
    }
)
READ_NEED = Need(1, 0, 1, 0)


class Understanding(NamedTuple):
    """A verdict; append `step`, then the session is in `next_phase`.

    Attributes:
        step: The event to append.
        next_phase: Where it leads.
        confidence: `high` when nothing is missing, else `low`.
        missing: `key: have/need` and the like.
        hint: How to supply what is missing, in a few sentences; empty when nothing is.
        unseen_files: Files that exist but that no call of this session has returned: not counted,
            not explored.
        unknown_symbols: Symbols the index does not define, or that only the forest has named: kept
            as HYPOTHESIS, not counted.
        confusable: Those of them that mix look-alike alphabets.
    """

    step: Step
    next_phase: Phase
    confidence: str
    missing: tuple[str, ...]
    unknown_symbols: tuple[str, ...] = ()
    confusable: tuple[str, ...] = ()
    unseen_files: tuple[str, ...] = ()
    hint: str = ""


def need_for(intent: Intent, risk: Risk) -> Need:
    """Return the row of the requirements table that holds for a session."""
    return WRITE_NEEDS[risk] if intent.writes else READ_NEED


def submit_understanding(
    session: Session, submission: Submission, facts: UnderstandingFacts
) -> Understanding:
    """Judge a submission.

    Raises:
        PhaseError: The session is not in EXPLORATION.
        RequirementError: A formal slip (`consistency_errors`) or a required tool not used;
            details carry `missing_requirements`.
    """
    advance(session.phase, Event.UNDERSTOOD)
    lacking = missing(session, submission, facts)
    slips = consistency_errors(submission, facts)
    tools = [item for item in lacking if item.startswith("required_tools")]
    if slips or tools:
        raise RequirementError(
            slips[0] if slips else f"Not explored yet: {tools[0]}.",
            hint=_before_again(slips, lacking, facts),
            details={
                "missing_requirements": lacking,
                "consistency_errors": slips,
                "consistency_hint": _CORRECT if slips else "",
                "unseen_files": list(_unseen(session, submission, facts)),
                "current_phase": session.phase.value,
            },
        )
    known = frozenset(_known(session, submission, facts))
    unknown = tuple(name for name in names(submission) if name not in known)
    event = Event.DOUBTED if lacking else Event.UNDERSTOOD
    data = {
        **_claims(submission, known),
        "files": list(_seen(session, submission, facts)),
        "missing": lacking,
        "greenfield": _is_greenfield(session, facts),
    }
    return Understanding(
        Step(event, data),
        advance(session.phase, event),
        "low" if lacking else "high",
        tuple(lacking),
        unknown,
        tuple(name for name in unknown if is_confusable(name)),
        _unseen(session, submission, facts),
        _hint(session, facts, lacking),
    )


def _before_again(slips: list[str], lacking: list[str], facts: UnderstandingFacts) -> str:
    """Return what to do before a refused understanding is submitted again."""
    if slips:
        return _CORRECT + (_SHORT if lacking else "")
    return f"{hint_for(lacking)} Then submit again." if facts.symbols_readable else SEARCH_FIRST


def _claims(submission: Submission, known: frozenset[str]) -> dict[str, object]:
    """Return what was claimed, as the journal keeps it: each symbol with what it is worth."""
    sources = {True: SlotSource.FACT.value, False: SlotSource.HYPOTHESIS.value}
    return {
        "symbols": [{"name": name, "source": sources[name in known]} for name in names(submission)],
        "entry_points": list(submission.entry_points),
        "patterns": list(submission.existing_patterns),
        "notes": submission.notes,
    }


def _hint(session: Session, facts: UnderstandingFacts, lacking: list[str]) -> str:
    """Return how to go on from a verdict."""
    if not lacking:
        return ""
    if facts.symbols_readable:
        return f"{hint_for(lacking)} For that, revert_to_exploration; or call submit_semantic."
    return f"{UNREADABLE} {GREENFIELD}" if _is_greenfield(session, facts) else UNREADABLE


def missing(session: Session, submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return what a submission lacks, as `key: have/need`; empty when everything is met."""
    need = need_for(session.intent, session.risk)
    known = _known(session, submission, facts)
    rows = (
        ("symbols_identified", len(known), need.symbols),
        ("entry_points", _entry_points(submission, known), need.entry_points),
        ("files_analyzed", len(_seen(session, submission, facts)), need.files),
        ("existing_patterns", len(_distinct(submission.existing_patterns)), need.patterns),
    )
    lacking = [f"{key}: {have}/{wanted}" for key, have, wanted in rows if have < wanted]
    if unseen := _unseen(session, submission, facts):
        lacking.append(f"files_seen: {', '.join(map(shown, unseen))} looked at by no call")
    if unused := _unused_tools(session, facts):
        lacking.append(f"required_tools: missing {', '.join(unused)}")
    lacking += [
        f"slot_evidence: {slot} not evidenced"
        for slot in slots_asked(session, need)
        if not slot_evidenced(session, slot)
    ]
    if not _feature_named(session, known, facts):
        lacking.append(
            "nl_symbol_mapping: no symbol is known to carry out the target feature; "
            "confirm_symbol_relevance says which one does"
        )
    made = _made(session, facts)
    if new := [*filter(made.__contains__, (*names(submission), *submission.files_analyzed))]:
        lacking.append(f"made_since: {', '.join(map(shown, new))}")
    if unknown := [name for name in names(submission) if name not in {*known, *made}]:
        lacking.append(f"unverified_symbols: {', '.join(map(shown, unknown))}")
    return lacking


def slot_evidenced(session: Session, slot: str) -> bool:
    """Whether this session has found something for a slot, or confirmed a symbol for it.

    A call is for a slot when a plan made it so, or when it was asked with the slot's words. A
    forest search counts once find_definitions or find_references has found one of its symbols.
    A confirmed symbol is for the target feature, and for any slot whose words its evidence uses.
    """
    filled = next(
        (item for item in (session.frame.slots if session.frame else ()) if item.name == slot), None
    )
    if filled is None:
        return False
    confirmed = [symbol for symbol in session.symbols if symbol.confirmed]
    if confirmed and slot == "target_feature":
        return True
    if any(_speaks_of(filled, symbol.evidence) for symbol in confirmed):
        return True
    found = session.corroborated_symbols
    return any(
        call.counts
        and (call.tool in SLOT_TOOLS or _proves(call, found))
        and (call.slot == slot or _speaks_of(filled, call.target))
        for call in session.calls
    )


def _proves(call: Call, corroborated: frozenset[str]) -> bool:
    """Whether a search of the forest has suggested what was then found in the code."""
    return call.tool in FOREST_TOOLS and not corroborated.isdisjoint(call.symbols)


def slots_asked(session: Session, need: Need) -> list[str]:
    """Return the slots that must be evidenced: the target feature, and what else the frame has.

    What the query does not say can have no evidence; that it is open is what has raised the risk.
    """
    filled = {slot.name for slot in session.frame.slots} if session.frame else set(need.slots)
    return [slot for slot in need.slots if slot in filled or slot == "target_feature"]


def _unused_tools(session: Session, facts: UnderstandingFacts) -> list[str]:
    """Return the required tools not yet used; where no symbol can be read, searching will do."""
    if facts.symbols_readable:
        return [tool for tool in REQUIRED_TOOLS if not session.used(tool)]
    # That a search found nothing is all there is to find in an empty project.
    searched = any(call.tool == "search_text" and call.asks for call in session.calls)
    return [] if searched else ["search_text"]


def _is_greenfield(session: Session, facts: UnderstandingFacts) -> bool:
    """Whether something new is to be made in a project that has no code to understand yet."""
    return session.intent is Intent.IMPLEMENT and facts.nothing_defined


def _seen(session: Session, submission: Submission, facts: UnderstandingFacts) -> tuple[str, ...]:
    """Return the analysed files that exist and that this session has looked at, relative."""
    seen = session.seen_files
    return tuple(file for file in _existing(session, submission, facts) if file in seen)


def _unseen(session: Session, submission: Submission, facts: UnderstandingFacts) -> tuple[str, ...]:
    """Return the analysed files that exist, but that only the caller says to have looked at."""
    seen = session.seen_files
    return tuple(file for file in _existing(session, submission, facts) if file not in seen)


def _made(session: Session, facts: UnderstandingFacts) -> frozenset[str]:
    """Return what was written since a session began that may write: it shows nothing of what was there."""
    return (
        frozenset(map(fold_symbol, facts.made)) | facts.made
        if session.intent.writes
        else frozenset()
    )


def _existing(
    session: Session, submission: Submission, facts: UnderstandingFacts
) -> tuple[str, ...]:
    made = _made(session, facts)
    files = (
        session.relative(file)
        for file in submission.files_analyzed
        if facts.exists(file) and file not in made
    )
    return tuple(dict.fromkeys(files))


def _known(session: Session, submission: Submission, facts: UnderstandingFacts) -> tuple[str, ...]:
    """Return the symbols that count: defined in our index, and not the forest's word alone."""
    defined, opened = (set(map(fold_symbol, each)) for each in (facts.defined, facts.opened))
    guessed = {name for call in session.calls if call.tool in FOREST_TOOLS for name in call.symbols}
    guessed -= opened | session.corroborated_symbols
    defined -= _made(session, facts)
    return tuple(
        name
        for name in names(submission)
        if name in defined and len(name) >= LEAST_NAME and name not in guessed
    )


def _entry_points(submission: Submission, known: tuple[str, ...]) -> int:
    """Return how many entry points count: different ones, each the name of another known symbol."""
    entries = {fold(fold_symbol(entry)) for entry in submission.entry_points}
    started = {name for name in known if any(starts_at(entry, name) for entry in entries)}
    naming = [entry for entry in entries if any(starts_at(entry, name) for name in known)]
    return min(len(naming), len(started))


def _distinct(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(says_something, map(fold, texts))))


def _feature_named(session: Session, known: tuple[str, ...], facts: UnderstandingFacts) -> bool:
    """Whether some counted symbol is known to carry out the target feature."""
    framed = session.frame is not None and session.frame.value("target_feature")
    if not framed or not session.intent.writes:
        return True
    return bool(carriers(session, known, learned=facts.learned, scores=facts.scores))


def _speaks_of(slot: Slot, text: str) -> bool:
    words = content_words(slot.value) | content_words(slot.quote)
    return bool(words & content_words(text)) or covers(text, slot.value) is True
