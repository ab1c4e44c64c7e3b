"""Implement the tool `get_session_status`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from code_intel.session import phases
from code_intel.session.guidance import next_step, recovery_options, risk_reason, risk_text
from code_intel.session.progress import RequirementProgress, has_found_all, progress, slot_states
from code_intel.session.short_circuit import explain
from code_intel.session.state import Session
from code_intel.session.understanding.counts_guidance import FOUND
from code_intel.tools.context.degraded import status_data, status_text
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, bounded, tokens
from code_intel.tools.wire.next_calls import verification_call

MAX_STATUS_TEXT_CHARS = 100
MAX_LIST_ITEMS = 12
"""Maximum items of each list; lists that may be longer come with a count."""


async def get_session_status(context: GatewayContext, session_id: SessionId = None) -> Answer:
    """Show the state of a session: phase, allowed tools, risk, explored files, next step.

    `requirements`: what submit_understanding needs, and how much of it has been found;
    `slot_evidence`: the evidence for each slot of the query frame; `map_results` and
    `forest_results`: what the last searches returned; `recovery_options`: calls that are possible
    now; `upstreams`: the state of the map and the forest.
    """
    async with context.session(session_id, "get_session_status") as locked:
        session = locked.session
    offered = context.offered or None
    states = (
        [status_data(status) for status in context.upstream.states()] if context.upstream else []
    )
    guards = explain(_failed(session))
    rows = progress(session)
    fixed = {
        "session_id": locked.handle,
        "intent": session.intent.value,
        "current_phase": session.phase.value,
        "allowed_tools": list(phases.allowed_tools(session, offered)),
        "risk_level": session.risk.value,
        **risk_reason(session),
        "ready_by": session.ready_by,
        "tool_calls_count": len(session.calls),
        "requirements": [row.data for row in rows],
        "recovery_options": [
            {"tool": option.tool, "purpose": option.purpose}
            for option in recovery_options(session, offered)
        ],
        "next_step": _next(session, rows),
        **verification_call(session),
    }
    record = _short(_record(session)) | {"guards": guards, "upstreams": states}
    remaining = MAX_SEARCH_TOKENS - tokens(json.dumps(fixed, ensure_ascii=False))
    return _answer(session, rows, fixed | bounded(record, remaining), states, guards)


def _next(session: Session, rows: Sequence[RequirementProgress]) -> str:
    """Return the next step; after everything was found, it is not another search."""
    by_counts = session.demands == "counts" and session.frame is not None
    exploring = by_counts and session.phase is phases.Phase.EXPLORATION
    return FOUND if exploring and has_found_all(rows) else next_step(session)


def _failed(session: Session) -> list[str]:
    """Return the guards that prevented the map's last hit from leading to READY."""
    failed = session.short_circuit.get("failed")
    return [str(name) for name in failed] if isinstance(failed, list) else []


def _record(session: Session) -> dict[str, Any]:
    """Return what has happened in a session, with long lists cut."""
    return {
        "query": session.query,
        "exploration": {
            "explored_files": session.explored_files[:MAX_LIST_ITEMS],
            "explored_files_count": len(session.explored_files),
            "mapped_symbols": [
                {
                    "name": s.name,
                    "source": s.source.value,
                    "confidence": s.confidence,
                    "confirmed": s.confirmed,
                }
                for s in session.symbols[-MAX_LIST_ITEMS:]
            ],
            "mapped_symbols_count": len(session.symbols),
            "missing_requirements": session.missing[:MAX_LIST_ITEMS],
        },
        "semantic": {"hypotheses": [h.text for h in session.hypotheses[:MAX_LIST_ITEMS]]},
        "verification": {"pending": len(session.hypotheses)},
        "slot_evidence": slot_states(session),
        "map_results": session.map_results,
        "forest_results": session.forest_results,
        "short_circuit": session.short_circuit,
        "tool_calls": Counter(call.tool for call in session.calls),
        "phase_history": [
            {
                "at": change.at,
                "from": change.source,
                "to": change.target.value,
                "event": change.event.value,
            }
            for change in session.phase_history[-MAX_LIST_ITEMS:]
        ],
        "warnings": session.warnings,
    }


def _short(node: Any) -> Any:
    """Return a JSON value with all texts cut to `MAX_STATUS_TEXT_CHARS`."""
    if isinstance(node, Mapping):
        return {key: _short(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_short(item) for item in node]
    if isinstance(node, str) and len(node) > MAX_STATUS_TEXT_CHARS:
        return f"{node[:MAX_STATUS_TEXT_CHARS]}…"
    return node


def _answer(
    session: Session,
    rows: Sequence[RequirementProgress],
    data: dict[str, Any],
    states: list[dict[str, Any]],
    guards: list[dict[str, str]],
) -> Answer:
    reasons = "; ".join(f"{item['reason']}: {item['next_step']}" for item in guards)
    lines = [f"{session.name}: {session.phase}. {risk_text(session)} {data['next_step']}"]
    if session.phase is phases.Phase.EXPLORATION and session.intent.writes:
        found = (f"{row.key} {row.have}/{row.need}" for row in rows if row.have is not None)
        lines.append(f"Found so far: {', '.join(found)}.")
    lines += [f"The map's hit did not lead to READY: {reasons}."] if reasons else []
    lines += [f"{state['name']}: {status_text(state)}" for state in states if "error" in state]
    if data.get("truncated"):
        lines.append(
            f"This is shortened. `code-intel session show {session.name}` shows everything."
        )
    return Answer({"truncated": False} | data, "\n".join(lines))
