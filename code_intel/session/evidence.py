"""Reasons to ask the forest, hypotheses, and the evidence that settles them (seed 004 §5.1).

Evidence counts when the session's own call log bears it out: `bearing`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import RequirementError
from code_intel.session.bearing import (
    Answer,
    Evidence,
    VerificationFacts,
    bare_name,
    beside_the_point,
    corroborate,
    is_call,
    map_symbol,
    unmapped,
)
from code_intel.session.paths import may_be_planned
from code_intel.session.phases import Event, Phase, advance
from code_intel.session.state import Call, Session, Step
from code_intel.session.wording import content_words, fold
from code_intel.text import hidden_character

__all__ = [
    "Answer",
    "Evidence",
    "Reason",
    "Verification",
    "VerificationFacts",
    "allowed_reasons",
    "calls_since_phase",
    "corroborate",
    "submit_semantic",
    "submit_verification",
]

EVIDENCE_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "analyze_structure",
    "query",
)
LOOKING = EVIDENCE_TOOLS[:3]
"""Those that every list of tools shows."""
STATUSES = ("confirmed", "rejected")
CONFIDENCES = ("high", "medium", "low")

_LONGEST = 1000  # characters of a hypothesis or a result
_LEAST = 3  # characters of a hypothesis


class Reason(StrEnum):
    """Why exploration was not enough; `devrag_reason` on the wire."""

    NO_DEFINITION_FOUND = "no_definition_found"
    NO_REFERENCE_FOUND = "no_reference_found"
    NO_SIMILAR_IMPLEMENTATION = "no_similar_implementation"
    ARCHITECTURE_UNKNOWN = "architecture_unknown"
    CONTEXT_FRAGMENTED = "context_fragmented"


ALWAYS = (Reason.ARCHITECTURE_UNKNOWN, Reason.CONTEXT_FRAGMENTED)
"""Reasons that always fit; the journal keeps which one was given."""

REASONS: Mapping[str, tuple[Reason, ...]] = MappingProxyType(
    {
        "symbols_identified": (Reason.NO_DEFINITION_FOUND,),
        "unverified_symbols": (Reason.NO_DEFINITION_FOUND,),
        "entry_points": (Reason.NO_DEFINITION_FOUND, Reason.NO_REFERENCE_FOUND),
        "existing_patterns": (Reason.NO_SIMILAR_IMPLEMENTATION,),
        "nl_symbol_mapping": (Reason.NO_DEFINITION_FOUND,),
    }
)
"""Reasons by what is missing, beside `ALWAYS`."""


class Verification(NamedTuple):
    """A verdict; append `step`, then the session is in `next_phase`.

    `corroborated` has one entry an answer, in the order of the answers.
    """

    step: Step
    next_phase: Phase
    confirmed: tuple[str, ...]
    rejected: tuple[str, ...]
    corroborated: tuple[bool, ...]


NO_FACTS = VerificationFacts()
_ANSWER = (
    f"Ask {', '.join(LOOKING)} in this phase about what the hypothesis names, give that call as evidence in "
    "submit_verification, and answer every hypothesis once, word for word; what cannot be confirmed is "
    "rejected."
)


def allowed_reasons(missing: Iterable[str]) -> tuple[Reason, ...]:
    """Return the reasons that fit what the last submission lacked, in the order of `Reason`."""
    keys = {item.split(":", 1)[0] for item in missing}
    fitting = {reason for key in keys for reason in REASONS.get(key, ())} | set(ALWAYS)
    return tuple(reason for reason in Reason if reason in fitting)


def submit_semantic(session: Session, hypotheses: Sequence[tuple[str, str]], reason: str) -> Step:
    """Take (text, confidence) hypotheses into VERIFICATION; confidence is high, medium or low.

    Raises:
        PhaseError: The session is not in SEMANTIC.
        RequirementError: `invalid_devrag_reason` with `valid_reasons`; or a hypothesis that is
            missing, malformed or said twice.
    """
    advance(session.phase, Event.SUPPOSED)
    valid = [item.value for item in allowed_reasons(session.missing)]
    if reason not in valid:
        raise RequirementError(
            f"devrag_reason {reason!r} does not fit what is missing.",
            code="invalid_devrag_reason",
            hint=f"Call submit_semantic with one of {', '.join(valid)}.",
            details={"valid_reasons": valid, "missing_requirements": list(session.missing)},
        )
    problems = _hypothesis_problems(session, hypotheses)
    if problems:
        raise RequirementError(
            problems[0],
            hint="State each hypothesis once, in one sentence that names the symbol, file or text it is "
            "about, and call submit_semantic again.",
            details={"missing_requirements": problems},
        )
    items = [{"text": text.strip(), "confidence": level} for text, level in hypotheses]
    lacked = list(session.missing)
    return Step(Event.SUPPOSED, {"hypotheses": items, "reason": reason, "missing": lacked})


def calls_since_phase(session: Session) -> tuple[Call, ...]:
    """Return the calls made since the session entered its current phase."""
    return tuple(call for call in session.calls if call.seq > session.phase_seq)


def submit_verification(
    session: Session, answers: Sequence[Answer], facts: VerificationFacts = NO_FACTS
) -> Verification:
    """Settle every hypothesis: one confirmed leads to READY, all rejected back to EXPLORATION.

    A session that writes has to know what carries out its target feature here, too: else hypotheses
    about anything would be a way around understanding.

    Raises:
        PhaseError: The session is not in VERIFICATION.
        RequirementError: An unanswered or unknown hypothesis, evidence of the wrong form, a
            confirmation that no call of this phase bears out or that speaks of something else, or no
            symbol for the target feature; details list them.
    """
    advance(session.phase, Event.VERIFIED)
    calls = calls_since_phase(session)
    problems = [
        *_answer_problems(session, answers, calls),
        *beside_the_point(session, answers, calls),
        *_unsettled(session, answers),
    ]
    open_ends = [] if problems else list(unmapped(session, answers, calls, facts))
    if problems or open_ends:
        problems += [said for said, _ in open_ends]
        raise RequirementError(
            problems[0],
            hint=open_ends[0][1] if open_ends else _ANSWER,
            details={
                "missing_requirements": problems,
                "valid_tools": list(EVIDENCE_TOOLS),
                "hypotheses_to_verify": [item.text for item in session.hypotheses],
            },
        )
    confirmed = tuple(item.hypothesis for item in answers if item.status == "confirmed")
    rejected = tuple(item.hypothesis for item in answers if item.status == "rejected")
    event = Event.VERIFIED if confirmed else Event.REFUTED
    proven = tuple(
        corroborate(item.evidence, calls, greenfield=session.greenfield) for item in answers
    )
    return Verification(
        Step(event, _settlement(session, answers, calls)),
        advance(session.phase, event),
        confirmed,
        rejected,
        proven,
    )


def _settlement(
    session: Session, answers: Sequence[Answer], calls: Sequence[Call]
) -> dict[str, object]:
    """Return the event's data; `symbols` are those of the map that the outcome settles."""
    wanted = "confirmed" if any(item.status == "confirmed" for item in answers) else "rejected"
    settled = {fold(item.hypothesis) for item in answers if item.status == wanted}
    symbols = [
        item.symbol for item in session.hypotheses if item.symbol and fold(item.text) in settled
    ]
    confirmed = [item for item in answers if item.status == "confirmed"]
    files = [file for item in confirmed for file in _opened(session, item, calls)]
    planned = [file for item in confirmed for file in _planned(session, item.evidence)]
    return {
        "answers": [
            {
                "hypothesis": item.hypothesis,
                "status": item.status,
                "evidence": item.evidence._asdict(),
                "corroborated": corroborate(item.evidence, calls, greenfield=session.greenfield),
            }
            for item in answers
        ],
        "files": list(dict.fromkeys(files)),
        "planned": list(dict.fromkeys(planned)),
        "symbols": symbols,
    }


