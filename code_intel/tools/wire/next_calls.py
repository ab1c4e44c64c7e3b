"""Fill in the next call of a session, so that an agent need not compose it."""

import json
from collections.abc import Sequence
from typing import Any

from code_intel.session.phases import Phase
from code_intel.session.state import Session

QUOTE = "…"
"""Stands for the quote that the agent fills in."""


def verification_call(session: Session | None) -> dict[str, Any]:
    """Return the field `next_call` of an answer in VERIFICATION; {} in other phases.

    Each hypothesis stands in it word for word; only the quotes are left to fill in.
    """
    if session is None or session.phase is not Phase.VERIFICATION:
        return {}
    answers = [
        {"hypothesis": item.text, "status": "confirmed", "evidence": {"quote": QUOTE}}
        for item in session.hypotheses
    ]
    return {"next_call": {"tool": "submit_verification", "arguments": {"verified": answers}}}


def submission_call(session: Session | None, symbol: str, file: str) -> dict[str, Any]:
    """Return the field `next_call` that rests an understanding on one symbol, in EXPLORATION."""
    if session is None or session.phase is not Phase.EXPLORATION:
        return {}
    if session.demands == "counts":
        arguments: dict[str, Any] = {
            "symbols_identified": [symbol],
            "files_analyzed": [file],
        }
    else:
        claim = {"symbol": symbol, "file": file, "explanation": QUOTE, "quote": QUOTE}
        arguments = {"symbols_identified": [claim]}
    return {"next_call": {"tool": "submit_understanding", "arguments": arguments}}


def reading_call(places: Sequence[str], **arguments: str) -> dict[str, Any]:
    """Return the field `next_call` that reads places; {} without any."""
    if not places:
        return {}
    return {"next_call": {"tool": "snippets_get", "arguments": {"places": [*places], **arguments}}}


def call_text(fields: dict[str, Any], name: str = "next_call") -> str:
    """Return `next_call` as a line of text that begins with `name`; empty without one."""
    if "next_call" not in fields:
        return ""
    call = fields["next_call"]
    return f"{name}: {call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"
