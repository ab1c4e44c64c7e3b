"""Judge submit_understanding under the demands of evidence (docs/decisions/0054).

The session becomes READY, or it stays in EXPLORATION, and the answer says what to read. Only an
empty submission leads to SEMANTIC: then exploration has found nothing to rest on.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import RequirementError
from code_intel.session.frame import SlotSource
from code_intel.session.guidance import GREENFIELD
from code_intel.session.phases import Event, Intent, Phase, advance
from code_intel.session.risk import ChangeFacts, Risk, assess_change, at_least
from code_intel.session.state import MapCandidate, Session, Step
from code_intel.session.understanding.claims import (
    Claim,
    NewSymbol,
    Understanding,
    problems,
)
from code_intel.session.understanding.demands import (
    ClaimFacts,
    Lack,
    UseFacts,
    lacks,
    neighbour_lacks,
    uses_to_list,
)
from code_intel.session.understanding.denials import denial

CONFIDENCE = 0.9
"""Confidence of a symbol whose quote was accepted."""
MAX_REMEDIES = 4
"""Maximum remedies in one hint."""
_OMISSIBLE = frozenset({"read_enough", "plausible", "feature_code", "feature_quote"})
"""Demands that a further symbol may miss: it is then left out, neither counted nor learned."""
_CORRECT = "Correct what consistency_errors lists, then call submit_understanding again."
_FIND_NOTHING = (
    "Search by meaning with search_smart, then call submit_semantic with your hypotheses. "
    "Otherwise call revert_to_exploration."
)
ONLY_NEW = "only new code is added"


class EvidenceFacts(NamedTuple):
    """What the index and the files say about a submission.

    Attributes:
        symbols: The facts of each claim, in order.
        changes: What decides the risk, for each claim, in order.
        neighbours: The facts of what each new symbol will join, in order; without a name if
            nothing was named.
        existing_files: The files of new symbols that exist.
        nothing_defined: Whether the index defines no symbol at all.
        agreements: The candidates of the map that claims accept, by symbol.
        refused: Why candidates that claims name cannot be accepted, each as a sentence.
    """

    symbols: tuple[ClaimFacts, ...] = ()
    changes: tuple[ChangeFacts, ...] = ()
    neighbours: tuple[ClaimFacts, ...] = ()
    existing_files: frozenset[str] = frozenset()
    nothing_defined: bool = False
    agreements: Mapping[str, MapCandidate] = MappingProxyType({})
    refused: tuple[str, ...] = ()


class EvidenceVerdict(NamedTuple):
    """A verdict; once `step` is appended, the session is in `next_phase`.

    Attributes:
        step: The event to append.
        next_phase: The phase it leads to.
        risk: The risk over all submitted symbols.
        risk_reason: Its reason.
        accepted: The symbols on which the change may rest.
        left_out: Symbols that do not count, with the reason.
        missing: What is missing; empty if the session becomes READY.
        uses: Uses of the accepted symbols that the answer must list.
        agreements: The candidates of the map that are accepted.
        notes: What the server knows and the agent need not look for.
        hint: The next step; empty if nothing is missing.
    """

    step: Step
    next_phase: Phase
    risk: Risk
    risk_reason: str
    accepted: tuple[str, ...] = ()
    left_out: tuple[Lack, ...] = ()
    missing: tuple[str, ...] = ()
    uses: tuple[UseFacts, ...] = ()
    agreements: tuple[MapCandidate, ...] = ()
    notes: tuple[str, ...] = ()
    hint: str = ""


def submit_evidence(
    session: Session, submitted: Understanding, facts: EvidenceFacts
) -> EvidenceVerdict:
    """Judge a submission.

    Raises:
        PhaseError: The session is not in EXPLORATION.
        RequirementError: A formal error (`consistency_errors`), a denial, or an unmet demand;
            `missing_requirements` lists the demands, and the hint says what to read.
    """
    advance(session.phase, Event.UNDERSTOOD)
    risk, reason = _risk(session, submitted, facts)
    if errors := list(problems(submitted)):
        details = {"consistency_errors": errors, "consistency_hint": _CORRECT}
        raise _refusal(session, errors[0], _CORRECT, (risk, reason), [], details)
    if not submitted.claims and not submitted.new_symbols:
        return _doubt(session, facts, risk, reason)
    rows = list(zip(submitted.claims, facts.symbols, strict=True))
    found = {number: list(_lacks(*row, risk)) for number, row in enumerate(rows)}
    accepted = [row for number, row in enumerate(rows) if not found[number]]
    everything = [lack for group in found.values() for lack in group]
    left_out = [lack for lack in everything if lack.demand in _OMISSIBLE]
    unmet = [lack for lack in everything if lack.demand not in _OMISSIBLE]
    if not accepted and not submitted.new_symbols:
        unmet = everything
    carrying = {_folder(row.file) for _, row in accepted}
    unmet += _new_symbol_lacks(session, submitted.new_symbols, facts, carrying)
    if not unmet:
        unmet += _slot_lacks(session, accepted, risk, is_new=bool(submitted.new_symbols))
    if unmet:
        raise _unmet(session, unmet, (risk, reason))
    data = _data(accepted, submitted, facts, (risk, reason))
    return EvidenceVerdict(
        Step(Event.UNDERSTOOD, data),
        advance(session.phase, Event.UNDERSTOOD),
        risk,
        reason,
        tuple(claim.key for claim, _ in accepted),
        tuple(left_out),
        uses=tuple(dict.fromkeys(use for row in accepted for use in uses_to_list(*row, risk))),
        agreements=tuple(_agreements(accepted, facts)),
        notes=tuple(_notes(accepted, submitted.new_symbols, facts, risk)),
    )


def _risk(session: Session, submitted: Understanding, facts: EvidenceFacts) -> tuple[Risk, str]:
    """Return the risk with its reason; a further submission in READY never lowers it."""
    before = session.risk, session.risk_reason
    if facts.changes:
        found = assess_change(facts.changes)
    elif submitted.new_symbols:
        found = Risk.LOW, ONLY_NEW
    else:
        return before
    return before if session.phase is Phase.READY and at_least(before[0], found[0]) else found


def _lacks(claim: Claim, facts: ClaimFacts, risk: Risk) -> Iterator[Lack]:
    """Yield what a claim lacks; a sentence that denies the link is always refused."""
    if words := denial(claim.explanation):
        yield Lack(
            "denial",
            facts.name,
            f"has an explanation that denies the link (“{words}”)",
            "Leave the symbol out, or say what links it to the request",
        )
        return
    yield from lacks(claim, facts, risk)


def _new_symbol_lacks(
    session: Session,
    new_symbols: Sequence[NewSymbol],
    facts: EvidenceFacts,
    carrying: Collection[str],
) -> Iterator[Lack]:
    """Yield what is missing to add new symbols: the code that they will stand beside.

    Args:
        session: The session.
        new_symbols: The new symbols.
        facts: The facts about the submission.
        carrying: Folders of the accepted symbols. If there are any, a neighbour in one of them and
            the neighbour of a new file need not be plausible, only read.
    """
    empty_project = session.intent is Intent.IMPLEMENT and facts.nothing_defined
    for new, neighbour in zip(new_symbols, facts.neighbours, strict=True):
        if not neighbour.name:
            if not empty_project:
                yield Lack(
                    "beside",
                    new.name,
                    "names nothing that it will stand beside",
                    "Name in beside the symbol or file next to which you will add it",
                )
            continue
        is_near_change = _folder(neighbour.file) in carrying
        is_new_file = bool(carrying) and new.file not in facts.existing_files
        found = neighbour_lacks(neighbour, must_be_plausible=not (is_near_change or is_new_file))
        yield from (lack._replace(symbol=f"{lack.symbol} (beside {new.name})") for lack in found)
        if neighbour.file and not _is_near(new.file, neighbour.file, facts):
            yield Lack(
                "beside",
                new.name,
                f"would be in {new.file}, which is not beside {neighbour.file}",
                "Name in beside code of the same file or, for a new file, of the same folder",
            )


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _is_near(file: str, neighbour: str, facts: EvidenceFacts) -> bool:
    """Return whether a file is the neighbour's, or a new one in or below its folder."""
    folder = _folder(neighbour)
    is_new = file not in facts.existing_files
    return file == neighbour or (is_new and (not folder or file.startswith(f"{folder}/")))


