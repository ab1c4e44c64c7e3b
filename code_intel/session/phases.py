"""Define the phases of a session: events, transitions and the tools that each phase allows.

Rule 1: this file alone decides what may happen in which phase.
Rule 2: the phase is never stored; it results from replaying the journal through `advance`.
Rule 3: an event that a phase does not accept is refused; the error lists the accepted ones.

The tables follow seed 004 §1.3, §5.1 and §5.2; docs/decisions/0008 lists the differences.
"""

from collections.abc import Container, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from code_intel.errors import PhaseError, SessionError, UsageError

if TYPE_CHECKING:  # `state` imports this module
    from code_intel.session.state import Session


class Phase(StrEnum):
    """The phase of a session."""

    EXPLORATION = "EXPLORATION"
    SEMANTIC = "SEMANTIC"
    VERIFICATION = "VERIFICATION"
    READY = "READY"


class Intent(StrEnum):
    """The purpose of a session.

    The phases treat DELETE as MODIFY, and EXPLORE as INVESTIGATE.
    """

    IMPLEMENT = "IMPLEMENT"
    MODIFY = "MODIFY"
    DELETE = "DELETE"
    INVESTIGATE = "INVESTIGATE"
    QUESTION = "QUESTION"
    EXPLORE = "EXPLORE"

    @property
    def writes(self) -> bool:
        """Whether a session with this intent may write."""
        return self in {Intent.IMPLEMENT, Intent.MODIFY, Intent.DELETE}


class Event(StrEnum):
    """An event in the journal of a session.

    Attributes:
        STARTED: The session began.
        FRAMED: The query frame was set.
        CALLED: A tool was called.
        CONFIRMED: Symbols were confirmed as relevant.
        MAP_MISSED: The map had no answer.
        MAP_LIKELY: The map had an answer that needs verification.
        MAP_CONFIDENT: The map had an answer that is certain enough to skip exploration.
        UNDERSTOOD: An understanding was submitted and lacked nothing.
        DOUBTED: An understanding was submitted and lacked something.
        SUPPOSED: Hypotheses were submitted.
        VERIFIED: A verification confirmed a hypothesis.
        REFUTED: A verification rejected every hypothesis.
        EXPLORED: Files were added to the explored files.
        PERMITTED: The write gate allowed files.
        RISK_RAISED: A new frame raised the risk.
        REVERTED: The session went back to EXPLORATION by request.
        LEARNED: A pair of a term and a symbol was learned.
        OUTCOME: The outcome was recorded.
    """

    STARTED = "started"
    FRAMED = "framed"
    CALLED = "called"
    CONFIRMED = "confirmed"
    MAP_MISSED = "map_missed"
    MAP_LIKELY = "map_likely"
    MAP_CONFIDENT = "map_confident"
    UNDERSTOOD = "understood"
    DOUBTED = "doubted"
    SUPPOSED = "supposed"
    VERIFIED = "verified"
    REFUTED = "refuted"
    EXPLORED = "explored"
    PERMITTED = "permitted"
    RISK_RAISED = "risk_raised"
    REVERTED = "reverted"
    LEARNED = "learned"
    OUTCOME = "outcome"


START: Mapping[Intent, Phase] = MappingProxyType(
    {intent: Phase.READY if intent is Intent.QUESTION else Phase.EXPLORATION for intent in Intent}
)
"""The first phase, by intent."""

_ALWAYS_ACCEPTED = (Event.FRAMED, Event.CALLED, Event.CONFIRMED, Event.LEARNED, Event.OUTCOME)
"""Events that every phase accepts and that do not change the phase."""


def _row(phase: Phase, moves: Mapping[Event, Phase]) -> Mapping[Event, Phase]:
    return MappingProxyType(dict.fromkeys(_ALWAYS_ACCEPTED, phase) | dict(moves))


TRANSITIONS: Mapping[Phase, Mapping[Event, Phase]] = MappingProxyType(
    {
        Phase.EXPLORATION: _row(
            Phase.EXPLORATION,
            {
                Event.MAP_MISSED: Phase.EXPLORATION,
                Event.MAP_LIKELY: Phase.VERIFICATION,
                Event.MAP_CONFIDENT: Phase.READY,
                Event.UNDERSTOOD: Phase.READY,
                Event.DOUBTED: Phase.SEMANTIC,
            },
        ),
        Phase.SEMANTIC: _row(
            Phase.SEMANTIC,
            {
                Event.SUPPOSED: Phase.VERIFICATION,
                Event.REVERTED: Phase.EXPLORATION,
            },
        ),
        Phase.VERIFICATION: _row(
            Phase.VERIFICATION,
            {
                Event.VERIFIED: Phase.READY,
                Event.REFUTED: Phase.EXPLORATION,
                Event.REVERTED: Phase.EXPLORATION,
            },
        ),
        Phase.READY: _row(
            Phase.READY,
            {
                Event.UNDERSTOOD: Phase.READY,
                Event.EXPLORED: Phase.READY,
                Event.PERMITTED: Phase.READY,
                Event.RISK_RAISED: Phase.EXPLORATION,
                Event.REVERTED: Phase.EXPLORATION,
            },
        ),
    }
)
"""The next phase, by current phase and event. A phase refuses the events that are not listed."""

