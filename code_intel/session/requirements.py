"""What a session must have understood before it may write (seed 004 §4.5, docs/decisions/0008).

Three ends: a formal slip or an unused tool is refused and nothing moves; what is short or still a
hypothesis leads to SEMANTIC; everything met leads to READY.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import RequirementError
from code_intel.session.frame import Slot, SlotSource
from code_intel.session.phases import Event, Intent, Phase, advance
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from code_intel.session.wording import content_words, covers, fold, fold_symbol
from code_intel.text import hidden_character

REQUIRED_TOOLS = ("find_definitions", "find_references")
NL_SCORE = 0.6  # calibrated similarity from which a symbol carries a feature's name
SLOT_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "search_files",
    "analyze_structure",
    "get_symbols",
    "query",
)
"""Tools whose results are facts about the code, and so may evidence a slot."""

FOREST_TOOLS = ("search_forest", "search_smart")

_LEAST_NAME = 2  # characters; a shorter symbol is contained in everything
_LEAST_SHARED = 3  # characters of a term or symbol contained in the other


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


class Submission(NamedTuple):
    """What submit_understanding claims."""

    symbols_identified: tuple[str, ...]
    entry_points: tuple[str, ...] = ()
    files_analyzed: tuple[str, ...] = ()
    existing_patterns: tuple[str, ...] = ()
    notes: str = ""


class UnderstandingFacts(NamedTuple):
    """What the index and the disk say about a submission; keys are the submission's own spelling.

    Attributes:
        defined: Symbols that our own index defines.
        existing_files: Files that exist inside the root.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.
    """

    defined: frozenset[str] = frozenset()
    existing_files: frozenset[str] = frozenset()
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})


class Understanding(NamedTuple):
    """A verdict; append `step`, then the session is in `next_phase`.

    Attributes:
        step: The event to append.
        next_phase: Where it leads.
        confidence: `high` when nothing is missing, else `low`.
        missing: `key: have/need` and the like.
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
            hint="Correct what consistency_errors lists, then submit again."
            if slips
            else "Use the tools: a call counts once it succeeds and finds something. Then submit again.",
            details={
                "missing_requirements": lacking,
                "consistency_errors": slips,
                "current_phase": session.phase.value,
            },
        )
    names = _names(submission)
    known = set(_known(session, submission, facts))
    unknown = tuple(name for name in names if name not in known)
    event = Event.DOUBTED if lacking else Event.UNDERSTOOD
    step = Step(
        event,
        {
            "symbols": [
                {
                    "name": name,
                    "source": (SlotSource.FACT if name in known else SlotSource.HYPOTHESIS).value,
                }
                for name in names
            ],
            "files": [session.relative(file) for file in submission.files_analyzed],
            "entry_points": list(submission.entry_points),
            "patterns": list(submission.existing_patterns),
            "notes": submission.notes,
            "missing": lacking,
        },
    )
    return Understanding(
        step,
        advance(session.phase, event),
        "low" if lacking else "high",
        tuple(lacking),
        unknown,
        tuple(name for name in unknown if is_confusable(name)),
    )


def missing(session: Session, submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return what a submission lacks, as `key: have/need`; empty when everything is met."""
    need = need_for(session.intent, session.risk)
    known = _known(session, submission, facts)
    files = [file for file in submission.files_analyzed if file in facts.existing_files]
    entries = [entry for entry in _distinct(submission.entry_points) if _names_one(entry, known)]
    rows = (
        ("symbols_identified", len(known), need.symbols),
        ("entry_points", len(entries), need.entry_points),
        ("files_analyzed", len(_distinct(tuple(files))), need.files),
        ("existing_patterns", len(_distinct(submission.existing_patterns)), need.patterns),
    )
    lacking = [f"{key}: {have}/{wanted}" for key, have, wanted in rows if have < wanted]
    if unused := [tool for tool in REQUIRED_TOOLS if not session.used(tool)]:
        lacking.append(f"required_tools: missing {', '.join(unused)}")
    lacking += [
        f"slot_evidence: {slot} not evidenced"
        for slot in need.slots
        if not slot_evidenced(session, slot)
    ]
    if not _feature_named(session, known, facts):
        lacking.append("nl_symbol_mapping: no symbol is known to carry out the target feature")
    if unknown := [name for name in _names(submission) if name not in known]:
        lacking.append(f"unverified_symbols: {', '.join(map(_shown, unknown))}")
    return lacking


def consistency_errors(submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return the formal slips of a submission: what its author can correct without exploring."""
    return [
        error
        for check in (_bad_texts, _duplicates, _unknown_files, _stray_entries, _loose_patterns)
        for error in check(submission, facts)
    ]


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
    for call in session.calls:
        if not call.counts or not (call.slot == slot or _speaks_of(filled, call.target)):
            continue
        if call.tool in SLOT_TOOLS:
            return True
        if call.tool in FOREST_TOOLS and any(map(session.corroborated, call.symbols)):
            return True
    return False


def is_confusable(name: str) -> bool:
    """Whether a name mixes Latin letters with look-alikes of another alphabet."""
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in name if char.isalpha()}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


