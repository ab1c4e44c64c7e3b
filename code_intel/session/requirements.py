"""Judge submit_understanding: what a session must know before it may write (seed 004 §4.5).

A submission with a formal error, or without the required tool calls, is refused. If something is
missing or still a hypothesis, the session moves to SEMANTIC, otherwise to READY
(docs/decisions/0008).
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import RequirementError
from code_intel.foundation.text import hidden_character, mixed_word
from code_intel.session.frame import Slot, SlotSource
from code_intel.session.guidance import GREENFIELD, SEARCH_FIRST, UNREADABLE, hint_for
from code_intel.session.paths import plain_path
from code_intel.session.phases import Event, Intent, Phase, advance
from code_intel.session.relevance import implementing_symbols
from code_intel.session.risk import Risk
from code_intel.session.state import FOREST_TOOLS, Session, SessionCall, Step
from code_intel.session.understanding.counts_guidance import NO_IMPLEMENTING_SYMBOL
from code_intel.session.wording import (
    content_words,
    covers,
    fold,
    fold_symbol,
    is_statement,
    says_something,
    symbol_parts,
)

REQUIRED_TOOLS = ("find_definitions", "find_references")
EVIDENCE_SLOT_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "search_files",
    "analyze_structure",
    "get_symbols",
)
"""Tools whose results are facts about the code and can be evidence for a slot.

