"""What a session does next, said so that whoever follows it to the letter gets through."""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.phases import LOOK, NEXT_STEP, READ_ONLY_STEP, Phase, allowed_tools
from code_intel.session.state import MOST_OPENED, Session

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "required_tools": "Use the tools that required_tools names (find_definitions, find_references; "
        "search_text where no symbols can be read): a call counts once it succeeds and finds something",
        "symbols_identified": "Name more symbols that find_definitions finds",
        "unverified_symbols": "Find each of unverified_symbols with find_definitions and spell it as "
        "the code does, or leave it out",
        "made_since": "Name what the project had when the session began instead of made_since: what was "
        "written since then is not looked at, it is made",
        "entry_points": "Name in entry_points the functions the flow starts from, each one of "
        "symbols_identified",
        "files_analyzed": f"Look at more files with {LOOK} and list them in files_analyzed",
        "files_seen": f"Look at the files of files_seen with {LOOK}: a file counts once such a call "
        f"has found something in it, and in at most {MOST_OPENED} files; a hit of the forest is no look",
        "existing_patterns": "Say in existing_patterns which conventions of the code you keep",
        "slot_evidence": "Evidence a slot by search_text with its words, or by "
        "confirm_symbol_relevance: a confirmed symbol evidences target_feature, and each slot whose "
        "words code_evidence uses",
        "nl_symbol_mapping": "Call confirm_symbol_relevance with the symbols that carry out the "
        "target feature, above all when its words are in another language than the code",
    }
)
"""How each kind of missing requirement is supplied, the tools first that all others need."""

_UNFRAMED = "Call set_query_frame, so that the session knows its target feature. "
VERIFY = "These are hypotheses: corroborate them with find_definitions or find_references."
_CORROBORATE = (
    "These are hypotheses: corroborate them with find_definitions and find_references. Say with "
    "confirm_symbol_relevance which one carries out the target feature, then call submit_understanding "
    "with what they have found."
)
_NOTHING_FOUND = (
    "No symbol was found: ask search_text and find_definitions in words of the code, then call "
    "submit_understanding with what is there."
)
_PLANNED = (
    "Create the files announced in evidence, then look at them with find_definitions, call "
    "add_explored_files and confirm_symbol_relevance, and record_outcome when done."
)


_UNFRAMED_HIT = (
    "Nobody has confirmed what the map says, and the session knows no target feature: call start_session, "
    "then set_query_frame before search_smart."
)
_UNAGREED = (
    "Nobody has confirmed what the map says: look its symbol up with find_definitions and find_references, "
    "say with confirm_symbol_relevance that it carries out the target feature, then call "
    "submit_verification."
)
FOUND = (
    "Calls have found what understanding needs: unless done, say with confirm_symbol_relevance what "
    "carries out the target feature, then call submit_understanding with what was found."
)
SEARCH_FIRST = (
    "No symbols can be read here: call search_text with words of the query, which counts though it finds "
    "nothing, then submit again."
)
UNREADABLE = (
    "The index reads no symbols here: call submit_semantic with what you take to be so, and prove it "
    "in VERIFICATION with search_text."
)
GREENFIELD = (
    "Where nothing exists yet, a search_text that finds nothing is evidence; name in the evidence's "
    "files what you are going to create."
)


def next_step(session: Session) -> str:
    """Return what the session does next, in a sentence or two."""
    if session.phase is Phase.READY and not session.intent.writes:
        return READ_ONLY_STEP
    if session.phase is Phase.READY and session.planned_files and not session.explored_files:
        return _PLANNED
    if session.phase is Phase.VERIFICATION and session.greenfield:
        return f"{NEXT_STEP[session.phase]} {GREENFIELD}"
    if session.phase is Phase.VERIFICATION and session.intent.writes and _is_unagreed(session):
        return _UNAGREED if _framed(session) else _UNFRAMED_HIT
    start = _UNFRAMED if session.intent.writes and not _framed(session) else ""
    return start + NEXT_STEP[session.phase]


