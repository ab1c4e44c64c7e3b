"""Check hypotheses and the evidence for or against them (seed 004 §5.1).

Evidence for a confirmed hypothesis must match a logged tool call of this phase and concern the
hypothesis that it supports (docs/decisions/0032).
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
from code_intel.session.relevance import implementing_symbols
from code_intel.session.requirements import REQUIRED_TOOLS
from code_intel.session.risk import Risk, at_least
from code_intel.session.state import (
    CORROBORATION_TOOLS,
    Hypothesis,
    Session,
    SessionCall,
    Step,
)
from code_intel.session.understanding.counts_guidance import (
    CONFIRM_BEFORE_VERIFICATION,
    FRAME_BEFORE_SEARCH,
    FRAME_IN_VERIFICATION,
)
from code_intel.session.understanding.denials import denial
from code_intel.session.understanding.quotes import QuotedAnswer, QuotedCode, quote_problem
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
"""How many characters of a hypothesis or target a message quotes."""


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
"""Reasons by what is missing, in addition to `GENERAL_REASONS`."""


class CallEvidence(NamedTuple):
    """What an answer is based on: a tool call and what it showed, or a quote of printed code."""

    tool: str
    target: str
    result: str
    files: tuple[str, ...] = ()
    quote: str = ""


class HypothesisAnswer(NamedTuple):
    """One answer of submit_verification; `status` is `confirmed` or `rejected`."""

    hypothesis: str
    status: str
    evidence: CallEvidence


class VerificationFacts(NamedTuple):
    """What the index, the map and the model say about the symbols of a session.

    Attributes:
        symbols_readable: As in `requirements.UnderstandingFacts`.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.
        new_symbols: Symbols that were added since the session began.
        quotes: The code of each quote that stands in lines that this session has printed.
        unread: The call that prints it, for each symbol of a hypothesis that this session has not
            read at its current content.
    """

    symbols_readable: bool = True
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})
    new_symbols: frozenset[str] = frozenset()
    quotes: Mapping[str, QuotedCode] = MappingProxyType({})
    unread: Mapping[str, str] = MappingProxyType({})


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
    f"In this phase, call one of {', '.join(CORE_EVIDENCE_TOOLS)} for what the hypothesis names, "
    "and give that call as evidence in submit_verification, or give as quote a line of code that "
    "this session has printed. Answer each hypothesis once, quote it word for word, and reject "
    "what you cannot confirm."
)
_QUOTE_IT = (
    "Read the code with snippets_get or search_text, and give a line of it as quote in the "
    "evidence of submit_verification."
)


def allowed_reasons(missing: Iterable[str]) -> tuple[ForestReason, ...]:
    """Return the reasons that fit what the last submission lacked, ordered as `ForestReason`."""
    keys = {item.split(":", 1)[0] for item in missing}
    fitting = {reason for key in keys for reason in REASONS.get(key, ())} | set(GENERAL_REASONS)
    return tuple(reason for reason in ForestReason if reason in fitting)


def submit_semantic(session: Session, hypotheses: Sequence[tuple[str, str]], reason: str) -> Step:
    """Accept (text, confidence) hypotheses; the session moves to VERIFICATION.

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
    missing = list(session.missing)
    return Step(Event.SUPPOSED, {"hypotheses": items, "reason": reason, "missing": missing})


def calls_since_phase(session: Session) -> tuple[SessionCall, ...]:
    """Return the calls made since the session entered its current phase."""
    return tuple(call for call in session.calls if call.seq > session.phase_seq)


