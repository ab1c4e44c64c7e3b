"""Tell a session what to do next. An agent that follows each text literally reaches READY."""

import re
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from code_intel.session.phases import (
    NEXT_STEP,
    READ_ONLY_STEP,
    Phase,
    after_outcome,
    allowed_tools,
)
from code_intel.session.state import Session
from code_intel.session.understanding.counts_guidance import (
    CHECK_HITS,
    CONFIRM_AGREEMENT,
    CONFIRM_WITHOUT_FEATURE,
    COUNTS_STEP,
    CREATE_PLANNED_FILES,
    FRAME_FIRST,
    REQUIREMENT_REMEDIES,
)

VERIFY = "These hits are hypotheses: check them with find_definitions or find_references."
_READ_HITS = (
    "These hits are hypotheses: read the code that the change rests on with snippets_get, then "
    "call submit_understanding with each symbol, a sentence and a quote of its code."
)
_SEARCH_AGAIN = (
    "No symbol was found: call search_text and find_definitions with words that the code uses, "
    "then call submit_understanding."
)
SEARCH_FIRST = (
    "No symbols can be read here: call search_text with words of the request, then submit "
    "again. The call counts even without results."
)
UNREADABLE = (
    "No symbols can be read here: call submit_semantic with your hypotheses, and confirm them "
    "in VERIFICATION with search_text."
)
GREENFIELD = (
    "In a project without code, a search_text without results is evidence; list the files you "
    "will create in the evidence's files."
)


def risk_text(session: Session) -> str:
    """Return the risk with its reason, as a sentence."""
    reason = f": {session.risk_reason}" if session.risk_reason else ""
    return f"Risk {session.risk}{reason}."


def risk_reason(session: Session) -> dict[str, Any]:
    """Return the fields that explain the risk; {} under the demands of counts."""
    if session.demands == "counts":
        return {}
    reason = {"risk_reason": session.risk_reason}
    return {**reason, "risk_provisional": True} if session.is_risk_provisional else reason


def next_step(session: Session) -> str:
    """Return the session's next step."""
    if session.ended:
        return after_outcome(session)
    if session.phase is Phase.READY and not session.intent.writes:
        return READ_ONLY_STEP
    steps = COUNTS_STEP if session.demands == "counts" else NEXT_STEP
    if session.phase is Phase.VERIFICATION and session.greenfield:
        return f"{steps[session.phase]} {GREENFIELD}"
    return steps[session.phase] if session.demands == "evidence" else _counts_step(session)


def _counts_step(session: Session) -> str:
    """Return the next step under the demands of counts."""
    if session.phase is Phase.READY and session.planned_files and not session.explored_files:
        return CREATE_PLANNED_FILES
    if session.phase is Phase.VERIFICATION and session.intent.writes and _is_unconfirmed(session):
        return CONFIRM_AGREEMENT if _has_feature(session) else CONFIRM_WITHOUT_FEATURE
    first = FRAME_FIRST if session.intent.writes and not _has_feature(session) else ""
    return first + COUNTS_STEP[session.phase]


def _is_unconfirmed(session: Session) -> bool:
    """Return whether a hypothesis comes from an unconfirmed agreement."""
    return any(item.symbol and not item.agreed for item in session.hypotheses)


def after_search(session: Session | None, *, found: bool) -> str:
    """Return what to do with the hits of a search; `found` is whether one of them is a symbol."""
    if session is None or session.phase is not Phase.EXPLORATION:
        return VERIFY
    if not found:
        return _SEARCH_AGAIN
    return CHECK_HITS if session.demands == "counts" else _READ_HITS


def hint_for(missing: Iterable[str]) -> str:
    """Return how to supply what a submission lacks; empty if it lacks nothing."""
    keys = {item.split(":", 1)[0] for item in missing}
    return " ".join(f"{remedy}." for key, remedy in REQUIREMENT_REMEDIES.items() if key in keys)


def with_next_step(hint: str, session: Session, offered: Container[str] | None = None) -> str:
    """Return `hint`, followed by the next step if it names no tool that is allowed now."""
    allowed = allowed_tools(session, offered)
    if any(re.search(rf"\b{tool}\b", hint) for tool in allowed):
        return hint
    return f"{hint} {next_step(session)}".strip()


class SuggestedCall(NamedTuple):
    """A possible next call, its purpose, and the sessions it helps."""

    tool: str
    purpose: str
    helps: Callable[[Session], bool]


def _has_feature(session: Session) -> bool:
    return bool(session.frame and session.frame.value("target_feature"))


SUGGESTED_CALLS: tuple[SuggestedCall, ...] = (
    SuggestedCall(
        "set_query_frame",
        "name the target feature, which the map is asked for",
        lambda session: session.intent.writes and session.frame is None,
    ),
    SuggestedCall(
        "search_smart",
        "search the map, then the forest",
        lambda session: session.phase is not Phase.VERIFICATION,
    ),
    SuggestedCall(
        "find_definitions",
        "look up a symbol",
        lambda session: session.phase in {Phase.EXPLORATION, Phase.VERIFICATION},
    ),
    SuggestedCall(
        "find_references",
        "find where a symbol is used",
        lambda session: session.phase in {Phase.EXPLORATION, Phase.VERIFICATION},
    ),
    SuggestedCall(
        "confirm_symbol_relevance",
        "name the symbol that implements the target feature",
        lambda session: _has_feature(session) and not any(s.confirmed for s in session.symbols),
    ),
    SuggestedCall(
        "submit_understanding",
        "submit what was understood; in READY, add a symbol or file",
        lambda session: session.intent.writes or session.phase is not Phase.READY,
    ),
    SuggestedCall("submit_semantic", "submit hypotheses to verify next", lambda _: True),
    SuggestedCall(
        "submit_verification", "confirm or reject each hypothesis with evidence", lambda _: True
    ),
    SuggestedCall(
        "check_write_target",
        "check a file before editing it",
        lambda session: session.phase is Phase.READY and session.intent.writes,
    ),
    SuggestedCall(
        "add_explored_files",
        "allow edits of another file this session has looked at",
        lambda session: session.phase is Phase.READY and session.intent.writes,
    ),
    SuggestedCall(
        "revert_to_exploration",
        "go back if something was misunderstood or is missing",
        lambda session: session.intent.writes or session.phase is not Phase.READY,
    ),
    SuggestedCall(
        "record_outcome",
        "record the result",
        lambda session: session.phase is Phase.READY,
    ),
)
"""Possible calls, the most useful first; `recovery_options` omits those that are forbidden."""


def recovery_options(
    session: Session, offered: Container[str] | None = None
) -> tuple[SuggestedCall, ...]:
    """Return the useful calls that are allowed now."""
    allowed = allowed_tools(session, offered)
    return tuple(
        option for option in SUGGESTED_CALLS if option.tool in allowed and option.helps(session)
    )