def _slot_lacks(
    session: Session, accepted: Sequence[tuple[Claim, ClaimFacts]], risk: Risk, *, is_new: bool
) -> Iterator[Lack]:
    """Yield the filled slots of which no quote speaks, although the symbols' code has their words.

    A desired action of something new is met by the place of the new symbol.
    """
    if not at_least(risk, Risk.HIGH) or not accepted or session.frame is None:
        return
    spoken = frozenset[str]().union(*(facts.speaks_of for _, facts in accepted))
    for slot in session.frame.slots:
        rows = [facts for _, facts in accepted if facts.slot_lines.get(slot.name) in facts.printed]
        if slot.name in spoken or not rows:
            continue
        if not (slot.name == "desired_action" and is_new):
            yield Lack(
                "slot_quotes",
                rows[0].name,
                f"has no quote that speaks of {slot.name} “{slot.value}”",
                f"Quote {rows[0].file}:{rows[0].slot_lines[slot.name]}, too; a quote may have "
                "several lines",
            )


def _data(
    accepted: Sequence[tuple[Claim, ClaimFacts]],
    submitted: Understanding,
    facts: EvidenceFacts,
    risk: tuple[Risk, str],
) -> dict[str, Any]:
    """Return the event's data. Only accepted claims are recorded."""
    neighbours = [(each.name, each.file) for each in facts.neighbours if each.file]
    users = [file for _, known in accepted for file in known.users]
    planned = [new.file for new in submitted.new_symbols if new.file not in facts.existing_files]
    return {
        "symbols": [
            {
                "name": claim.key,
                "source": SlotSource.FACT.value,
                "confirmed": True,
                "confidence": CONFIDENCE,
                "file": known.file,
                "evidence": claim.explanation.strip(),
                "quote": claim.quote.strip("\r\n"),
            }
            for claim, known in accepted
        ],
        "new_symbols": [new._asdict() for new in submitted.new_symbols],
        "beside": list(dict.fromkeys(neighbours)),
        "files": list(
            dict.fromkeys(
                [*(known.file for _, known in accepted), *users, *(file for _, file in neighbours)]
            )
        ),
        "planned": list(dict.fromkeys(planned)),
        "missing": [],
        "notes": submitted.notes,
        "greenfield": facts.nothing_defined and bool(planned),
        "accepted": [list(each) for each in _agreements(accepted, facts)],
        "risk": risk[0].value,
        "risk_reason": risk[1],
    }


