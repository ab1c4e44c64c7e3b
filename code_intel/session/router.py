"""Plan the tool calls that answer a question, from the slots of the query frame (seed 004).

The server makes these calls by itself; `frame.GUIDANCE` is separate advice for the agent. The
question's terms are searched for the target feature and for each empty slot. A filled slot is
searched with its own words, and only such a call counts for that slot (docs/decisions/0031).
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.frame import missing_slots
from code_intel.session.phases import Intent

SLOT_TOOLS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "target_feature": ("find_definitions", "search_text", "get_symbols"),
        "trigger_condition": ("find_references", "search_text"),
        "observed_issue": ("search_text", "analyze_structure"),
        "desired_action": (),
    }
)
"""Tools that look for evidence for a slot."""

EXPLORE_TOOLS = ("analyze_structure",)
"""Additional tools for a read-only session."""

PURPOSE: Mapping[str, str] = MappingProxyType(
    {
        "find_definitions": "where it is defined",
        "find_references": "where it is used",
        "search_text": "where files mention it",
        "get_symbols": "what is defined there",
        "analyze_structure": "how the file is structured",
    }
)

MAX_PLAN_CALLS = 12
MAX_NAMES = 3
"""Maximum number of a question's symbols that are looked up."""
MAX_WORDS = 3
"""Maximum number of a question's words that are looked up, the most specific ones first."""

Params = dict[str, object]