def submit_verification(
    session: Session, answers: Sequence[HypothesisAnswer], facts: VerificationFacts = NO_FACTS
) -> VerificationVerdict:
    """Settle every hypothesis. If one is confirmed, READY follows, otherwise EXPLORATION.

    A session that writes must know a symbol for its target feature here, too. Otherwise unrelated
    hypotheses could be used to bypass submit_understanding.

    Raises:
        PhaseError: The session is not in VERIFICATION.
        RequirementError: A hypothesis is unanswered or unknown, evidence is malformed, a
            confirmation matches no call of this phase or concerns something else, or no symbol is
            known for the target feature; details list the problems.
    """
    advance(session.phase, Event.VERIFIED)
    calls = calls_since_phase(session)
    by_call = [item for item in answers if not item.evidence.quote.strip()]
    problems = [
        *_answer_problems(session, by_call, calls),
        *_quote_problems(session, answers, facts),
        *_unrelated_evidence(session, by_call, calls),
        *_unmatched_answers(session, answers),
    ]
    gaps = [] if problems else list(_feature_gaps(session, answers, calls, facts))
    if problems or gaps:
        problems += [gap for gap, _ in gaps]
        raise RequirementError(
            problems[0],
            hint=gaps[0][1] if gaps else _ANSWER_HINT,
            details={
                "missing_requirements": problems,
                "valid_tools": list(CORE_EVIDENCE_TOOLS),
                "hypotheses_to_verify": [item.text for item in session.hypotheses],
            },
        )
    confirmed = tuple(item.hypothesis for item in answers if item.status == "confirmed")
    rejected = tuple(item.hypothesis for item in answers if item.status == "rejected")
    event = Event.VERIFIED if confirmed else Event.REFUTED
    corroborated = tuple(_is_corroborated(session, item, calls, facts) for item in answers)
    return VerificationVerdict(
        Step(event, _event_data(session, answers, calls, facts)),
        advance(session.phase, event),
        confirmed,
        rejected,
        corroborated,
    )


def _quoted_answers(
    session: Session, answers: Iterable[HypothesisAnswer], facts: VerificationFacts
) -> Iterator[QuotedAnswer]:
    """Yield the confirmations by a quote."""
    known = {fold(item.text): item for item in session.hypotheses}
    for item in answers:
        if item.status == "confirmed" and item.evidence.quote.strip():
            hypothesis = known.get(fold(item.hypothesis), Hypothesis(item.hypothesis))
            quote, result = item.evidence.quote, item.evidence.result
            yield QuotedAnswer(
                item.hypothesis,
                hypothesis.symbol,
                hypothesis.agreed,
                quote,
                result,
                facts.quotes.get(quote),
                session.intent.writes and at_least(session.risk, Risk.MEDIUM),
            )


def _quote_problems(
    session: Session, answers: Iterable[HypothesisAnswer], facts: VerificationFacts
) -> list[str]:
    """Return a problem for each confirmation whose quote does not support it."""
    return [
        f"evidence of {answer.hypothesis[:_QUOTED_CHARS]!r}: {problem}"
        for answer in _quoted_answers(session, answers, facts)
        if (problem := quote_problem(answer))
    ]


def _is_corroborated(
    session: Session,
    item: HypothesisAnswer,
    calls: Iterable[SessionCall],
    facts: VerificationFacts,
) -> bool:
    """Return whether the session's prints or calls support the evidence."""
    if item.evidence.quote.strip():
        return item.evidence.quote in facts.quotes
    return corroborate(item.evidence, calls, greenfield=session.greenfield)


def corroborate(
    evidence: CallEvidence, calls: Iterable[SessionCall], *, greenfield: bool = False
) -> bool:
    """Return whether one of `calls` matches the evidence.

    It must have the same tool and target, have succeeded and have had results. With `greenfield`, a
    search_text without results counts, too, because there is nothing to find yet.
    """
    return any(_matches(evidence, call, greenfield=greenfield) for call in calls)


def _matches(evidence: CallEvidence, call: SessionCall, *, greenfield: bool = False) -> bool:
    is_same = call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
    may_be_empty = greenfield and call.tool == "search_text" and call.is_specific
    return is_same and (call.is_evidence or may_be_empty)


def _event_data(
    session: Session,
    answers: Sequence[HypothesisAnswer],
    calls: Sequence[SessionCall],
    facts: VerificationFacts,
) -> dict[str, object]:
    """Return the event's data; `symbols` are those proposed by the map that the answers settle."""
    status = "confirmed" if any(item.status == "confirmed" for item in answers) else "rejected"
    settled = {fold(item.hypothesis) for item in answers if item.status == status}
    symbols = [
        item.symbol for item in session.hypotheses if item.symbol and fold(item.text) in settled
    ]
    confirmed = [item for item in answers if item.status == "confirmed"]
    quoted = [each for each in _quoted_answers(session, answers, facts) if each.code]
    by_call = [item for item in confirmed if not item.evidence.quote.strip()]
    files = [file for item in by_call for file in _opened_files(session, item, calls)]
    files += [each.code.file for each in quoted if each.code]
    planned = [file for item in confirmed for file in _planned_files(session, item.evidence)]
    return {
        "answers": [
            {
                "hypothesis": item.hypothesis,
                "status": item.status,
                "evidence": item.evidence._asdict(),
                "corroborated": _is_corroborated(session, item, calls, facts),
            }
            for item in answers
        ],
        "files": list(dict.fromkeys(files)),
        "planned": list(dict.fromkeys(planned)),
        "symbols": symbols,
        "quoted": [
            {
                "name": each.code.symbol,
                "file": each.code.file,
                "evidence": each.sentence or each.hypothesis,
                "quote": each.quote,
            }
            for each in quoted
            if each.code and each.code.symbol
        ],
    }


