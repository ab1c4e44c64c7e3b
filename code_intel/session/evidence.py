"""Judge hypotheses and the evidence that settles them (seed 004 §5.1).

Evidence for a confirmed hypothesis must match a logged tool call of this phase and concern the
hypothesis it supports (docs/decisions/0032).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from code_intel.errors import RequirementError
from code_intel.foundation.text import hidden_character
from code_intel.session.frame import SlotSource
from code_intel.session.paths import may_be_planned
from code_intel.session.phases import Event, Phase, advance
from code_intel.session.relevance import carriers
from code_intel.session.requirements import REQUIRED_TOOLS
from code_intel.session.state import CORROBORATION_TOOLS, Session, SessionCall, Step
from code_intel.session.wording import content_words, fold, fold_symbol, symbol_parts

EVIDENCE_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "analyze_structure",
    "query",
)
CORE_EVIDENCE_TOOLS = EVIDENCE_TOOLS[:3]
"""The evidence tools that every server lists."""
STATUSES = ("confirmed", "rejected")
CONFIDENCES = ("high", "medium", "low")

_MAX_TEXT_CHARS = 1000
_MIN_TEXT_CHARS = 3
_QUOTED_CHARS = 80
"""How much of a hypothesis or target a message quotes."""


class ForestReason(StrEnum):
    """Why exploration was not enough; `devrag_reason` on the wire."""

    NO_DEFINITION_FOUND = "no_definition_found"
    NO_REFERENCE_FOUND = "no_reference_found"
    NO_SIMILAR_IMPLEMENTATION = "no_similar_implementation"
    ARCHITECTURE_UNKNOWN = "architecture_unknown"
    CONTEXT_FRAGMENTED = "context_fragmented"


GENERAL_REASONS = (ForestReason.ARCHITECTURE_UNKNOWN, ForestReason.CONTEXT_FRAGMENTED)
"""Reasons that are always accepted; the journal records which one was given."""

REASONS: Mapping[str, tuple[ForestReason, ...]] = MappingProxyType(
    {
        "symbols_identified": (ForestReason.NO_DEFINITION_FOUND,),
        "unverified_symbols": (ForestReason.NO_DEFINITION_FOUND,),
        "entry_points": (ForestReason.NO_DEFINITION_FOUND, ForestReason.NO_REFERENCE_FOUND),
        "existing_patterns": (ForestReason.NO_SIMILAR_IMPLEMENTATION,),
        "nl_symbol_mapping": (ForestReason.NO_DEFINITION_FOUND,),
    }
)
"""Reasons by what is missing, in addition to `ALWAYS`."""


class CallEvidence(NamedTuple):
    """The tool call that an answer is based on, and what it showed."""

    tool: str
    target: str
    result: str
    files: tuple[str, ...] = ()


class HypothesisAnswer(NamedTuple):
    """One answer of submit_verification; `status` is `confirmed` or `rejected`."""

    hypothesis: str
    status: str
    evidence: CallEvidence


class VerificationFacts(NamedTuple):
    """What index, map and model know about the symbols of a session.

    Attributes:
        symbols_readable: As in `requirements.UnderstandingFacts`.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated likeness of target feature and symbol, 0 to 1, where known.
        made: Symbols that were added since the session began.
    """

    symbols_readable: bool = True
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})
    made: frozenset[str] = frozenset()


class VerificationVerdict(NamedTuple):
    """A verdict; once `step` is appended, the session is in `next_phase`.

    `corroborated` has one entry per answer, in order.
    """

    step: Step
    next_phase: Phase
    confirmed: tuple[str, ...]
    rejected: tuple[str, ...]
    corroborated: tuple[bool, ...]


NO_FACTS = VerificationFacts()
_ANSWER_HINT = (
    f"In this phase, ask {', '.join(CORE_EVIDENCE_TOOLS)} about what the hypothesis names, and "
    "give that call as evidence in submit_verification. Answer each hypothesis once, word for "
    "word; reject what you cannot confirm."
)


def allowed_reasons(missing: Iterable[str]) -> tuple[ForestReason, ...]:
    """Return the reasons that fit what the last submission lacked, ordered as `ForestReason`."""
    keys = {item.split(":", 1)[0] for item in missing}
    fitting = {reason for key in keys for reason in REASONS.get(key, ())} | set(GENERAL_REASONS)
    return tuple(reason for reason in ForestReason if reason in fitting)


def submit_semantic(session: Session, hypotheses: Sequence[tuple[str, str]], reason: str) -> Step:
    """Accept (text, confidence) hypotheses, which lead to VERIFICATION.

    Raises:
        PhaseError: The session is not in SEMANTIC.
        RequirementError: `invalid_devrag_reason` with `valid_reasons`; or a hypothesis is missing,
            malformed or repeated.
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
            hint="State each hypothesis once, in one sentence that names a symbol, file or text, "
            "and call submit_semantic again.",
            details={"missing_requirements": problems},
        )
    items = [{"text": text.strip(), "confidence": level} for text, level in hypotheses]
    lacked = list(session.missing)
    return Step(Event.SUPPOSED, {"hypotheses": items, "reason": reason, "missing": lacked})