def _is_unagreed(session: Session) -> bool:
    """Whether what is verified is the map's word, and nobody's beside."""
    return any(item.symbol and not item.agreed for item in session.hypotheses)


def after_search(session: Session | None, *, found: bool) -> str:
    """Return what is done with the hits of a search; `found` says whether one of them is a symbol."""
    exploring = session is not None and session.phase is Phase.EXPLORATION
    if not exploring:
        return VERIFY
    return _CORROBORATE if found else _NOTHING_FOUND


def hint_for(missing: Iterable[str]) -> str:
    """Return how to supply what a submission lacks; empty when it lacks nothing."""
    keys = {item.split(":", 1)[0] for item in missing}
    return " ".join(f"{remedy}." for key, remedy in REMEDIES.items() if key in keys)


def leading_on(hint: str, session: Session, offered: Container[str] | None = None) -> str:
    """Return `hint`, and the next step as well when it names no tool that may be called now."""
    allowed = allowed_tools(session, offered)
    if any(re.search(rf"\b{tool}\b", hint) for tool in allowed):
        return hint
    return f"{hint} {next_step(session)}".strip()


class Option(NamedTuple):
    """A way on: a call, what it is for, and in which sessions it has a use."""

    tool: str
    purpose: str
    helps: Callable[[Session], bool]


def _framed(session: Session) -> bool:
    return bool(session.frame and session.frame.value("target_feature"))


OPTIONS: tuple[Option, ...] = (
    Option(
        "set_query_frame",
        "say what the query is about: without it the risk of a session that writes is HIGH",
        lambda session: session.intent.writes and session.frame is None,
    ),
    Option(
        "search_smart",
        "ask the map with the session's own words, then the forest",
        lambda session: session.phase in {Phase.EXPLORATION, Phase.READY},
    ),
    Option(
        "query",
        "have the calls made that answer a question",
        lambda session: session.phase is Phase.EXPLORATION,
    ),
    Option(
        "search_forest",
        "look for hypotheses in the source",
        lambda session: session.phase is Phase.SEMANTIC,
    ),
    Option(
        "find_definitions",
        "find a symbol, and what a hypothesis rests on",
        lambda session: session.phase in {Phase.EXPLORATION, Phase.VERIFICATION},
    ),
    Option(
        "find_references",
        "find who uses it",
        lambda session: session.phase in {Phase.EXPLORATION, Phase.VERIFICATION},
    ),
    Option(
        "confirm_symbol_relevance",
        "say which symbol carries out the target feature",
        lambda session: _framed(session) and not any(s.confirmed for s in session.symbols),
    ),
    Option("submit_understanding", "say what was understood", lambda _: True),
    Option("submit_semantic", "say what is supposed, to verify it next", lambda _: True),
    Option("submit_verification", "settle every hypothesis with evidence", lambda _: True),
    Option(
        "check_write_target",
        "ask before each edit",
        lambda session: session.phase is Phase.READY and session.intent.writes,
    ),
    Option(
        "add_explored_files",
        "open a file this session has looked at",
        lambda session: session.phase is Phase.READY and session.intent.writes,
    ),
    Option(
        "revert_to_exploration",
        "go back, when something was misunderstood or more is needed",
        lambda session: session.intent.writes or session.phase is not Phase.READY,
    ),
    Option(
        "record_outcome",
        "say how it ended",
        lambda session: session.phase is Phase.READY,
    ),
)
"""Ways on, in the order in which they are best tried; those a phase forbids are left out."""


def recovery_options(session: Session, offered: Container[str] | None = None) -> tuple[Option, ...]:
    """Return what may be done from here; each is a call that is allowed now."""
    allowed = allowed_tools(session, offered)
    return tuple(option for option in OPTIONS if option.tool in allowed and option.helps(session))
