"""Mask secret values before a text is stored or answered (docs/decisions/0020).

A mask has the length and the line ends of the value, so that spans, lines and columns still match
the file. `secret_forms` has the table of patterns. Masking is idempotent.

    password = "Tr0ub4dor&3"     becomes     password = "x**********"
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from code_intel.foundation.secret_patterns import RULES, SECRET_KEY_PATTERN, SecretRule

# A key may span several lines, quoted or commented: line ends and such marks are not covered.
_COVERED = re.compile(r"(?![#/*|>+;]{1,2}(?:\s|\Z))[^\s\"'\\]+")


def _by_hint() -> dict[tuple[str, bool], tuple[SecretRule, ...]]:
    """Return the rules by hint, so that each hint is searched once."""
    keys = dict.fromkeys((hint, rule.folded) for rule in RULES for hint in rule.hints)
    return {
        (hint, fold): tuple(rule for rule in RULES if hint in rule.hints and rule.folded == fold)
        for hint, fold in keys
    }


RulesByHint = Mapping[tuple[str, bool], tuple[SecretRule, ...]]
_BY_HINT: RulesByHint = _by_hint()


def mask(text: str, rules_by_hint: RulesByHint = _BY_HINT) -> tuple[str, int]:
    """Return the text with every secret value masked, and their number."""
    folded = _lowered(text)
    finds = [
        find
        for (hint, fold), rules in rules_by_hint.items()
        if (places := _places(folded if fold else text, hint))
        for find in _finds(rules, text, places)
    ]
    # The prefix in `token = "ghp_…"` stays: it says what the value is.
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
    """Return a JSON value with every secret in its texts masked; a key may name its value."""
    return _masked_value(value, _applicable("\n".join(_texts(value))))


def _texts(value: Any) -> list[str]:
    """Return every text in a JSON value, keys included, in no particular order."""
    texts, rest = [], [value]
    while rest:
        node = rest.pop()
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, Mapping):
            rest += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple):
            rest += node
    return texts


def _applicable(text: str) -> RulesByHint:
    """Return the rules whose hints occur in a text; an answer has many texts and few hints."""
    folded = _lowered(text)
    return {
        (hint, fold): rules
        for (hint, fold), rules in _BY_HINT.items()
        if hint in (folded if fold else text)
    }


def _masked_value(value: Any, rules: RulesByHint) -> Any:
    if isinstance(value, str):
        return mask(value, rules)[0] if rules else value
    if isinstance(value, Mapping):
        return {
            _masked_key(key, rules): _masked_item(key, item, rules) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_masked_value(item, rules) for item in value]
    return value


def _masked_key(key: Any, rules: RulesByHint) -> Any:
    return _masked_value(key, rules) if isinstance(key, str) else key


def _masked_item(key: Any, item: Any, rules: RulesByHint) -> Any:
    if not (
        isinstance(key, str) and isinstance(item, str) and _compiled(SECRET_KEY_PATTERN).match(key)
    ):
        return _masked_value(item, rules)
    named = f'{key}="'
    return masked(f'{named}{masked(item)}"')[len(named) : -1]


def _places(text: str, hint: str) -> list[int]:
    """Return the positions of a hint; for a text without secrets this is nearly all the work."""
    places = []
    place = text.find(hint)
    while place >= 0:
        places.append(place)
        place = text.find(hint, place + 1)
    return places


def _finds(rules: tuple[SecretRule, ...], text: str, places: list[int]) -> Iterator[re.Match[str]]:
    for rule in rules:
        match, end = _compiled(rule.pattern).match, 0
        for place in places:
            if place >= end and (found := match(text, place)) and rule.accepts(found["s"]):
                yield found
                end = found.end()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: compiling all takes a hundredth of a handshake."""
    return re.compile(pattern)


def _lowered(text: str) -> str:
    """Return the text in lower case, of the same length: a few characters grow when lowered."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _cover(run: re.Match[str]) -> str:
    """Return `x***` of the same length; a leading `*` has a meaning in YAML and Markdown."""
    return "x" + "*" * (len(run[0]) - 1)