def _opened_files(
    session: Session, item: HypothesisAnswer, calls: Sequence[SessionCall]
) -> list[str]:
    """Return the files that a confirmation opens.

    They are the files that the evidence names and its call has found and, for a map hit, the files
    that define its symbol. If none exist, they are all files that the call has found.
    """
    found = [file for call in calls if _matches(item.evidence, call) for file in call.opened_files]
    named_files = [file for file in map(session.relative, item.evidence.files) if file in found]
    symbol = _map_symbol(session, item.hypothesis)
    defining_files = [
        file
        for call in session.calls
        if symbol
        and call.tool == "find_definitions"
        and _bare_name(call.target) == _bare_name(symbol)
        for file in call.opened_files
    ]
    return named_files + defining_files or found


def _planned_files(session: Session, evidence: CallEvidence) -> list[str]:
    """Return the new files that a confirmation announces; only a greenfield session has any."""
    if not session.greenfield:
        return []
    return [file for file in map(session.relative, evidence.files) if may_be_planned(file)]


def _hypothesis_problems(session: Session, hypotheses: Sequence[tuple[str, str]]) -> list[str]:
    if not hypotheses:
        return ["hypotheses: 0/1"]
    problems: list[str] = []
    texts: set[str] = set()
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
        if fold(text) in texts:
            problems.append(f"hypotheses: {text!r} is repeated")
        texts.add(fold(text))
    return problems


def _names_something(session: Session, text: str) -> bool:
    """Return whether a hypothesis has an ASCII word or a word that a call has found."""
    words = content_words(text)
    if any(word.isascii() and len(word) >= _MIN_TEXT_CHARS for word in words):
        return True
    targets = (call.target for call in session.calls if call.is_evidence)
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
            if words := denial(item.hypothesis) or denial(evidence.result):
                problems.append(f"evidence of {quoted}: it denies itself (“{words}”)")
            problems += _evidence_problems(session, quoted, evidence, calls)
    return problems


def _evidence_problems(
    session: Session, quoted: str, evidence: CallEvidence, calls: Sequence[SessionCall]
) -> Iterator[str]:
    """Yield why the evidence of a confirmation is not accepted."""
    if not corroborate(evidence, calls, greenfield=session.greenfield):
        was_called = any(
            call.ok and call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
            for call in calls
        )
        yield (
            f"evidence of {quoted}: {evidence.tool} found nothing for {evidence.target!r}, or the "
            "target is too short"
            if was_called
            else f"evidence of {quoted}: no successful {evidence.tool} call for "
            f"{evidence.target!r} was made in this phase"
        )
    elif not corroborate(evidence, calls) and not _planned_files(session, evidence):
        yield f"evidence of {quoted}: nothing exists yet; list the files you will create in files"


def _unmatched_answers(session: Session, answers: Sequence[HypothesisAnswer]) -> list[str]:
    """Return a problem for each hypothesis that is unanswered, unknown or answered twice."""
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
    """Return the symbol that the map proposed in a hypothesis, or the empty string."""
    key = fold(hypothesis)
    return next((item.symbol for item in session.hypotheses if fold(item.text) == key), "")