def _agreements(
    accepted: Sequence[tuple[Claim, ClaimFacts]], facts: EvidenceFacts
) -> Iterator[MapCandidate]:
    """Yield the candidates of the map that accepted claims name."""
    for _, known in accepted:
        if known.name in facts.agreements:
            yield facts.agreements[known.name]


def _doubt(session: Session, facts: EvidenceFacts, risk: Risk, reason: str) -> EvidenceVerdict:
    """Return the verdict on an empty submission, which leads to SEMANTIC."""
    if session.phase is Phase.READY:
        why = "names nothing that the change rests on further"
        then = "Name a symbol or a file, with a sentence and a quote"
        lack = Lack("symbols_identified", "The submission", why, then)
        raise _unmet(session, [lack], (risk, reason))
    greenfield = session.intent is Intent.IMPLEMENT and facts.nothing_defined
    missing = ("symbols_identified: 0/1",)
    data = {"symbols": [], "files": [], "missing": list(missing), "greenfield": greenfield}
    return EvidenceVerdict(
        Step(Event.DOUBTED, data),
        advance(session.phase, Event.DOUBTED),
        risk,
        reason,
        missing=missing,
        hint=f"{_FIND_NOTHING} {GREENFIELD}" if greenfield else _FIND_NOTHING,
    )


def _notes(
    accepted: Sequence[tuple[Claim, ClaimFacts]],
    new_symbols: Sequence[NewSymbol],
    facts: EvidenceFacts,
    risk: Risk,
) -> Iterator[str]:
    """Yield where new code is accepted, and what does not exist and need not be looked for."""
    for new, neighbour in zip(new_symbols, facts.neighbours, strict=True):
        beside = f" beside {neighbour.name}" if neighbour.name else ""
        yield f"New code is accepted: {new.name} in {new.file}{beside}."
    yield from facts.refused
    for _, known in accepted:
        if at_least(risk, Risk.MEDIUM) and known.readable and not known.uses:
            yield f"Nothing uses {known.name}."
        if at_least(risk, Risk.HIGH) and known.readable and not known.tests:
            yield f"No test touches {known.name}."


def _unmet(session: Session, unmet: Sequence[Lack], risk: tuple[Risk, str]) -> RequirementError:
    """Return the refusal: the first demand as the message, the remedies as the hint."""
    remedies = list(dict.fromkeys(lack.then for lack in unmet))[:MAX_REMEDIES]
    return _refusal(
        session,
        f"{unmet[0].symbol} {unmet[0].why}.",
        f"{'. '.join(remedies)}. Then call submit_understanding again.",
        risk,
        unmet,
        {},
    )


def _refusal(
    session: Session,
    message: str,
    hint: str,
    risk: tuple[Risk, str],
    unmet: Sequence[Lack],
    details: dict[str, Any],
) -> RequirementError:
    first = list(dict.fromkeys(hit for lack in unmet for hit in lack.first_hits))
    return RequirementError(
        message,
        hint=hint,
        details={
            "missing_requirements": list(dict.fromkeys(lack.line for lack in unmet)),
            "current_phase": session.phase.value,
            "risk_level": risk[0].value,
            "risk_reason": risk[1],
            **({"first_hits": first} if first else {}),
            **details,
        },
    )