UNGATED = (
    "start_session",
    "set_query_frame",
    "get_session_status",
    "validate_symbol_relevance",
    "confirm_symbol_relevance",
    "check_write_target",
    "record_outcome",
    "get_outcome_stats",
    "add_agreement",
    "list_agreements",
    "command_list",
    "command_search",
    "command_describe",
    "command_reload",
)
"""Tools that every phase allows, because they do not search the code."""

_FINDERS = (
    "query",
    "search_text",
    "search_files",
    "files_search",
    "context_bundle",
    "find_definitions",
    "find_references",
    "deps_closure",
    "snippets_get",
    "analyze_structure",
    "get_symbols",
    "get_function_at_line",
    "repo_pack",
    "analyze_impact",
    "gistdex_query_plan",
)

ALLOWED: Mapping[Phase, tuple[str, ...]] = MappingProxyType(
    {
        Phase.EXPLORATION: (
            *_FINDERS,
            "search_map",
            "search_smart",
            "search_forest",
            "submit_understanding",
        ),
        Phase.SEMANTIC: (
            "search_forest",
            "search_smart",
            "search_map",
            "semantic_rerank",
            "search_text",
            "find_definitions",
            "find_references",
            "gistdex_query_plan",
            "submit_semantic",
            "revert_to_exploration",
        ),
        Phase.VERIFICATION: (
            "query",
            "search_text",
            "files_search",
            "context_bundle",
            "find_definitions",
            "find_references",
            "deps_closure",
            "snippets_get",
            "analyze_structure",
            "gistdex_query_plan",
            "submit_verification",
            "revert_to_exploration",
        ),
        Phase.READY: (
            *_FINDERS,
            "search_map",
            "search_smart",
            "search_forest",
            "submit_understanding",
            "add_explored_files",
            "command_execute",
            "revert_to_exploration",
        ),
    }
)
"""The tools that each phase allows in addition to `UNGATED`.

A tool that submits an event is listed in the phases that accept the event.
"""

_NEEDS_OPEN_SESSION = frozenset(
    {
        "set_query_frame",
        "validate_symbol_relevance",
        "confirm_symbol_relevance",
        "check_write_target",
    }
)

READING = (*_FINDERS, "search_map", "search_smart", "search_forest", "semantic_rerank")
"""Tools that also answer without a session, and then record nothing."""

AFTER_OUTCOME = (*READING, *(tool for tool in UNGATED if tool not in _NEEDS_OPEN_SESSION))
"""The tools that a session allows in any phase once its outcome has been recorded.

Those in `READING` answer as if there were no session.
"""

_EVENTS_AFTER_OUTCOME = frozenset({Event.OUTCOME, Event.LEARNED})

AFTER_MAP_MISS = frozenset({(Phase.EXPLORATION, "search_forest")})
"""Tools in `ALLOWED` that are allowed only once the map has had no answer in this session.

See seed 004 §4.3.
"""

BY_EVIDENCE = frozenset({(Phase.READY, "submit_understanding")})
"""Tools in `ALLOWED` that are allowed only under the demands of evidence.

In READY, a further submission adds symbols and files.
"""

_MAX_HINT_CHARS = 300
_NEXT_REQUEST = "the next request, word for word"

LOOKUP_TOOLS = "find_definitions, find_references or search_text (path=…)"
"""The tools that show a file's code, as listed in hints."""

NEXT_STEP: Mapping[Phase, str] = MappingProxyType(
    {
        Phase.EXPLORATION: "Read the code that the change rests on (search_smart, snippets_get), "
        "then call submit_understanding with each symbol, a sentence and a quote of its code.",
        Phase.SEMANTIC: "Search with search_smart, then call submit_semantic with your "
        "hypotheses. Otherwise call revert_to_exploration, supply what the understanding lacked, "
        "and submit it again.",
        Phase.VERIFICATION: "Call submit_verification: confirm or reject each hypothesis with a "
        "quote of code that this session has printed. snippets_get, search_text and "
        "find_references print more.",
        Phase.READY: "Call check_write_target before you edit an explored file. When finished, "
        "call record_outcome.",
    }
)
"""The next step in each phase; `guidance.next_step` takes the session into account."""