`query` is not included, because a question in the user's words concerns every slot. The calls it
makes count instead (docs/decisions/0031).
"""
_MIN_NAME_CHARS = 2
"""A shorter symbol is contained in everything."""


_CORRECT_ERRORS = "Correct what consistency_errors lists, then call submit_understanding again."
_SUPPLY_ALL = " Supply all missing_requirements first; otherwise the session moves to SEMANTIC."


class RequirementCounts(NamedTuple):
    """Minimum counts, and the slots that need evidence."""

    symbols: int
    entry_points: int
    files: int
    patterns: int
    slots: tuple[str, ...] = ()


WRITE_NEEDS: Mapping[Risk, RequirementCounts] = MappingProxyType(
    {
        Risk.HIGH: RequirementCounts(5, 2, 4, 2, ("target_feature", "observed_issue")),
        Risk.MEDIUM: RequirementCounts(3, 1, 2, 1, ("target_feature",)),
        Risk.LOW: RequirementCounts(3, 1, 2, 1),
    }
)
READ_NEED = RequirementCounts(1, 0, 1, 0)


class Submission(NamedTuple):
    """The claims of submit_understanding."""

    symbols_identified: tuple[str, ...]
    entry_points: tuple[str, ...] = ()
    files_analyzed: tuple[str, ...] = ()
    existing_patterns: tuple[str, ...] = ()
    notes: str = ""


class UnderstandingFacts(NamedTuple):
    """What the index and the file system say about a submission; names are spelled as in it.

    Attributes:
        defined: Symbols that the local index defines, in files the session has looked at.
        opened: The symbols among them that are defined in `Session.opened_files`.
        existing_files: Files that exist inside the root.
        new_names: Symbols and files that were added since the session began.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.
        symbols_readable: Whether the index can read symbols. False if it supports the language of
            none of the analysed files or, if no file is named, if it defines no symbol.
        nothing_defined: Whether the index defines no symbol, whatever was analysed.
        read: Symbols whose current code the session has printed (`reading.is_read`).
        referenced: Symbols whose uses the session has printed.
    """

    defined: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    existing_files: frozenset[str] = frozenset()
    new_names: frozenset[str] = frozenset()
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})
    symbols_readable: bool = True
    nothing_defined: bool = False
    read: frozenset[str] = frozenset()
    referenced: frozenset[str] = frozenset()

    def exists(self, file: str) -> bool:
        """Return whether a file of the submission exists, in any spelling of its path."""
        return file in self.existing_files or plain_path(file) in map(
            plain_path, self.existing_files
        )


class UnderstandingVerdict(NamedTuple):
    """A verdict; once `step` is appended, the session is in `next_phase`.

    Attributes:
        step: The event to append.
        next_phase: The phase it leads to.
        confidence: `high` if nothing is missing, else `low`.
        missing: What is missing, as `key: have/need` or similar.
        hint: How to supply it; empty if nothing is missing.
        unseen_files: Existing files that no call of this session has returned. They are neither
            counted nor opened.
        unknown_symbols: Symbols that the index does not define or only the forest has named. They
            are recorded as HYPOTHESIS and not counted.
        confusable: Unknown symbols that mix look-alike alphabets.
    """

    step: Step
    next_phase: Phase
    confidence: str
    missing: tuple[str, ...]
    unknown_symbols: tuple[str, ...] = ()
    confusable: tuple[str, ...] = ()
    unseen_files: tuple[str, ...] = ()
    hint: str = ""


def need_for(intent: Intent, risk: Risk) -> RequirementCounts:
    """Return the requirements for an intent and risk."""
    return WRITE_NEEDS[risk] if intent.writes else READ_NEED


def submit_understanding(
    session: Session, submission: Submission, facts: UnderstandingFacts
) -> UnderstandingVerdict:
    """Judge a submission.

    Raises:
        PhaseError: The session is not in EXPLORATION.
        RequirementError: A formal error (`consistency_errors`) or an unused required tool; details
            contain `missing_requirements`.
    """
    advance(session.phase, Event.UNDERSTOOD)
    lacking = missing(session, submission, facts)
    errors = consistency_errors(submission, facts)
    tools = [item for item in lacking if item.startswith("required_tools")]
    if errors or tools:
        raise RequirementError(
            errors[0] if errors else f"Not explored yet: {tools[0]}.",
            hint=_refusal_hint(errors, lacking, facts),
            details={
                "missing_requirements": lacking,
                "consistency_errors": errors,
                "consistency_hint": _CORRECT_ERRORS if errors else "",
                "unseen_files": list(_existing_files(session, submission, facts, seen=False)),
                "current_phase": session.phase.value,
            },
        )
    known = frozenset(_known(session, submission, facts))
    unknown = tuple(name for name in _symbol_names(submission) if name not in known)
    event = Event.DOUBTED if lacking else Event.UNDERSTOOD
    data = {
        **_claims(submission, known),
        "files": list(_existing_files(session, submission, facts, seen=True)),
        "missing": lacking,
        "greenfield": _is_greenfield(session, facts),
    }
    return UnderstandingVerdict(
        Step(event, data),
        advance(session.phase, event),
        "low" if lacking else "high",
        tuple(lacking),
        unknown,
        tuple(filter(mixed_word, unknown)),
        _existing_files(session, submission, facts, seen=False),
        _verdict_hint(session, facts, lacking),
    )


def _refusal_hint(errors: list[str], lacking: list[str], facts: UnderstandingFacts) -> str:
    """Return what to do before submitting again."""
    if errors:
        return _CORRECT_ERRORS + (_SUPPLY_ALL if lacking else "")
    return f"{hint_for(lacking)} Then submit again." if facts.symbols_readable else SEARCH_FIRST


def _claims(submission: Submission, known: frozenset[str]) -> dict[str, object]:
    """Return the claims as the journal records them; each symbol is FACT or HYPOTHESIS."""
    sources = {True: SlotSource.FACT.value, False: SlotSource.HYPOTHESIS.value}
    return {
        "symbols": [
            {"name": name, "source": sources[name in known]} for name in _symbol_names(submission)
        ],
        "entry_points": list(submission.entry_points),
        "patterns": list(submission.existing_patterns),
        "notes": submission.notes,
    }


def _verdict_hint(session: Session, facts: UnderstandingFacts, lacking: list[str]) -> str:
    """Return the next step after a verdict."""
    if not lacking:
        return ""
    if facts.symbols_readable:
        return f"{hint_for(lacking)} Call revert_to_exploration to do so, or submit_semantic."
    return f"{UNREADABLE} {GREENFIELD}" if _is_greenfield(session, facts) else UNREADABLE


def missing(session: Session, submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return what a submission lacks, as `key: have/need`; empty if all requirements are met."""
    need = need_for(session.intent, session.risk)
    known = _known(session, submission, facts)
    rows = (
        ("symbols_identified", len(known), need.symbols),
        ("entry_points", _entry_points(submission, known), need.entry_points),
        ("files_analyzed", len(_existing_files(session, submission, facts, seen=True)), need.files),
        ("existing_patterns", len(_distinct_patterns(submission.existing_patterns)), need.patterns),
    )
    lacking = [f"{key}: {have}/{wanted}" for key, have, wanted in rows if have < wanted]
    if unseen := _existing_files(session, submission, facts, seen=False):
        lacking.append(f"files_seen: {', '.join(map(_escaped, unseen))} returned by no call")
    if unused := _unused_tools(session, facts):
        lacking.append(f"required_tools: missing {', '.join(unused)}")
    lacking += [
        f"slot_evidence: {slot} not evidenced"
        for slot in evidence_slots(session, need)
        if not has_evidence(session, slot)
    ]
    if not _knows_feature(session, known, facts):
        lacking.append(NO_IMPLEMENTING_SYMBOL)
    added = _added_names(session, facts)
    names = (*_symbol_names(submission), *submission.files_analyzed)
    if new := [name for name in names if name in added]:
        lacking.append(f"made_since: {', '.join(map(_escaped, new))}")
    if unknown := [name for name in _symbol_names(submission) if name not in {*known, *added}]:
        lacking.append(f"unverified_symbols: {', '.join(map(_escaped, unknown))}")
    return lacking