def _names(submission: Submission) -> tuple[str, ...]:
    """Return the symbols as folded names, each once."""
    names = (fold_symbol(name) for name in submission.symbols_identified)
    return tuple(dict.fromkeys(name for name in names if name))


def _known(session: Session, submission: Submission, facts: UnderstandingFacts) -> tuple[str, ...]:
    """Return the symbols that count: defined in our index, and not the forest's word alone."""
    defined = {fold_symbol(name) for name in facts.defined}
    guessed = {name for call in session.calls if call.tool in FOREST_TOOLS for name in call.symbols}
    return tuple(
        name
        for name in _names(submission)
        if name in defined
        and len(name) >= _LEAST_NAME
        and (name not in guessed or session.corroborated(name))
    )


def _distinct(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(fold, texts) if len(text) >= _LEAST_NAME))


def _names_one(entry: str, names: tuple[str, ...]) -> bool:
    """Whether an entry point, `auth.login()` or `AuthService.login`, speaks of one of `names`."""
    parts = [fold(part) for part in re.split(r"[.(:/#\s]+", entry)]
    words = [fold(word) for name in names for word in re.split(r"[.:#]+", name)]
    return any(
        part in word or word in part
        for part in parts
        if len(part) >= _LEAST_NAME
        for word in words
        if len(word) >= _LEAST_NAME
    )


def _feature_named(session: Session, known: tuple[str, ...], facts: UnderstandingFacts) -> bool:
    """Whether some counted symbol is known to carry out the target feature."""
    term = session.frame.value("target_feature") if session.frame else ""
    if not term or not session.intent.writes:
        return True
    scores = {fold_symbol(name): score for name, score in facts.scores.items()}
    taught = {fold_symbol(name) for name in facts.learned}
    sure = {symbol.name for symbol in session.symbols if symbol.confirmed} | taught
    return any(
        name in sure or scores.get(name, 0.0) >= NL_SCORE or _share_words(term, name)
        for name in known
    )


def _share_words(term: str, symbol: str) -> bool:
    if content_words(term) & content_words(symbol):
        return True
    one, other = (re.sub(r"\W|_", "", fold(text)) for text in (term, symbol))
    shorter = min(len(one), len(other))
    return shorter >= _LEAST_SHARED and (one in other or other in one)


def _speaks_of(slot: Slot, text: str) -> bool:
    words = content_words(slot.value) | content_words(slot.quote)
    return bool(words & content_words(text)) or covers(text, slot.value) is True


def _shown(text: str) -> str:
    """Return `text` with everything but plain letters of its own alphabet escaped if it deceives."""
    if hidden_character(text) or is_confusable(text):
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def _bad_texts(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    fields = ("symbols_identified", "entry_points", "files_analyzed", "existing_patterns")
    for field in fields:
        for text in getattr(submission, field):
            if len(text.strip()) < _LEAST_NAME:
                yield f"{field}: {text!r} is too short to name anything"
            elif field != "existing_patterns" and hidden_character(text):
                yield f"{field}: {text!a} contains a control character"


def _duplicates(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for field, key in (("symbols_identified", fold_symbol), ("files_analyzed", _file_key)):
        seen: set[str] = set()
        for text in getattr(submission, field):
            if key(text) in seen:
                yield f"{field}: {_shown(text)} is listed twice"
            seen.add(key(text))


def _file_key(path: str) -> str:
    return os.path.normpath(path.strip())


def _unknown_files(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    for file in submission.files_analyzed:
        if file not in facts.existing_files:
            yield f"files_analyzed: {_shown(file)} does not exist in the project"


def _stray_entries(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for entry in submission.entry_points:
        if not _names_one(entry, submission.symbols_identified):
            yield f"entry_points: {_shown(entry)} names none of symbols_identified"


def _loose_patterns(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    if submission.existing_patterns and not submission.files_analyzed:
        yield "existing_patterns: needs at least one of files_analyzed"
