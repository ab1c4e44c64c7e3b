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


Hinted = Mapping[tuple[str, bool], tuple[Rule, ...]]
_BY_HINT: Hinted = _by_hint()


def mask(text: str, hinted: Hinted = _BY_HINT) -> tuple[str, int]:
    """Return the text with every secret value masked, and how many there were; `hinted` holds all of its hints."""
    folded = _lowered(text)
    finds = [
        find
        for (hint, fold), rules in hinted.items()
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
    return _masked_value(value, _hinted("\n".join(_texts(value))))


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


def _hinted(text: str) -> Hinted:
    """Return the rules that any part of a text may need: an answer has hundreds of short ones, and few hints."""
    folded = _lowered(text)
    return {
        (hint, fold): rules
        for (hint, fold), rules in _BY_HINT.items()
        if hint in (folded if fold else text)
    }


def _masked_value(value: Any, hinted: Hinted) -> Any:
    if isinstance(value, str):
        return mask(value, hinted)[0] if hinted else value
    if isinstance(value, Mapping):
        return {
            _masked_key(key, hinted): _masked_item(key, item, hinted) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_masked_value(item, hinted) for item in value]
    return value


def _masked_key(key: Any, hinted: Hinted) -> Any:
    return _masked_value(key, hinted) if isinstance(key, str) else key


def _masked_item(key: Any, item: Any, hinted: Hinted) -> Any:
    if not (isinstance(key, str) and isinstance(item, str) and _compiled(NAMED).match(key)):
        return _masked_value(item, hinted)
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
