"""Tell a session what to do next. An agent that follows each text literally reaches READY."""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.session.phases import (
    LOOKUP_TOOLS,
    NEXT_STEP,
    READ_ONLY_STEP,
    Phase,
    after_outcome,
    allowed_tools,
)
from code_intel.session.state import MAX_OPENED_FILES, Session

REQUIREMENT_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "required_tools": "Use the tools listed in required_tools (find_definitions, "
        "find_references; search_text if no symbols can be read); a call counts if it succeeds and "
        "finds something",
        "symbols_identified": "Name more symbols that find_definitions finds",
        "unverified_symbols": "Look up each of unverified_symbols with find_definitions and spell "
        "it as in the code, or leave it out",
        "made_since": "Replace what made_since lists: it was added during this session, so it "
        "is no evidence about the existing code",
        "entry_points": "List in entry_points the functions where the flow starts; each must be "
        "one of symbols_identified",
        "files_analyzed": f"Look at more files with {LOOKUP_TOOLS} and list them in files_analyzed",
        "files_seen": f"Look at the files in files_seen with {LOOKUP_TOOLS}; a file counts if such "
        f"a call finds something in it and in at most {MAX_OPENED_FILES} files altogether; forest "
        "hits do not count",
        "existing_patterns": "List in existing_patterns the conventions of the code that you keep",
        "slot_evidence": "Give evidence for a slot by calling search_text with its words, or "
        "confirm_symbol_relevance: a confirmed symbol counts for target_feature and for each slot "
        "whose words are in code_evidence",
        "nl_symbol_mapping": "Call confirm_symbol_relevance with the symbols that implement the "
        "target feature; this is needed especially if the feature's name is not in the language of "
        "the code",
    }
)
"""How to supply each kind of missing requirement; required tools come first."""

_FRAME_FIRST = "Call set_query_frame to name the target feature. "
VERIFY = "These hits are hypotheses: check them with find_definitions or find_references."
_CHECK_HITS = (
    "These hits are hypotheses: check them with find_definitions and find_references, call "
    "confirm_symbol_relevance for the one that implements the target feature, then call "
    "submit_understanding."
)
_SEARCH_AGAIN = (
    "No symbol was found: call search_text and find_definitions with words that the code uses, "
    "then call submit_understanding."
)
_CREATE_PLANNED_FILES = (
    "Create the files named in the evidence, look at them with find_definitions, call "
    "add_explored_files and confirm_symbol_relevance, and call record_outcome when finished."
)


_CONFIRM_WITHOUT_FEATURE = (
    "The agreement is not confirmed, and the session has no target feature: call start_session, "
    "then set_query_frame before search_smart."
)
_CONFIRM_AGREEMENT = (
    "The agreement is not confirmed: look up its symbol with find_definitions and "
    "find_references, call confirm_symbol_relevance if it implements the target feature, then "
    "call submit_verification."
)
FOUND = (
    "Your calls have found everything that submit_understanding requires. If you have not done "
    "so, call confirm_symbol_relevance for the symbol that implements the target feature. Then "
    "call submit_understanding."
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


_BY_EVIDENCE: Mapping[Phase, str] = MappingProxyType(
    {
        Phase.EXPLORATION: "Read the code that the change rests on (search_smart, snippets_get), "
        "then call submit_understanding with each symbol, a sentence and a quote of its code.",
        Phase.READY: "Call check_write_target before you edit an explored file. When finished, "
        "call record_outcome.",
    }
)
"""The next step under the demands of evidence, where it differs from `NEXT_STEP`."""


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
    if session.phase is Phase.READY:
        return _ready_step(session)
    if session.demands == "evidence" and session.phase in _BY_EVIDENCE:
        return _BY_EVIDENCE[session.phase]
    if session.phase is Phase.VERIFICATION and session.greenfield:
        return f"{NEXT_STEP[session.phase]} {GREENFIELD}"
    if session.phase is Phase.VERIFICATION and session.intent.writes and _is_unconfirmed(session):
        return _CONFIRM_AGREEMENT if _has_feature(session) else _CONFIRM_WITHOUT_FEATURE
    first = _FRAME_FIRST if session.intent.writes and not _has_feature(session) else ""
    return first + NEXT_STEP[session.phase]


def _ready_step(session: Session) -> str:
    if not session.intent.writes:
        return READ_ONLY_STEP
    if session.demands == "evidence":
        return _BY_EVIDENCE[Phase.READY]
    if session.planned_files and not session.explored_files:
        return _CREATE_PLANNED_FILES
    first = "" if _has_feature(session) else _FRAME_FIRST
    return first + NEXT_STEP[Phase.READY]


def _is_unconfirmed(session: Session) -> bool:
    """Return whether a hypothesis comes from an unconfirmed agreement."""
    return any(item.symbol and not item.agreed for item in session.hypotheses)


def after_search(session: Session | None, *, found: bool) -> str:
    """Return what to do with the hits of a search; `found` is whether one of them is a symbol."""
    if session is None or session.phase is not Phase.EXPLORATION:
        return VERIFY
    return _CHECK_HITS if found else _SEARCH_AGAIN


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
        "name the target feature; without a frame the risk of a writing session is HIGH",
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