def has_evidence(session: Session, slot: str) -> bool:
    """Return whether this session has found something for a slot or confirmed a symbol for it.

    A call is for a slot if `query` made it for the slot, or if its target has the slot's words. A
    forest search counts once find_definitions or find_references has found one of its symbols. A
    confirmed symbol counts for the target feature and for each slot whose words its evidence has.
    """
    filled = next(
        (item for item in (session.frame.slots if session.frame else ()) if item.name == slot), None
    )
    if filled is None:
        return False
    confirmed = [symbol for symbol in session.symbols if symbol.confirmed]
    if confirmed and slot == "target_feature":
        return True
    if any(_mentions_slot(filled, symbol.evidence) for symbol in confirmed):
        return True
    found = session.corroborated_symbols
    return any(
        call.is_evidence
        and (call.tool in EVIDENCE_SLOT_TOOLS or _is_corroborated(call, found))
        and (call.slot == slot or _mentions_slot(filled, call.target))
        and not _is_search_for_query(session, call)
        for call in session.calls
    )


def _is_search_for_query(session: Session, call: SessionCall) -> bool:
    """Return whether start_session asked the raw query, which has the words of every slot."""
    return call.tool == "start_session" and call.target == session.query


def _is_corroborated(call: SessionCall, corroborated: frozenset[str]) -> bool:
    """Return whether a forest search returned a symbol that was later found in the code."""
    return call.tool in FOREST_TOOLS and not corroborated.isdisjoint(call.symbols)


def evidence_slots(session: Session, need: RequirementCounts) -> list[str]:
    """Return the slots that need evidence: the target feature, and others that the frame fills.

    An empty slot cannot have evidence; it raises the risk instead.
    """
    filled = {slot.name for slot in session.frame.slots} if session.frame else set(need.slots)
    return [slot for slot in need.slots if slot in filled or slot == "target_feature"]


def _unused_tools(session: Session, facts: UnderstandingFacts) -> list[str]:
    """Return the required tools whose effect is missing.

    What was printed counts, whichever tool printed it. If the index cannot read symbols, the tool
    is search_text.
    """
    if facts.symbols_readable:
        effects = dict(zip(REQUIRED_TOOLS, (facts.read, facts.referenced), strict=True))
        return [tool for tool, found in effects.items() if not (found or session.has_used(tool))]
    # In an empty project, even this search finds nothing.
    searched = any(call.tool == "search_text" and call.is_specific for call in session.calls)
    return [] if searched else ["search_text"]


def _is_greenfield(session: Session, facts: UnderstandingFacts) -> bool:
    """Return whether the session implements something in a project without code."""
    return session.intent is Intent.IMPLEMENT and facts.nothing_defined


def _added_names(session: Session, facts: UnderstandingFacts) -> frozenset[str]:
    """Return the names added since a writing session began; they show no knowledge of the code."""
    if not session.intent.writes:
        return frozenset()
    return facts.new_names.union(map(fold_symbol, facts.new_names))


def _existing_files(
    session: Session, submission: Submission, facts: UnderstandingFacts, *, seen: bool
) -> tuple[str, ...]:
    """Return the analysed files that exist and that this session has looked at, or has not."""
    added, seen_files = _added_names(session, facts), session.seen_files
    files = (
        session.relative(file)
        for file in submission.files_analyzed
        if facts.exists(file) and file not in added
    )
    return tuple(file for file in dict.fromkeys(files) if (file in seen_files) is seen)


