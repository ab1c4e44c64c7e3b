"""Judge submit_understanding by evidence (`[gate] demands = "evidence"`)."""

from typing import Any

from code_intel.foundation.text import visible
from code_intel.session import steps
from code_intel.session.guidance import next_step
from code_intel.session.state import Session, Step
from code_intel.session.understanding import judging
from code_intel.session.understanding.claims import Understanding
from code_intel.session.understanding.judging import EvidenceVerdict
from code_intel.tools.context.evidence_facts import evidence_facts
from code_intel.tools.context.gateway import GatewayContext, LockedSession
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.declaration import Answer


async def submit_evidence(
    context: GatewayContext, locked: LockedSession, submitted: Understanding
) -> Answer:
    """Judge a submission by the quotes of code that this session has printed."""
    spelled, facts = await evidence_facts(context, locked.session, submitted)

    def judgement(session: Session) -> tuple[EvidenceVerdict, list[Step]]:
        verdict = judging.submit_evidence(session, spelled, facts)
        return verdict, [*_listing(context, verdict), verdict.step]

    return _answer(locked, await locked.decide(judgement))


def _listing(context: GatewayContext, verdict: EvidenceVerdict) -> list[Step]:
    """Return the journal's record of the uses that the answer lists; this blocks."""
    if not verdict.uses:
        return []
    passages = [Passage(use.file, use.line, use.text) for use in verdict.uses]
    printed = prints_in(context, passages)
    target, found = ", ".join(verdict.accepted), len(verdict.uses)
    return [steps.called("submit_understanding", target, found=found, printed=printed)]


def _answer(locked: LockedSession, verdict: EvidenceVerdict) -> Answer:
    session = locked.session
    step = verdict.hint or next_step(session)
    parts = [f"{session.phase}. Risk {verdict.risk}: {verdict.risk_reason}."]
    if verdict.accepted:
        parts.append(f"The change rests on {', '.join(verdict.accepted)}.")
    parts += [f"Not counted: {lack.symbol}, which {lack.why}." for lack in verdict.left_out]
    parts += [*verdict.notes, step]
    listed = ["Its uses:" if len(verdict.accepted) == 1 else "Their uses:"] if verdict.uses else []
    listed += [f"  {use.row}" for use in verdict.uses]
    data: dict[str, Any] = {
        "next_phase": session.phase.value,
        "evaluated_confidence": "low" if verdict.missing else "high",
        "risk_level": verdict.risk.value,
        "risk_reason": verdict.risk_reason,
        "missing_requirements": list(verdict.missing),
        "confirmed_symbols": list(verdict.accepted),
        "explored_files": list(session.explored_files),
        "hint": step,
    }
    if verdict.left_out:
        data["left_out"] = [f"{lack.symbol} {lack.why}" for lack in verdict.left_out]
    if verdict.uses:
        data["uses"] = [use.row for use in verdict.uses]
    if session.planned_files:
        data["planned_files"] = list(session.planned_files)
    message = visible(" ".join(parts))
    return locked.answer(message, "\n".join([message, *map(visible, listed)]), **data)
