"""Secret values never surface: they are masked before a text is kept or answered (docs/decisions/0020).

A mask has the length and the line ends of what it covers, so that spans, lines and columns stay those
of the file. What a secret looks like is the table of `secret_forms`. Masking twice is masking once.

    password = "Tr0ub4dor&3"     becomes     password = "x**********"
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from code_intel.secret_forms import NAMED, RULES, Rule

# A key may be written over several quoted lines, or those of a comment.
_COVERED = re.compile(r"(?![#/*|>+;]{1,2}(?:\s|\Z))[^\s\"'\\]+")


def _by_hint() -> dict[tuple[str, bool], tuple[Rule, ...]]:
    """Return the rules by what begins them: each hint is looked for once."""
    keys = dict.fromkeys((hint, rule.folded) for rule in RULES for hint in rule.hints)
    return {
        (hint, fold): tuple(rule for rule in RULES if hint in rule.hints and rule.folded == fold)
        for hint, fold in keys
    }


_BY_HINT = _by_hint()


def mask(text: str) -> tuple[str, int]:
    """Return the text with every secret value masked, and how many there were."""
    folded = _lowered(text)
    finds = [
        find
        for (hint, fold), rules in _BY_HINT.items()
        if (places := _places(folded if fold else text, hint))
        for find in _finds(rules, text, places)
    ]
    # Of `token = "ghp_…"` the prefix stays: it says what was there.
    known = {(find.start(), find.end("s")) for find in finds}
    spans = sorted(find.span("s") for find in finds if find.span("s") not in known)
    parts: list[str] = []
    end = found = 0
    for start, stop in spans:
        if stop <= end:
            continue
        parts += (text[end : max(start, end)], _COVERED.sub(_cover, text[max(start, end) : stop]))
        found += start >= end
        end = stop
    return ("".join((*parts, text[end:])), found) if found else (text, 0)


def masked(text: str) -> str:
    """Return the text with every secret value masked."""
    return mask(text)[0]


def masked_data(value: Any) -> Any:
    """Return a JSON value with every secret value in its texts masked, those that only their key names, too."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {_masked_key(key): _masked_item(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_data(item) for item in value]
    return value


def _masked_key(key: Any) -> Any:
    return masked(key) if isinstance(key, str) else key


def _masked_item(key: Any, item: Any) -> Any:
    if not (isinstance(key, str) and isinstance(item, str) and _compiled(NAMED).match(key)):
        return masked_data(item)
    named = f'{key}="'
    return masked(f'{named}{masked(item)}"')[len(named) : -1]


def _places(text: str, hint: str) -> list[int]:
    """Return where a hint stands; looking for it is nearly all that a text without secrets costs."""
    places = []
    place = text.find(hint)
    while place >= 0:
        places.append(place)
        place = text.find(hint, place + 1)
    return places


def _finds(rules: tuple[Rule, ...], text: str, places: list[int]) -> Iterator[re.Match[str]]:
    for rule in rules:
        match, end = _compiled(rule.pattern).match, 0
        for place in places:
            if place >= end and (found := match(text, place)) and rule.accepts(found["s"]):
                yield found
                end = found.end()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile at the first use: all of them take as long as a hundredth of a handshake."""
    return re.compile(pattern)


def _lowered(text: str) -> str:
    """Return the text in lower case, every character where it was: some grow when lowered."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _cover(run: re.Match[str]) -> str:
    """Return `x***` of the same length; a leading `*` would mean something in YAML and Markdown."""
    return "x" + "*" * (len(run[0]) - 1)