def _unrelated_evidence(
    session: Session, answers: Sequence[HypothesisAnswer], calls: Sequence[SessionCall]
) -> list[str]:
    """Return a problem for each confirmation whose evidence concerns something else.

    Evidence for a map hit must ask for its symbol; other evidence must concern the hypothesis.
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
    """Return whether the evidence's target or a symbol it shows has a word of the hypothesis.

    Each alternative of a regular expression must have such a word, since any of them may have
    matched. For `query`, only its results count. If the hypothesis mentions the target feature, a
    call for a symbol mapped to it is enough, as the words may not be in the language of the code.
    """
    words = _terms(hypothesis)
    if words & _terms(" ".join(_shown_symbols(evidence, calls))):
        return True
    if evidence.tool != "query" and all(words & _terms(part) for part in _alternatives(evidence)):
        return True
    slot = session.frame and session.frame.slot("target_feature")
    if not slot or not words & (content_words(slot.value) | content_words(slot.quote)):
        return False
    return any(
        symbol.source is SlotSource.FACT and _asks_for(evidence, symbol.name, calls)
        for symbol in session.symbols
    )


def _shown_symbols(evidence: CallEvidence, calls: Sequence[SessionCall]) -> list[str]:
    """Return the symbols that the evidence's calls have shown."""
    return [name for call in calls if _matches(evidence, call) for name in call.shown_symbols]


def _asks_for(evidence: CallEvidence, symbol: str, calls: Sequence[SessionCall]) -> bool:
    """Return whether each alternative of the target has the symbol's name as a whole identifier.

    For `query`, return whether it has found the symbol.
    """
    if evidence.tool == "query":
        return _bare_name(symbol) in map(_bare_name, _shown_symbols(evidence, calls))
    name = re.escape(_bare_name(symbol))
    return all(
        re.search(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])", fold(part))
        for part in _alternatives(evidence)
    )


def _alternatives(evidence: CallEvidence) -> list[str]:
    """Return the alternatives of a target, without character escapes."""
    if evidence.tool != "search_text":
        return [evidence.target]
    return re.sub(r"\\[A-Za-z]", " ", evidence.target).split("|")


def _terms(text: str) -> frozenset[str]:
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

    A confirmed agreement is enough. An unconfirmed one is only a hypothesis; otherwise an agent
    could reach READY by writing an agreement file.
    """
    confirmed = [item for item in answers if item.status == "confirmed"]
    if not (session.intent.writes and confirmed) or session.greenfield:
        return
    agreed = {fold(item.text) for item in session.hypotheses if item.agreed}
    if session.demands == "evidence":
        yield from _unquoted(item for item in confirmed if fold(item.hypothesis) not in agreed)
        symbols = dict.fromkeys(_map_symbol(session, item.hypothesis) for item in confirmed)
        for symbol in filter(facts.unread.get, symbols):
            problem = f"read: {symbol} was not printed at its current content"
            yield problem, f"Call {facts.unread[symbol]}, then submit_verification again."
        return
    if any(fold(item.hypothesis) in agreed for item in confirmed):
        return
    slot = session.frame and session.frame.slot("target_feature")
    if not slot:
        yield (
            "nl_symbol_mapping: the query frame names no target_feature",
            FRAME_BEFORE_SEARCH
            if any(item.symbol for item in session.hypotheses)
            else FRAME_IN_VERIFICATION,
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
    if unused := [tool for tool in REQUIRED_TOOLS if not session.has_used(tool)]:
        yield (
            f"required_tools: missing {', '.join(unused)}",
            f"Call {unused[0]} for the symbol, then submit_verification again.",
        )
    known = [symbol.name for symbol in session.symbols if symbol.source is SlotSource.FACT]
    known += [
        symbol
        for item in confirmed
        for call in calls
        if _matches(item.evidence, call) and call.tool in CORROBORATION_TOOLS
        for symbol in map(fold_symbol, call.symbols)
        if _bare_name(symbol) == _bare_name(call.target)
    ]
    new_symbols = set(map(fold_symbol, facts.new_symbols))
    known = [name for name in known if name not in new_symbols]
    if not implementing_symbols(session, known, learned=facts.learned, scores=facts.scores):
        yield (
            f"nl_symbol_mapping: no known symbol implements {slot.value!r}",
            CONFIRM_BEFORE_VERIFICATION,
        )


def _unquoted(confirmed: Iterable[HypothesisAnswer]) -> Iterator[tuple[str, str]]:
    """Yield each confirmation without a quote, and what to do."""
    for item in confirmed:
        if not item.evidence.quote.strip():
            text = item.hypothesis[:_QUOTED_CHARS]
            problem = f"quote: the confirmation of {text!r} quotes no code of this session"
            yield problem, _QUOTE_IT


def _bare_name(symbol: str) -> str:
    """Return a symbol's name, folded, without its scopes."""
    return fold(symbol_parts(symbol)[-1])
