"""Count how many requirements for submit_understanding a session has met (seed 004 §4.5)."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from code_intel.foundation.text import counted
from code_intel.session.frame import SLOTS, SlotSource
from code_intel.session.requirements import REQUIRED_TOOLS, evidence_slots, has_evidence, need_for
from code_intel.session.state import Session
from code_intel.session.wording import fold_symbol


class RequirementProgress(NamedTuple):
    """One requirement, with how much was found and how much is needed.

    `have` is None if only submit_understanding can supply it.
    """

    key: str
    have: int | None
    need: int

    @property
    def data(self) -> dict[str, Any]:
        """The requirement in its wire form."""
        return self._asdict()


_EVIDENCE = (
    "Submit each symbol that the change rests on, with a sentence and a quote of its code, which "
    "this session must have printed."
)


def progress(session: Session) -> tuple[RequirementProgress, ...]:
    """Return each requirement and how much of it calls have found so far.

    The counts are upper limits, because submit_understanding checks each symbol and file.
    """
    if session.demands == "evidence":
        quoted = sum(bool(symbol.quote) for symbol in session.symbols)
        return (RequirementProgress("symbols_identified", quoted, 1),)
    need = need_for(session.intent, session.risk)
    found = {
        fold_symbol(symbol)
        for call in session.calls
        if call.tool == "find_definitions" and call.is_evidence
        for symbol in call.symbols
    }
    slots = evidence_slots(session, need)
    evidenced = sum(has_evidence(session, slot) for slot in slots)
    rows = (
        RequirementProgress("symbols_identified", len(found), need.symbols),
        RequirementProgress("entry_points", None, need.entry_points),
        RequirementProgress("files_analyzed", len(session.seen_files), need.files),
        RequirementProgress("existing_patterns", None, need.patterns),
        RequirementProgress(
            "required_tools", sum(map(session.has_used, REQUIRED_TOOLS)), len(REQUIRED_TOOLS)
        ),
        RequirementProgress("slot_evidence", evidenced, len(slots)),
    )
    return tuple(row for row in rows if row.need)


def has_found_all(rows: Iterable[RequirementProgress]) -> bool:
    """Return whether calls have found every requirement that calls can find."""
    return all(row.have is None or row.have >= row.need for row in rows)


def describe_requirements(session: Session) -> str:
    """Return the requirements as one sentence."""
    if session.demands == "evidence":
        return _EVIDENCE
    need = need_for(session.intent, session.risk)
    counts = {
        "symbol": need.symbols,
        "entry point": need.entry_points,
        "file": need.files,
        "pattern": need.patterns,
    }
    amounts = [counted(count, name) for name, count in counts.items() if count]
    slots = evidence_slots(session, need)
    evidence = f" and evidence for {' and '.join(slots)}" if slots else ""
    return f"Required for understanding: {', '.join(amounts)}{evidence}."


def slot_states(session: Session) -> dict[str, dict[str, Any]]:
    """Return each slot's value and source, and whether it needs and has evidence."""
    filled = {slot.name: slot for slot in session.frame.slots} if session.frame else {}
    counts = session.demands == "counts"
    required = evidence_slots(session, need_for(session.intent, session.risk)) if counts else []
    return {
        name: {
            "value": filled[name].value if name in filled else None,
            "source": (filled[name].source if name in filled else SlotSource.UNRESOLVED).value,
            "required": name in required,
            "evidenced": has_evidence(session, name),
        }
        for name in SLOTS
    }
