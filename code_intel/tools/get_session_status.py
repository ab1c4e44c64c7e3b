"""Tool `get_session_status`."""

from collections import Counter

from code_intel.session import phases
from code_intel.session.guidance import next_step
from code_intel.session.short_circuit import explained
from code_intel.session.state import Session
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk
from code_intel.tools.halves import status_data, status_text


def _failed(session: Session) -> list[str]:
    """Return the guards that kept the map's last hit from READY."""
    failed = session.short_circuit.get("failed")
    return [str(name) for name in failed] if isinstance(failed, list) else []


async def get_session_status(desk: Desk, session_id: SessionId = None) -> Answer:
    """Say where a session stands: phase, allowed tools, risk, what it has explored, what comes next.

    upstreams says how map and forest are doing: idle until asked, ready, or what is wrong since when.
    """
    async with desk.session(session_id, "get_session_status") as held:
        session = held.session
    step = next_step(session)
    states = [status_data(status) for status in desk.upstream.states()] if desk.upstream else []
    guards = explained(_failed(session))
    data = {
        "session_id": held.handle,
        "intent": session.intent.value,
        "query": session.query,
        "current_phase": session.phase.value,
        "allowed_tools": list(phases.allowed_tools(session, desk.offered or None)),
        "risk_level": session.risk.value,
        "ready_by": session.ready_by,
        "exploration": {
            "explored_files": list(session.explored_files),
            "mapped_symbols": [
                {
                    "name": s.name,
                    "source": s.source.value,
                    "confidence": s.confidence,
                    "confirmed": s.confirmed,
                }
                for s in session.symbols
            ],
            "missing_requirements": list(session.missing),
        },
        "semantic": {"hypotheses": [h.text for h in session.hypotheses]},
        "verification": {"pending": len(session.hypotheses)},
        "short_circuit": dict(session.short_circuit),
        "guards": guards,
        "tool_calls_count": len(session.calls),
        "tool_calls": dict(Counter(call.tool for call in session.calls)),
        "phase_history": [
            {
                "at": change.at,
                "from": change.source,
                "to": change.target.value,
                "event": change.event.value,
            }
            for change in session.phase_history
        ],
        "warnings": list(session.warnings),
        "upstreams": states,
        "next_step": step,
    }
    kept = "; ".join(f"{item['reason']}: {item['next_step']}" for item in guards)
    troubles = [f"\n{state['name']}: {status_text(state)}" for state in states if "error" in state]
    text = f"{session.name}: {session.phase}, risk {session.risk}. {step}"
    guarded = f"\nThe map's hit did not lead to READY: {kept}." if kept else ""
    return Answer(data, text + guarded + "".join(troubles))