def calls_since_phase(session: Session) -> tuple[SessionCall, ...]:
    """Return the calls made since the session entered its current phase."""
    return tuple(call for call in session.calls if call.seq > session.phase_seq)


def submit_verification(
    session: Session, answers: Sequence[HypothesisAnswer], facts: VerificationFacts = NO_FACTS
) -> VerificationVerdict:
    """Settle every hypothesis: one confirmed leads to READY, all rejected back to EXPLORATION.

    A session that writes must know a symbol for its target feature here, too. Otherwise unrelated
    hypotheses would be a way around submit_understanding.

    Raises:
        PhaseError: The session is not in VERIFICATION.
        RequirementError: A hypothesis is unanswered or unknown, evidence is malformed, a
            confirmation matches no call of this phase or concerns something else, or no symbol is
            known for the target feature; details list the problems.
    """
    advance(session.phase, Event.VERIFIED)
    calls = calls_since_phase(session)
    problems = [
        *_answer_problems(session, answers, calls),
        *_unrelated_evidence(session, answers, calls),
        *_unsettled(session, answers),
    ]
    gaps = [] if problems else list(_feature_gaps(session, answers, calls, facts))
    if problems or gaps:
        problems += [gap for gap, _ in gaps]
        raise RequirementError(
            problems[0],
            hint=gaps[0][1] if gaps else _ANSWER_HINT,
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
    return VerificationVerdict(
        Step(event, _settlement(session, answers, calls)),
        advance(session.phase, event),
        confirmed,
        rejected,
        proven,
    )


def corroborate(
    evidence: CallEvidence, calls: Iterable[SessionCall], *, greenfield: bool = False
) -> bool:
    """Return whether one of `calls` is the evidence.

    It has the same tool and target, succeeded and had results. With `greenfield` a search_text
    without results counts, too: there is nothing to find yet.
    """
    return any(_is_call(evidence, call, greenfield=greenfield) for call in calls)


def _is_call(evidence: CallEvidence, call: SessionCall, *, greenfield: bool = False) -> bool:
    same = call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
    empty = greenfield and call.tool == "search_text" and call.asks
    return same and (call.counts or empty)


def _settlement(
    session: Session, answers: Sequence[HypothesisAnswer], calls: Sequence[SessionCall]
) -> dict[str, object]:
    """Return the event's data; `symbols` are those of the map that the answers settle."""
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


def _opened(session: Session, item: HypothesisAnswer, calls: Sequence[SessionCall]) -> list[str]:
    """Return the files that a confirmation opens; calls of this session have found all of them.

    They are the files that the evidence names and, for a map hit, those that define its symbol. If
    there are none, they are all files that the evidence's call has found.
    """
    found = [file for call in calls if _is_call(item.evidence, call) for file in call.opens]
    named = [file for file in map(session.relative, item.evidence.files) if file in found]
    symbol = _map_symbol(session, item.hypothesis)
    defined = [
        file
        for call in session.calls
        if symbol
        and call.tool == "find_definitions"
        and _bare_name(call.target) == _bare_name(symbol)
        for file in call.opens
    ]
    return named + defined or found


def _planned(session: Session, evidence: CallEvidence) -> list[str]:
    """Return the new files that a confirmation announces; only in a project without code."""
    if not session.greenfield:
        return []
    return [file for file in map(session.relative, evidence.files) if may_be_planned(file)]


def _hypothesis_problems(session: Session, hypotheses: Sequence[tuple[str, str]]) -> list[str]:
    if not hypotheses:
        return ["hypotheses: 0/1"]
    problems: list[str] = []
    seen: set[str] = set()
    for text, confidence in hypotheses:
        if not _MIN_TEXT_CHARS <= len(text.strip()) <= _MAX_TEXT_CHARS or hidden_character(text):
            problems.append(
                f"hypotheses: {text[:40]!a} must be one line of {_MIN_TEXT_CHARS} to "
                f"{_MAX_TEXT_CHARS} characters"
            )
        if confidence not in CONFIDENCES:
            problems.append(f"confidence: {confidence!r} is not one of {', '.join(CONFIDENCES)}")
        elif not _names_something(session, text):
            problems.append(f"hypotheses: {text[:40]!r} names nothing that can be found in code")
        if fold(text) in seen:
            problems.append(f"hypotheses: {text!r} is repeated")
        seen.add(fold(text))
    return problems


def _names_something(session: Session, text: str) -> bool:
    """Return whether a hypothesis has an ASCII word or a word that a call has found."""
    words = content_words(text)
    if any(word.isascii() and len(word) >= _MIN_TEXT_CHARS for word in words):
        return True
    targets = (call.target for call in session.calls if call.counts)
    return session.greenfield or any(words & content_words(target) for target in targets)


def _answer_problems(
    session: Session, answers: Sequence[HypothesisAnswer], calls: Sequence[SessionCall]
) -> list[str]:
    problems: list[str] = []
    for item in answers:
        quoted, evidence = f"{item.hypothesis[:_QUOTED_CHARS]!r}", item.evidence
        if item.status not in STATUSES:
            problems.append(f"status: {item.status!r} is not one of {', '.join(STATUSES)}")
        elif evidence.tool not in EVIDENCE_TOOLS:
            problems.append(f"evidence of {quoted}: {evidence.tool!r} is not an evidence tool")
        elif not evidence.target.strip() or not evidence.result.strip():
            problems.append(f"evidence of {quoted}: target and result must not be empty")
        elif item.status == "confirmed":
            problems += _unproven(session, quoted, evidence, calls)
    return problems


def _unproven(
    session: Session, quoted: str, evidence: CallEvidence, calls: Sequence[SessionCall]
) -> Iterator[str]:
    if not corroborate(evidence, calls, greenfield=session.greenfield):
        called = any(
            call.ok and call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
            for call in calls
        )
        yield (
            f"evidence of {quoted}: {evidence.tool} found nothing for {evidence.target!r}, or the "
            "target is too short"
            if called
            else f"evidence of {quoted}: no successful {evidence.tool} call for "
            f"{evidence.target!r} was made in this phase"
        )
    elif not corroborate(evidence, calls) and not _planned(session, evidence):
        yield f"evidence of {quoted}: nothing exists yet; list the files you will create in files"


def _unsettled(session: Session, answers: Sequence[HypothesisAnswer]) -> list[str]:
    """Return the hypotheses that are unanswered, unknown or answered twice, compared folded."""
    hypotheses = {fold(item.text): item.text for item in session.hypotheses}
    answered = [fold(item.hypothesis) for item in answers]
    problems = [f"unanswered: {text}" for key, text in hypotheses.items() if key not in answered]
    for key, item in zip(answered, answers, strict=True):
        if key not in hypotheses:
            problems.append(f"unknown hypothesis: {item.hypothesis[:_QUOTED_CHARS]}")
        elif answered.count(key) > 1:
            problems.append(f"answered twice: {item.hypothesis[:_QUOTED_CHARS]}")
    return problems


def _map_symbol(session: Session, hypothesis: str) -> str:
    """Return the map's symbol that a hypothesis is about, or the empty string."""
    key = fold(hypothesis)
    return next((known.symbol for known in session.hypotheses if fold(known.text) == key), "")


def _unrelated_evidence(
    session: Session, answers: Sequence[HypothesisAnswer], calls: Sequence[SessionCall]
) -> list[str]:
    """Return the confirmations whose evidence concerns something else.

    Evidence of a map hit must ask for its symbol; other evidence must concern the hypothesis.
    """
    texts = {fold(item.text): item.text for item in session.hypotheses}
    problems: list[str] = []
    for item in answers:
        quoted = f"{item.hypothesis[:_QUOTED_CHARS]!r}"
        symbol = _map_symbol(session, item.hypothesis)
        text = texts.get(fold(item.hypothesis), "")
        if item.status != "confirmed" or not text:
            continue
        if symbol and not _asks_for(item.evidence, symbol, calls):
            problems.append(f"evidence of {quoted}: ask about {symbol} itself")
        elif not (symbol or session.greenfield or _concerns(session, text, item.evidence, calls)):
            target = item.evidence.target[:_QUOTED_CHARS]
            problems.append(f"evidence of {quoted}: {target!r} is unrelated to the hypothesis")
    return problems


def _concerns(
    session: Session, hypothesis: str, evidence: CallEvidence, calls: Sequence[SessionCall]
) -> bool:
    """Return whether evidence has a word of the hypothesis in its target or in a symbol found.

    In a regular expression each alternative must have such a word, since any of them may have
    matched. Of a `query` only its results count. If the hypothesis mentions the target feature, a
    call for a symbol mapped to it is enough: the words may be in another language than the code.
    """
    words = _words(hypothesis)
    if words & _words(" ".join(_shown(evidence, calls))):
        return True
    if evidence.tool != "query" and all(words & _words(part) for part in _parts(evidence)):
        return True
    slot = session.frame and session.frame.slot("target_feature")
    if not slot or not words & (content_words(slot.value) | content_words(slot.quote)):
        return False
    return any(
        symbol.source is SlotSource.FACT and _asks_for(evidence, symbol.name, calls)
        for symbol in session.symbols
    )


def _shown(evidence: CallEvidence, calls: Sequence[SessionCall]) -> list[str]:
    """Return the symbols that the evidence's calls have shown."""
    return [name for call in calls if _is_call(evidence, call) for name in call.shows]


def _asks_for(evidence: CallEvidence, symbol: str, calls: Sequence[SessionCall]) -> bool:
    """Return whether each alternative of a target has the symbol's name as a whole identifier.

    A `query` must have found the symbol.
    """
    if evidence.tool == "query":
        return _bare_name(symbol) in map(_bare_name, _shown(evidence, calls))
    name = re.escape(_bare_name(symbol))
    found = (
        re.search(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])", fold(part)) for part in _parts(evidence)
    )
    return all(found)