def _opened(session: Session, item: Answer, calls: Sequence[Call]) -> list[str]:
    """Return the files a confirmation explores, all of them found by calls of this session.

    Those its evidence names; for a map hit also where its symbol is defined; and when that gives
    none, all that the evidence's own call has found.
    """
    found = [file for call in calls if is_call(item.evidence, call) for file in call.opens]
    named = [file for file in map(session.relative, item.evidence.files) if file in found]
    symbol = map_symbol(session, item.hypothesis)
    defined = [
        file
        for call in session.calls
        if symbol
        and call.tool == "find_definitions"
        and bare_name(call.target) == bare_name(symbol)
        for file in call.opens
    ]
    return named + defined or found


def _planned(session: Session, evidence: Evidence) -> list[str]:
    """Return the new files a confirmation announces: only where nothing exists yet."""
    if not session.greenfield:
        return []
    return [file for file in map(session.relative, evidence.files) if may_be_planned(file)]


def _hypothesis_problems(session: Session, hypotheses: Sequence[tuple[str, str]]) -> list[str]:
    if not hypotheses:
        return ["hypotheses: 0/1"]
    problems: list[str] = []
    seen: set[str] = set()
    for text, confidence in hypotheses:
        if not _LEAST <= len(text.strip()) <= _LONGEST or hidden_character(text):
            problems.append(
                f"hypotheses: {text[:40]!a} must be one line of {_LEAST} to {_LONGEST} characters"
            )
        if confidence not in CONFIDENCES:
            problems.append(f"confidence: {confidence!r} is none of {', '.join(CONFIDENCES)}")
        elif not _names_something(session, text):
            problems.append(f"hypotheses: {text[:40]!r} names nothing that the code could show")
        if fold(text) in seen:
            problems.append(f"hypotheses: {text!r} is said twice")
        seen.add(fold(text))
    return problems