def _known(session: Session, submission: Submission, facts: UnderstandingFacts) -> tuple[str, ...]:
    """Return the symbols that the local index defines and that not only the forest has named."""
    defined, opened = (set(map(fold_symbol, names)) for names in (facts.defined, facts.opened))
    guesses = {name for call in session.calls if call.tool in FOREST_TOOLS for name in call.symbols}
    guesses -= opened | session.corroborated_symbols | set(map(fold_symbol, facts.read))
    defined -= _added_names(session, facts)
    return tuple(
        name
        for name in _symbol_names(submission)
        if name in defined and len(name) >= _MIN_NAME_CHARS and name not in guesses
    )


def _entry_points(submission: Submission, known: tuple[str, ...]) -> int:
    """Return how many entry points count: distinct ones that name distinct known symbols."""
    entries = {fold(fold_symbol(entry)) for entry in submission.entry_points}
    symbols = {name for name in known if any(_names_symbol(entry, name) for entry in entries)}
    matching = [entry for entry in entries if any(_names_symbol(entry, name) for name in known)]
    return min(len(matching), len(symbols))


def _distinct_patterns(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(is_statement, map(fold, texts))))


def _knows_feature(session: Session, known: tuple[str, ...], facts: UnderstandingFacts) -> bool:
    """Return whether a counted symbol is known to implement the target feature, if there is one."""
    feature = session.frame is not None and session.frame.value("target_feature")
    if not feature or not session.intent.writes:
        return True
    return bool(implementing_symbols(session, known, learned=facts.learned, scores=facts.scores))


def _mentions_slot(slot: Slot, text: str) -> bool:
    words = content_words(slot.value) | content_words(slot.quote)
    return bool(words & content_words(text)) or covers(text, slot.value) is True


def consistency_errors(submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return the formal errors of a submission, which can be corrected without exploring."""
    return [
        error
        for check in (_bad_texts, _duplicates, _unknown_files, _stray_entries, _lone_patterns)
        for error in check(submission, facts)
    ]


def _symbol_names(submission: Submission) -> tuple[str, ...]:
    """Return the distinct symbols, folded."""
    folded = (fold_symbol(name) for name in submission.symbols_identified)
    return tuple(dict.fromkeys(name for name in folded if name))


def _mentions_symbol(entry: str, names: tuple[str, ...]) -> bool:
    """Return whether an entry point such as `auth.login()` mentions one of `names`."""
    parts = [fold(part) for part in re.split(r"[.(:/#\s]+", entry)]
    words = [fold(word) for name in names for word in symbol_parts(name)]
    return any(
        part in word or word in part
        for part in parts
        if len(part) >= _MIN_NAME_CHARS
        for word in words
        if len(word) >= _MIN_NAME_CHARS
    )


def _names_symbol(entry: str, name: str) -> bool:
    """Return whether an entry point contains the whole name of a symbol or of one of its scopes."""
    parts = {fold(part) for part in re.split(r"[.(:/#\s]+", entry)}
    return any(fold(part) in parts for part in symbol_parts(name) if len(part) >= _MIN_NAME_CHARS)


def _escaped(text: str) -> str:
    """Return `text`, escaped as ASCII if it has hidden or look-alike characters."""
    if hidden_character(text) or mixed_word(text):
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def _bad_texts(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    fields = ("symbols_identified", "entry_points", "files_analyzed", "existing_patterns")
    for field in fields:
        for text in getattr(submission, field):
            if len(text.strip()) < _MIN_NAME_CHARS or not says_something(text):
                yield f"{field}: {text!r} is too short"
            elif field != "existing_patterns" and hidden_character(text):
                yield f"{field}: {text!a} contains a control character"


def _duplicates(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for field, key in (("symbols_identified", fold_symbol), ("files_analyzed", plain_path)):
        keys: set[str] = set()
        for text in getattr(submission, field):
            if key(text) in keys:
                yield f"{field}: {_escaped(text)} is listed twice"
            keys.add(key(text))


def _unknown_files(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    for file in submission.files_analyzed:
        if not facts.exists(file):
            yield f"files_analyzed: {_escaped(file)} does not exist in the project"


def _stray_entries(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for entry in submission.entry_points:
        if not _mentions_symbol(entry, submission.symbols_identified):
            yield (
                f"entry_points: {_escaped(entry)} names none of symbols_identified; list the "
                "symbol in both or in neither"
            )


def _lone_patterns(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    if submission.existing_patterns and not submission.files_analyzed:
        yield "existing_patterns: list at least one file in files_analyzed, too"