READ_ONLY_STEP = f"Answer from what you found; search_smart and {LOOKUP_TOOLS} find more."
"""The next step in READY for a read-only intent."""

OPENED_BY: Mapping[Phase, str] = MappingProxyType(
    {
        Phase.EXPLORATION: "List the files in files_analyzed of submit_understanding.",
        Phase.SEMANTIC: "Call submit_semantic, then name the files in the evidence of "
        "submit_verification.",
        Phase.VERIFICATION: "Name the files in the evidence of submit_verification.",
    }
)
"""How a session adds explored files in the phases before READY."""


def advance(phase: Phase, event: Event) -> Phase:
    """Return the phase after `event`.

    Raises:
        PhaseError: The phase does not accept the event; the message lists those that it accepts.

    >>> print(advance(Phase.EXPLORATION, Event.MAP_LIKELY))
    VERIFICATION
    >>> print(advance(Phase.READY, Event.RISK_RAISED))
    EXPLORATION
    """
    row = TRANSITIONS[phase]
    if event in row:
        return row[event]
    accepted = ", ".join(item for item in row if item not in _ALWAYS_ACCEPTED)
    raise PhaseError(
        f"{event} cannot happen in {phase}; only {accepted} can.",
        hint=NEXT_STEP[phase],
        details={"current_phase": phase.value},
    )


def allowed_tools(session: "Session", offered: Container[str] | None = None) -> tuple[str, ...]:
    """Return the tools that the session may call now: gated ones first, then `UNGATED`.

    Args:
        session: The session.
        offered: The tools that the server lists; other tools are omitted. None means all tools.
    """
    gated = (
        tool
        for tool in ALLOWED[session.phase]
        if (session.map_missed or (session.phase, tool) not in AFTER_MAP_MISS)
        and (session.demands == "evidence" or (session.phase, tool) not in BY_EVIDENCE)
    )
    tools = AFTER_OUTCOME if session.ended else (*gated, *UNGATED)
    return tuple(tool for tool in tools if offered is None or tool in offered)


def check_allowed(session: "Session", tool: str, offered: Container[str] | None = None) -> None:
    """Check that the session may call `tool` now; see `allowed_tools` for `offered`.

    Raises:
        PhaseError: The phase forbids it; details contain `current_phase` and `allowed_tools`.
        SessionError: The session's outcome has been recorded (`session_ended`).
        UsageError: There is no such tool.
    """
    if tool in allowed_tools(session):
        return
    if tool not in UNGATED and not any(tool in row for row in ALLOWED.values()):
        raise UsageError(f"There is no tool {tool!r}.", details={"field": "tool"})
    if session.ended:
        raise _ended(session)
    waits = (session.phase, tool) in AFTER_MAP_MISS
    raise PhaseError(
        f"{tool} is not allowed in {session.phase}"
        + (" before the map has failed to answer a query." if waits else "."),
        hint=_instead(session, tool),
        details={
            "current_phase": session.phase.value,
            "allowed_tools": list(allowed_tools(session, offered)),
        },
    )


def check_accepted(session: "Session", event: Event) -> None:
    """Check that the session may still record `event`.

    Raises:
        SessionError: The session's outcome has been recorded (`session_ended`).
    """
    if session.ended and event not in _EVENTS_AFTER_OUTCOME:
        raise _ended(session)


def after_outcome(session: "Session") -> str:
    """Return the next step of a session that has ended: the call of start_session."""
    words = session.query if len(session.query) <= _MAX_HINT_CHARS else _NEXT_REQUEST
    call = f"start_session(intent={_quoted(session.intent)}, query={_quoted(words)})"
    return (
        f"Call {call}, with the words of the next request, if there is one. To correct the "
        "outcome, call record_outcome with the same session_id."
    )


def _quoted(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', "'") + '"'


def _ended(session: "Session") -> SessionError:
    last = session.outcomes[-1]
    return SessionError(
        f"Session {session.name} has ended: its outcome was recorded as {last.outcome}.",
        code="session_ended",
        hint=after_outcome(session),
        details={"outcome": last.outcome},
    )


def _instead(session: "Session", tool: str) -> str:
    """Return what to do instead of calling a forbidden tool."""
    if (session.phase, tool) in AFTER_MAP_MISS:
        return "Call search_smart first."
    if tool == "add_explored_files":
        return OPENED_BY[session.phase]
    if session.phase is Phase.READY and not session.intent.writes:
        return READ_ONLY_STEP
    return NEXT_STEP[session.phase]