def _names_something(session: Session, text: str) -> bool:
    """Whether a hypothesis has a word that code is written in, or one that a call has found there."""
    words = content_words(text)
    if any(word.isascii() and len(word) >= _LEAST for word in words):
        return True
    targets = (call.target for call in session.calls if call.counts)
    return session.greenfield or any(words & content_words(target) for target in targets)


def _answer_problems(
    session: Session, answers: Sequence[Answer], calls: Sequence[Call]
) -> list[str]:
    problems: list[str] = []
    for item in answers:
        said, evidence = f"{item.hypothesis[:80]!r}", item.evidence
        if item.status not in STATUSES:
            problems.append(f"status: {item.status!r} is none of {', '.join(STATUSES)}")
        elif evidence.tool not in EVIDENCE_TOOLS:
            problems.append(f"evidence of {said}: {evidence.tool!r} is no evidence tool")
        elif not evidence.target.strip() or not evidence.result.strip():
            problems.append(f"evidence of {said}: target and result must say something")
        elif item.status == "confirmed":
            problems += _unproven(session, said, evidence, calls)
    return problems


def _unproven(
    session: Session, said: str, evidence: Evidence, calls: Sequence[Call]
) -> Iterator[str]:
    if not corroborate(evidence, calls, greenfield=session.greenfield):
        asked = any(
            call.ok and call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
            for call in calls
        )
        yield (
            f"evidence of {said}: {evidence.tool} found nothing for {evidence.target!r}, or it is "
            "too short to say anything"
            if asked
            else f"evidence of {said}: no successful {evidence.tool} call for "
            f"{evidence.target!r} has been made in this phase"
        )
    elif not corroborate(evidence, calls) and not _planned(session, evidence):
        yield f"evidence of {said}: nothing exists yet; name in files what you are going to create"


def _unsettled(session: Session, answers: Sequence[Answer]) -> list[str]:
    """Return what is unanswered, unknown or answered twice; texts are compared folded."""
    asked = {fold(item.text): item.text for item in session.hypotheses}
    given = [fold(item.hypothesis) for item in answers]
    problems = [f"unanswered: {text}" for key, text in asked.items() if key not in given]
    for key, item in zip(given, answers, strict=True):
        if key not in asked:
            problems.append(f"unknown hypothesis: {item.hypothesis[:80]}")
        elif given.count(key) > 1:
            problems.append(f"answered twice: {item.hypothesis[:80]}")
    return problems