def _parts(evidence: CallEvidence) -> list[str]:
    """Return the alternatives of a target, without the classes and boundaries of an expression."""
    if evidence.tool != "search_text":
        return [evidence.target]
    return re.sub(r"\\[A-Za-z]", " ", evidence.target).split("|")


def _words(text: str) -> frozenset[str]:
    """Return the words and whole identifiers of a text, without single letters."""
    words = content_words(text) | set(re.findall(r"[a-z0-9_]+", fold(text)))
    return frozenset(word for word in words if len(word) > 1 or not word.isascii())


def _feature_gaps(
    session: Session,
    answers: Sequence[HypothesisAnswer],
    calls: Sequence[SessionCall],
    facts: VerificationFacts,
) -> Iterator[tuple[str, str]]:
    """Yield what a session that writes does not know about its target feature, and what to do.

    A confirmed agreement is enough. Any other agreement is only a hypothesis; otherwise an agent
    could write an agreement file to reach READY.
    """
    confirmed = [item for item in answers if item.status == "confirmed"]
    if not (session.intent.writes and confirmed) or session.greenfield:
        return
    agreed = {fold(item.text) for item in session.hypotheses if item.agreed}
    if any(fold(item.hypothesis) in agreed for item in confirmed):
        return
    slot = session.frame and session.frame.slot("target_feature")
    if not slot:
        yield (
            "nl_symbol_mapping: the query frame names no target_feature",
            "Call start_session, then set_query_frame before search_smart: the map has already "
            "answered the query of this session."
            if any(item.symbol for item in session.hypotheses)
            else "Call set_query_frame with one; if the map has answered already, call "
            "start_session.",
        )
        return
    if not facts.symbols_readable:
        words = content_words(slot.value) | content_words(slot.quote)
        if not any(words & content_words(item.hypothesis) for item in confirmed):
            yield (
                f"nl_symbol_mapping: no confirmed hypothesis mentions {slot.value!r}",
                "Call revert_to_exploration and state in a hypothesis what implements the feature.",
            )
        return
    if unused := [tool for tool in REQUIRED_TOOLS if not session.used(tool)]:
        yield (
            f"required_tools: missing {', '.join(unused)}",
            f"Ask {unused[0]} about the symbol, then call submit_verification again.",
        )
    known = [symbol.name for symbol in session.symbols if symbol.source is SlotSource.FACT]
    known += [
        symbol
        for item in confirmed
        for call in calls
        if _is_call(item.evidence, call) and call.tool in CORROBORATION_TOOLS
        for symbol in map(fold_symbol, call.symbols)
        if _bare_name(symbol) == _bare_name(call.target)
    ]
    made = set(map(fold_symbol, facts.made))
    known = [name for name in known if name not in made]
    if not carriers(session, known, learned=facts.learned, scores=facts.scores):
        yield (
            f"nl_symbol_mapping: no known symbol implements {slot.value!r}",
            "Call confirm_symbol_relevance with it, then submit_verification again.",
        )


def _bare_name(symbol: str) -> str:
    """Return a symbol's name, folded, without its scopes."""
    return fold(symbol_parts(symbol)[-1])
