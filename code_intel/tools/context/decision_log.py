"""Build the rows of the decision log for a call; `GatewayContext.note` writes them."""

from collections.abc import Iterator, Sequence

from code_intel.errors import CodeIntelError
from code_intel.learned.history.decisions import Decision
from code_intel.records import VERIFICATION_SCORE, Hit
from code_intel.session.phases import Event
from code_intel.session.short_circuit import ShortCircuitVerdict, explain
from code_intel.session.state import Session, Step
from code_intel.session.write_gate import WriteVerdict


def phase_changes(before: Session, after: Session, tool: str) -> Iterator[Decision]:
    """Yield the phase changes between two states of one session."""
    for change in after.phase_history[len(before.phase_history) :]:
        change_text = f"{change.source} → {change.target}"
        lacking = f"; missing {'; '.join(after.missing)}" if after.missing else ""
        yield Decision("phase_moved", change_text, f"{change.event}{lacking}", tool)


def refusal(session: Session, error: CodeIntelError, tool: str) -> Decision:
    """Return the row for a refused call, with the reason."""
    listed = error.details.get("missing_requirements") or ()
    details = [item for item in map(str, listed) if item not in error.message]
    between = " " if error.message.endswith(".") else "; "
    reason = between.join(filter(None, (error.message, "; ".join(details))))
    return Decision("refused", f"{tool} in {session.phase}: {error.error}", reason, tool)


def denied_writes(
    session: Session, files: Sequence[str], verdicts: Sequence[WriteVerdict], tool: str
) -> Iterator[Decision]:
    """Yield a row for each file that may not be written, with the reason."""
    for file, verdict in zip(files, verdicts, strict=True):
        if not verdict.allowed:
            what = f"write {file} in {session.phase}: {verdict.error}"
            yield Decision("refused", what, verdict.why_closed or verdict.hint, tool)


def map_decisions(
    best: Hit | None, verdict: ShortCircuitVerdict, step: Step | None, tool: str
) -> Iterator[Decision]:
    """Yield rows that say how the map's best hit was used; `step` is its effect on the session."""
    if best is None or best.agreement is None:
        yield Decision("map_rejected", "no agreement", "the map has no matching agreement", tool)
        return
    score = "without a score" if best.score is None else f"at {best.score:.2f}"
    hit = f"{best.agreement.nl_term} → {best.agreement.symbol} {score}"
    reasons = "; ".join(f"{item['guard']}: {item['reason']}" for item in explain(verdict.failed))
    if step is not None and step.event is not Event.MAP_MISSED:
        yield Decision("map_used", hit, f"its score leads to {verdict.band}", tool)
    elif verdict.phase is None:
        low = f"its score is below {VERIFICATION_SCORE:.2f}, or its status excludes it"
        yield Decision("map_rejected", hit, reasons or low, tool)
        return
    elif step is None:
        reason = (
            "the phase stays, because the query is not the target feature, or not in EXPLORATION"
        )
        yield Decision("map_rejected", hit, reason, tool)
    else:
        yield Decision("map_rejected", hit, "this session rejected its symbol", tool)
    if reasons and verdict.band == "ready":
        yield Decision("ready_lowered", hit, reasons, tool)
