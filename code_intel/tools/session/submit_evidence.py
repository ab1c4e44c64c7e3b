"""Judge submit_understanding by evidence (`[gate] demands = "evidence"`)."""

from typing import Any

from code_intel.foundation.text import visible
from code_intel.records import FAIR_SCORE
from code_intel.session import steps
from code_intel.session.guidance import next_step
from code_intel.session.paths import plain_path
from code_intel.session.phases import Phase
from code_intel.session.state import CodePlace, Session, Step
from code_intel.session.understanding import judging
from code_intel.session.understanding.claims import Claim, Understanding
from code_intel.session.understanding.files import FileClaim
from code_intel.session.understanding.judging import EvidenceFacts, EvidenceVerdict
from code_intel.tools.context.evidence_facts import evidence_facts
from code_intel.tools.context.gateway import GatewayContext, LockedSession
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.declaration import Answer
from code_intel.tools.search.candidates import accepted_candidates
from code_intel.tools.session.open_by_quote import open_by_quote
from code_intel.tools.session.related_files import RelatedFiles, related_files
from code_intel.tools.wire.next_calls import call_text, reading_call

CHECK_ONCE = (
    "Call check_write_target once with the files that you will edit. When finished, call "
    "record_outcome."
)
ACCEPTED = "Accepted, so that a success makes the request an alias:"
OPENS_MORE = "next_call opens related files."


async def submit_evidence(
    context: GatewayContext, locked: LockedSession, submitted: Understanding
) -> Answer:
    """Judge a submission by the quotes of code that this session has printed.

    In READY, a claim may name a file instead of a symbol.
    """
    files: list[Claim] = []
    if locked.session.phase is Phase.READY:
        files = [claim for claim in submitted.claims if _is_file(context, claim.symbol)]
    opened = [FileClaim(claim.symbol, claim.explanation, claim.quote) for claim in files]
    opening = [await open_by_quote(context, locked.session, opened)] if opened else []
    rest = submitted._replace(claims=tuple(c for c in submitted.claims if c not in files))
    if opened and not rest.claims and not rest.new_symbols:
        await locked.decide(lambda _: (None, opening))
        session = locked.session
        verdict = EvidenceVerdict(opening[0], session.phase, session.risk, session.risk_reason)
        return await _answer(context, locked, verdict)
    spelled, facts = await evidence_facts(context, locked.session, rest)
    facts = await _with_candidates(context, locked.session, facts)

    def judgement(session: Session) -> tuple[EvidenceVerdict, list[Step]]:
        verdict = judging.submit_evidence(session, spelled, facts)
        return verdict, [*_listing(context, verdict), verdict.step, *opening]

    return await _answer(context, locked, await locked.decide(judgement))


def _is_file(context: GatewayContext, name: str) -> bool:
    """Return whether a claim names a file of the project."""
    path = plain_path(name)
    return bool(path) and bool(existing_files(context.root, [path]))


async def _with_candidates(
    context: GatewayContext, session: Session, facts: EvidenceFacts
) -> EvidenceFacts:
    """Return the facts with the candidates of the map that the claims accept.

    From `FAIR_SCORE`, a confirmed agreement links its symbol to the request. The symbol of a lower
    one must be plausible like any other.
    """
    claimed = [CodePlace(claim.name, claim.file) for claim in facts.symbols if claim.is_defined]
    found = await accepted_candidates(context, session, claimed)
    linked = {name for name, each in found.agreements.items() if each.score >= FAIR_SCORE}
    symbols = tuple(
        claim._replace(plausible=True, speaks_of=claim.speaks_of | {"target_feature"})
        if claim.name in linked
        else claim
        for claim in facts.symbols
    )
    return facts._replace(symbols=symbols, agreements=found.agreements, refused=found.refused)


def _listing(context: GatewayContext, verdict: EvidenceVerdict) -> list[Step]:
    """Return the journal's record of the uses that the answer lists; this blocks."""
    if not verdict.uses:
        return []
    passages = [Passage(use.file, use.line, use.text) for use in verdict.uses]
    printed = prints_in(context, passages)
    target, found = ", ".join(verdict.accepted), len(verdict.uses)
    return [steps.called("submit_understanding", target, found=found, printed=printed)]


async def _related(context: GatewayContext, session: Session) -> RelatedFiles:
    """Return the files that may be written now, and places that open further ones."""
    if session.phase is not Phase.READY or not session.intent.writes:
        return RelatedFiles()
    return await related_files(context, session, session.change_places)


async def _answer(
    context: GatewayContext, locked: LockedSession, verdict: EvidenceVerdict
) -> Answer:
    session = locked.session
    related = await _related(context, session)
    step = verdict.hint or (CHECK_ONCE if related.open else next_step(session))
    parts = [f"{session.phase}. Risk {verdict.risk}: {verdict.risk_reason}."]
    if verdict.missing:
        parts.append(f"Missing: {'; '.join(verdict.missing)}.")
    if verdict.accepted:
        parts.append(f"The change rests on {', '.join(verdict.accepted)}.")
    if agreements := [f"{each.nl_term} → {each.agreed}" for each in verdict.agreements]:
        parts.append(f"{ACCEPTED} {', '.join(agreements)}.")
    parts += [f"Not counted: {lack.symbol}, which {lack.why}." for lack in verdict.left_out]
    parts += [*verdict.notes]
    if related.open:
        parts.append(f"Open for writing: {', '.join(related.open)}.")
    listed = ["Its uses:" if len(verdict.accepted) == 1 else "Their uses:"] if verdict.uses else []
    listed += [f"  {use.row}" for use in verdict.uses]
    data: dict[str, Any] = {
        "next_phase": session.phase.value,
        "evaluated_confidence": "low" if verdict.missing else "high",
        "risk_level": verdict.risk.value,
        "risk_reason": verdict.risk_reason,
        "missing_requirements": list(verdict.missing),
        "confirmed_symbols": list(verdict.accepted),
        "explored_files": list(related.open or session.explored_files),
        "hint": step,
    }
    if agreements:
        data["agreements"] = agreements
    if verdict.left_out:
        data["left_out"] = [f"{lack.symbol} {lack.why}" for lack in verdict.left_out]
    if verdict.uses:
        data["uses"] = [use.row for use in verdict.uses]
    if session.planned_files:
        data["planned_files"] = list(session.planned_files)
    call = reading_call(related.places)
    opening = [f"{OPENS_MORE} {call_text(call)}"] if call else []
    data |= call
    text = visible(" ".join([*parts, step]))
    message = visible(" ".join([f"{session.phase}.", *verdict.notes, *([OPENS_MORE] * bool(call))]))
    return locked.answer(message, "\n".join([text, *map(visible, [*listed, *opening])]), **data)