class SearchTerms(NamedTuple):
    """The search terms of a slot or of the question.

    Attributes:
        names: The symbols in it, as spelled.
        words: Its other words, the most specific first, each in the spellings that code may use.
        slot: The slot that the words come from; empty for the question.
    """

    names: tuple[str, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    slot: str = ""


class SearchScope(NamedTuple):
    """Where to search: a folder or, if `is_file`, a file; and the file that the question names."""

    path: str = "."
    file_path: str = ""
    is_file: bool = False


class PlannedCall(NamedTuple):
    """A call to make; `priority` is the number of calls from this one to the end of the plan."""

    tool: str
    purpose: str
    priority: int
    params: Params
    slot: str = ""


class SkippedCall(NamedTuple):
    """A call that is not made, and the reason; `slot` is as in `SearchTerms`."""

    tool: str
    slot: str
    why: str


class CallPlan(NamedTuple):
    """The calls to make in order, the calls left out, and an explanation."""

    steps: tuple[PlannedCall, ...]
    skipped: tuple[SkippedCall, ...]
    reasoning: str


class _ToolCalls(NamedTuple):
    """How a tool is called for search terms, and why it is skipped if there is nothing to call."""

    calls: Callable[[SearchTerms, SearchScope], Sequence[Params]]
    why: str


def plan(
    question: SearchTerms,
    slots: Sequence[SearchTerms],
    intent: str,
    *,
    missing: Container[str],
    scope: SearchScope = SearchScope(),  # noqa: B008 - a NamedTuple never changes
    available: Container[str] = tuple(PURPOSE),
) -> CallPlan:
    """Return the calls that answer a question.

    Args:
        question: The terms of the question.
        slots: The terms of the filled slots that have no evidence yet.
        intent: An `Intent`; an unknown one plans as EXPLORE.
        missing: The slots that the frame does not fill; all slots if there is no frame.
        scope: Where to search.
        available: The tools that can be called; others are skipped.
    """
    steps: dict[tuple[str, str], tuple[str, Params, str]] = {}
    skipped: list[SkippedCall] = []
    kind = intent_of(intent)
    for terms, tool in _terms_and_tools(question, slots, kind, missing):
        calls = CALLS_BY_TOOL[tool].calls(terms, scope) if tool in available else ()
        if not calls:
            why = CALLS_BY_TOOL[tool].why if tool in available else "it is not available"
            skipped.append(SkippedCall(tool, terms.slot, why))
        for params in calls:
            if len(steps) < MAX_PLAN_CALLS:
                steps.setdefault((tool, repr(params)), (tool, params, terms.slot))
            elif (tool, repr(params)) not in steps:
                skipped.append(
                    SkippedCall(tool, terms.slot, f"a plan has at most {MAX_PLAN_CALLS} calls")
                )
    planned = tuple(
        PlannedCall(tool, PURPOSE[tool], len(steps) - number, params, slot)
        for number, (tool, params, slot) in enumerate(steps.values())
    )
    return CallPlan(planned, tuple(dict.fromkeys(skipped)), _reasoning(question, slots, kind))


def intent_of(name: str) -> Intent:
    """Return the intent with this name; EXPLORE if none exists."""
    return Intent(name) if name in set(Intent) else Intent.EXPLORE


def _terms_and_tools(
    question: SearchTerms, slots: Sequence[SearchTerms], intent: Intent, missing: Container[str]
) -> Iterator[tuple[SearchTerms, str]]:
    """Yield terms and tools: first for the question, then for the slots in the intent's order."""
    order = missing_slots(None, intent)
    for slot in order:
        if slot == "target_feature" or slot in missing:
            yield from ((question, tool) for tool in SLOT_TOOLS[slot])
    if not intent.writes:
        yield from ((question, tool) for tool in EXPLORE_TOOLS)
    for terms in sorted(slots, key=lambda terms: order.index(terms.slot)):
        yield from ((terms, tool) for tool in SLOT_TOOLS[terms.slot])


def _reasoning(question: SearchTerms, slots: Sequence[SearchTerms], intent: Intent) -> str:
    """Return an explanation of the plan."""
    words = [spellings[0] for spellings in question.words[:MAX_WORDS]]
    symbol_text = f"symbols {', '.join(question.names[:MAX_NAMES])}" if question.names else ""
    word_text = f"words {', '.join(words)}" if words else ""
    text = " and ".join(filter(None, (symbol_text, word_text))) or "no symbol or word"
    names = ", ".join(terms.slot for terms in slots)
    return f"{intent}: searches for {text}" + (
        f", then for the words of {names}." if names else "."
    )


def _definition_calls(terms: SearchTerms, scope: SearchScope) -> Sequence[Params]:
    """Look up the names or, if none exist, definitions whose name contains a word."""
    if terms.names:
        return [{"symbol": name, "path": scope.path} for name in terms.names[:MAX_NAMES]]
    words = [next((w for w in spellings if " " not in w), "") for spellings in terms.words]
    return [{"symbol": word, "path": scope.path} for word in words[:MAX_WORDS] if word]


def _reference_calls(terms: SearchTerms, scope: SearchScope) -> Sequence[Params]:
    return [{"symbol": name, "path": scope.path} for name in terms.names[:MAX_NAMES]]


def _text_calls(terms: SearchTerms, scope: SearchScope) -> Sequence[Params]:
    """Search for one word per call, in all its spellings, to know which words have results.

    If there are no words, search for the names: the name of an error occurs in texts, too.
    """
    words = terms.words or tuple((name,) for name in terms.names)
    return [
        {
            "pattern": "|".join(_word_pattern(word) for word in spellings),
            "path": scope.path,
            "case_sensitive": False,
        }
        for spellings in words[:MAX_WORDS]
    ]


def _symbol_list_calls(terms: SearchTerms, scope: SearchScope) -> Sequence[Params]:
    del terms
    path = scope.file_path or scope.path
    return [] if path in {"", "."} else [{"path": path}]


def _structure_calls(terms: SearchTerms, scope: SearchScope) -> Sequence[Params]:
    del terms
    file = scope.file_path or (scope.path if scope.is_file else "")
    return [{"file_path": file}] if file else []


def _word_pattern(word: str) -> str:
    """Return a regular expression for a word; `error page` matches `error_page` and `errorPage`."""
    return "[ _-]?".join(map(re.escape, word.split()))


CALLS_BY_TOOL: Mapping[str, _ToolCalls] = MappingProxyType(
    {
        "find_definitions": _ToolCalls(_definition_calls, "there is no word or symbol to look up"),
        "find_references": _ToolCalls(_reference_calls, "no symbol is named"),
        "search_text": _ToolCalls(_text_calls, "there is no word to search for"),
        "get_symbols": _ToolCalls(_symbol_list_calls, "no file or folder is given"),
        "analyze_structure": _ToolCalls(_structure_calls, "no file is given"),
    }
)
"""How each tool is called."""
