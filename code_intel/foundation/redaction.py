"""Mask secret values before a text is stored or returned (docs/decisions/0020).

A mask has the length and the line endings of the value, so that offsets, lines and columns still
match the file. `secret_patterns` contains the patterns. Masking is idempotent.

    password = "Tr0ub4dor&3"     becomes     password = "x**********"
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from code_intel.foundation.secret_patterns import RULES, SECRET_KEY_PATTERN, SecretRule

# A key may span several lines, quoted or commented; line endings and such marks are not masked.
_COVERED = re.compile(r"(?![#/*|>+;]{1,2}(?:\s|\Z))[^\s\"'\\]+")


MAX_REMEMBERED_FILES = 64
MAX_REMEMBERED_CHARS = 65_536
"""Longer files are masked each time they are read."""


def _by_hint() -> dict[tuple[str, bool], tuple[SecretRule, ...]]:
    """Group the rules by hint, so that each hint is searched for once."""
    keys = dict.fromkeys((hint, rule.folded) for rule in RULES for hint in rule.hints)
    return {
        (hint, fold): tuple(rule for rule in RULES if hint in rule.hints and rule.folded == fold)
        for hint, fold in keys
    }


RulesByHint = Mapping[tuple[str, bool], tuple[SecretRule, ...]]
_BY_HINT: RulesByHint = _by_hint()


def mask(text: str, rules_by_hint: RulesByHint = _BY_HINT) -> tuple[str, int]:
    """Return the text with every secret value masked, and the number of these values."""
    folded = _lowered(text)
    matches = [
        match
        for (hint, fold), rules in rules_by_hint.items()
        if (offsets := _offsets(folded if fold else text, hint))
        for match in _matches(rules, text, offsets)
    ]
    # The prefix in `token = "ghp_…"` is kept, because it says what the value is.
    known = {(match.start(), match.end("s")) for match in matches}
    spans = sorted(match.span("s") for match in matches if match.span("s") not in known)
    parts: list[str] = []
    end = found = 0
    for start, stop in spans:
        if stop <= end:
            continue
        parts += (text[end : max(start, end)], _COVERED.sub(_cover, text[max(start, end) : stop]))
        found += start >= end
        end = stop
    return ("".join((*parts, text[end:])), found) if found else (text, 0)


def mask_file(text: str) -> tuple[str, int]:
    """Return `mask` of a file's text; a call reads a file several times, so it is remembered."""
    return _mask_file(text) if len(text) <= MAX_REMEMBERED_CHARS else mask(text)


@lru_cache(maxsize=MAX_REMEMBERED_FILES)
def _mask_file(text: str) -> tuple[str, int]:
    return mask(text)


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
    """Return the rules whose hints occur in a text; most answers contain few hints."""
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


def _offsets(text: str, hint: str) -> list[int]:
    """Return the offsets of a hint in a text."""
    offsets = []
    offset = text.find(hint)
    while offset >= 0:
        offsets.append(offset)
        offset = text.find(hint, offset + 1)
    return offsets


def _matches(
    rules: tuple[SecretRule, ...], text: str, offsets: list[int]
) -> Iterator[re.Match[str]]:
    started = {"": offsets}
    for rule in rules:
        if rule.start not in started:
            start = _compiled(rule.start).match
            started[rule.start] = [offset for offset in offsets if start(text, offset)]
        match, end = _compiled(rule.pattern).match, 0
        for offset in started[rule.start]:
            if offset >= end and (found := match(text, offset)) and rule.accepts(found["s"]):
                yield found
                end = found.end()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because compiling all of them would delay the handshake."""
    return re.compile(pattern)


def _lowered(text: str) -> str:
    """Return the text in lower case, except for characters whose lower case is longer."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _cover(run: re.Match[str]) -> str:
    """Return `x***` of the same length; a leading `*` has a meaning in YAML and Markdown."""
    return "x" + "*" * (len(run[0]) - 1)
