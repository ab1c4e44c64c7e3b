"""Validate the query frame: four slots whose values the user's own words must cover (seed 004 §4).

A slot is FACT if its value is part of its quote, and HYPOTHESIS if it rephrases the quote with the
same content words. Any other value is refused. Slots may be omitted. One bad slot refuses them all.
"""

import unicodedata
from collections.abc import Container, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import SessionError
from code_intel.foundation.text import code_point, counted, hidden_character
from code_intel.session.phases import Intent
from code_intel.session.wording import (
    covers,
    fold,
    has_content,
    is_cjk,
    occurs,
    says_the_same,
)

SLOTS = ("target_feature", "trigger_condition", "observed_issue", "desired_action")

_MAX_TEXT_CHARS = 200
_MIN_QUOTE_CHARS = {True: 2, False: 3}
"""Minimum length of a quote, by whether it has CJK characters."""
_WRITE_ORDER = ("target_feature", "observed_issue", "trigger_condition", "desired_action")
_READ_ORDER = ("target_feature", "trigger_condition", "observed_issue", "desired_action")

GUIDANCE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "target_feature": ("search_smart", "find_definitions"),
        "observed_issue": ("search_text", "search_smart"),
        "trigger_condition": ("search_text", "find_definitions"),
        "desired_action": ("find_references", "snippets_get"),
    }
)
"""Tools that help to fill a missing slot, as advice for the agent.

`router.SLOT_TOOLS` lists the tools that the server calls by itself.
"""


class SlotSource(StrEnum):
    """How far a slot's value can be trusted."""

    FACT = "FACT"
    HYPOTHESIS = "HYPOTHESIS"
    UNRESOLVED = "UNRESOLVED"


class Slot(NamedTuple):
    """A filled slot; `quote` is copied from the user's request, and `value` says what it means."""

    name: str
    value: str
    quote: str
    source: SlotSource = SlotSource.FACT


class Frame(NamedTuple):
    """The filled slots, in the order of `SLOTS`."""

    raw_query: str
    slots: tuple[Slot, ...] = ()

    def slot(self, name: str) -> Slot | None:
        """Return a filled slot, or None."""
        return next((slot for slot in self.slots if slot.name == name), None)

    def value(self, name: str) -> str:
        """Return a slot's value, or the empty string."""
        slot = self.slot(name)
        return slot.value if slot else ""

    @property
    def slot_sources(self) -> dict[str, str]:
        """The source of each slot by name; UNRESOLVED for a missing slot."""
        sources = {slot.name: slot.source.value for slot in self.slots}
        return {name: sources.get(name, SlotSource.UNRESOLVED.value) for name in SLOTS}


def validate_frame(
    raw_query: str, slots: Mapping[str, Mapping[str, Any] | None], old: Frame | None = None
) -> Frame:
    """Check every slot against the query.

    Args:
        raw_query: The user's request, as given to start_session.
        slots: `{"value": str, "quote": str}` by slot name; None leaves a slot out.
        old: The frame to be updated, if there is one.

    Raises:
        SessionError: `validation_failed`, with `validation_errors: [{slot, error}]`; nothing is
            set.
    """
    errors = [
        {"slot": name, "error": f"there is no such slot; the slots are {', '.join(SLOTS)}"}
        for name in slots
        if name not in SLOTS
    ]
    filled: list[Slot] = []
    for name in SLOTS:
        given = slots.get(name)
        if given is None:
            continue
        checked = _check_slot(raw_query, name, given)
        if isinstance(checked, Slot):
            filled.append(checked)
        else:
            errors.append({"slot": name, "error": checked})
    if not errors and not filled:
        errors.append({"slot": "target_feature", "error": "at least one slot must be filled"})
    errors += _repeated(filled, old)
    if errors:
        raise SessionError(
            f"The query frame is not accepted: {errors[0]['slot']}: {errors[0]['error']}.",
            code="validation_failed",
            hint="Quote the user's own words, use only them in the value, leave out slots that "
            "the request does not mention, and call set_query_frame again.",
            details={"validation_errors": errors},
        )
    return Frame(raw_query, tuple(filled))


def merge(old: Frame | None, new: Frame) -> Frame:
    """Return `old` updated with `new`; a filled slot is replaced or kept, never emptied."""
    slots = {slot.name: slot for slot in (*(old.slots if old else ()), *new.slots)}
    return Frame(new.raw_query, tuple(slots[name] for name in SLOTS if name in slots))


def missing_slots(frame: Frame | None, intent: Intent) -> tuple[str, ...]:
    """Return the empty slots, the most useful to fill first."""
    order = _WRITE_ORDER if intent.writes else _READ_ORDER
    return tuple(name for name in order if frame is None or not frame.value(name))


def investigation_guidance(
    frame: Frame | None, intent: Intent, offered: Container[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the tools that help to fill each missing slot, in order of priority.

    Args:
        frame: The current frame.
        intent: The session's intent.
        offered: The tools that the server lists; others are omitted. None means all tools.
    """
    return {
        name: tuple(tool for tool in GUIDANCE[name] if offered is None or tool in offered)
        for name in missing_slots(frame, intent)
    }


def _repeated(filled: Sequence[Slot], old: Frame | None) -> list[dict[str, str]]:
    """Return an error for each slot that repeats another one."""
    names = {slot.name for slot in filled}
    others = [slot for slot in (old.slots if old else ()) if slot.name not in names]
    errors = []
    for slot in filled:
        twin = next((other for other in others if says_the_same(slot.value, other.value)), None)
        if twin:
            errors.append({"slot": slot.name, "error": f"repeats {twin.name}"})
        others.append(slot)
    return errors


def display_width(text: str) -> int:
    """Return the display columns of `text`; East Asian wide characters count as two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _check_slot(raw_query: str, name: str, given: object) -> Slot | str:
    """Return the slot or, as one clause, its error."""
    if not isinstance(given, Mapping):
        return "must be an object with value and quote, or null"
    texts: list[str] = []
    for field in ("value", "quote"):
        text = given.get(field)
        if not isinstance(text, str) or not text.strip():
            return f"{field} must be a non-empty string"
        if len(text) > _MAX_TEXT_CHARS:
            return f"{field} must have at most {_MAX_TEXT_CHARS} characters"
        if hidden := hidden_character(text):
            return f"{field} contains the control character {code_point(hidden)}"
        texts.append(text.strip())
    value, quote = texts
    return _check_words(raw_query, name, value, quote)


def _check_words(raw_query: str, name: str, value: str, quote: str) -> Slot | str:
    min_chars = _MIN_QUOTE_CHARS[is_cjk(quote)]
    if len(fold(quote)) < min_chars:
        return f"quote must have at least {counted(min_chars, 'character')}"
    if not occurs(quote, raw_query):
        return "quote does not occur in the query; copy it word for word"
    is_literal = covers(quote, value)
    if is_literal is None:
        return "value has words that its quote does not have; use only words from the quote"
    if not has_content(value):
        return "value has no content words; quote the words that carry the meaning"
    return Slot(name, value, quote, SlotSource.FACT if is_literal else SlotSource.HYPOTHESIS)
