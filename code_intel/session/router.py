"""Which tools answer a question: slots of the query frame to tools, tools to calls (seed 004).

Two tables are kept apart: this one is what the server runs by itself, `frame.GUIDANCE` what the agent is
advised. The question stands for its target feature and for every slot the frame leaves out; a filled slot
is asked with its own words, and only such a call is made for that slot (docs/decisions/0031).
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
"""Tools that answer a slot."""

EXPLORE_TOOLS = ("analyze_structure",)
"""Tools that a session asks beside them when it only reads."""

PURPOSE: Mapping[str, str] = MappingProxyType(
    {
        "find_definitions": "where it is defined",
        "find_references": "who uses it",
        "search_text": "where the files speak of it",
        "get_symbols": "what is defined there",
        "analyze_structure": "how the file is built",
    }
)

MOST_STEPS = 12
MOST_NAMES = 3
"""Symbols of one question that are looked up."""
MOST_WORDS = 3
"""Words of one question that are looked up, the most telling ones."""

Params = dict[str, object]


class Asked(NamedTuple):
    """What a slot, or the question itself, asks for.

    Attributes:
        names: Symbols it names, as they are spelled.
        words: What it speaks of otherwise, the most telling first; each as the spellings that code may use.
        slot: The slot whose own words these are; empty for the question.
    """

    names: tuple[str, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    slot: str = ""


class Place(NamedTuple):
    """Where to look: a folder, or a file if `is_file`, and the one file the question is about, if any."""

    path: str = "."
    file_path: str = ""
    is_file: bool = False


class Planned(NamedTuple):
    """One call to make; `priority` is the number of calls from here to the end of the plan."""

    tool: str
    purpose: str
    priority: int
    params: Params
    slot: str = ""


class Skipped(NamedTuple):
    """A call that says nothing, and why; `slot` as in `Asked`."""

    tool: str
    slot: str
    why: str


class Plan(NamedTuple):
    """Calls in the order in which they are made, what was left out, and how the plan came about."""

    steps: tuple[Planned, ...]
    skipped: tuple[Skipped, ...]
    reasoning: str


class _Row(NamedTuple):
    """How a tool is called for what is asked; `why` it is not when there is nothing to call it with."""

    calls: Callable[[Asked, Place], Sequence[Params]]
    why: str


def plan(
    question: Asked,
    slots: Sequence[Asked],
    intent: str,
    *,
    missing: Container[str],
    place: Place = Place(),  # noqa: B008 - a NamedTuple never changes
    available: Container[str] = tuple(PURPOSE),
) -> Plan:
    """Return the calls that answer a question.

    Args:
        question: What is asked.
        slots: The filled slots that are still without evidence.
        intent: An `Intent`; an unknown one plans as EXPLORE.
        missing: The slots that the frame leaves out; all of them where there is no frame.
        place: Where to look.
        available: Tools that can be run; the others are skipped.
    """
    steps: dict[tuple[str, str], tuple[str, Params, str]] = {}
    skipped: list[Skipped] = []
    meant = intent_of(intent)
    for asked, tool in _asked(question, slots, meant, missing):
        calls = ROWS[tool].calls(asked, place) if tool in available else ()
        if not calls:
            why = ROWS[tool].why if tool in available else "it is not available"
            skipped.append(Skipped(tool, asked.slot, why))
        for params in calls:
            if len(steps) < MOST_STEPS:
                steps.setdefault((tool, repr(params)), (tool, params, asked.slot))
            elif (tool, repr(params)) not in steps:
                skipped.append(Skipped(tool, asked.slot, f"a plan has at most {MOST_STEPS} calls"))
    planned = tuple(
        Planned(tool, PURPOSE[tool], len(steps) - place, params, slot)
        for place, (tool, params, slot) in enumerate(steps.values())
    )
    return Plan(planned, tuple(dict.fromkeys(skipped)), _reasoning(question, slots, meant))


def intent_of(name: str) -> Intent:
    """Return the intent of this name, EXPLORE for one that nobody knows."""
    return Intent(name) if name in set(Intent) else Intent.EXPLORE


def _asked(
    question: Asked, slots: Sequence[Asked], intent: Intent, missing: Container[str]
) -> Iterator[tuple[Asked, str]]:
    """Yield who asks which tool: the question first, then the slots in the order of the intent."""
    order = missing_slots(None, intent)
    for slot in order:
        if slot == "target_feature" or slot in missing:
            yield from ((question, tool) for tool in SLOT_TOOLS[slot])
    if not intent.writes:
        yield from ((question, tool) for tool in EXPLORE_TOOLS)
    for asked in sorted(slots, key=lambda asked: order.index(asked.slot)):
        yield from ((asked, tool) for tool in SLOT_TOOLS[asked.slot])


def _reasoning(question: Asked, slots: Sequence[Asked], intent: Intent) -> str:
    """Return how the plan came about, in words of ours and what was asked for."""
    words = [spellings[0] for spellings in question.words[:MOST_WORDS]]
    named = f"symbols {', '.join(question.names[:MOST_NAMES])}" if question.names else ""
    spoken = f"words {', '.join(words)}" if words else ""
    asks = " and ".join(filter(None, (named, spoken))) or "nothing that code could be called"
    own = ", ".join(asked.slot for asked in slots)
    return f"{intent}: asks for {asks}" + (f"; then for the words of {own}." if own else ".")


def _by_symbol(asked: Asked, place: Place) -> Sequence[Params]:
    """Ask for names; where there are none, for definitions whose name contains a word."""
    if asked.names:
        return [{"symbol": name, "path": place.path} for name in asked.names[:MOST_NAMES]]
    words = [next((w for w in spellings if " " not in w), "") for spellings in asked.words]
    return [{"symbol": word, "path": place.path} for word in words[:MOST_WORDS] if word]


def _by_name(asked: Asked, place: Place) -> Sequence[Params]:
    return [{"symbol": name, "path": place.path} for name in asked.names[:MOST_NAMES]]


def _by_text(asked: Asked, place: Place) -> Sequence[Params]:
    """Search a word a call, in all its spellings: what was found is then known for each word.

    Where there is no word, names are searched: an error's name stands in texts, too.
    """
    words = asked.words or tuple((name,) for name in asked.names)
    return [
        {
            "pattern": "|".join(_pattern(word) for word in spellings),
            "path": place.path,
            "case_sensitive": False,
        }
        for spellings in words[:MOST_WORDS]
    ]


def _by_place(asked: Asked, place: Place) -> Sequence[Params]:
    del asked
    where = place.file_path or place.path
    return [] if where in {"", "."} else [{"path": where}]


def _by_file(asked: Asked, place: Place) -> Sequence[Params]:
    del asked
    file = place.file_path or (place.path if place.is_file else "")
    return [{"file_path": file}] if file else []


def _pattern(word: str) -> str:
    """Return a word as a regular expression: `error page` is also `error_page` and `errorPage`."""
    return "[ _-]?".join(map(re.escape, word.split()))


ROWS: Mapping[str, _Row] = MappingProxyType(
    {
        "find_definitions": _Row(_by_symbol, "nothing that a symbol could be called is asked for"),
        "find_references": _Row(_by_name, "no symbol is named"),
        "search_text": _Row(_by_text, "no word is left to search for"),
        "get_symbols": _Row(_by_place, "neither a file nor a folder is given"),
        "analyze_structure": _Row(_by_file, "no file is given"),
    }
)
"""How each tool is called."""
