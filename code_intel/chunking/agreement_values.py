"""Read the front matter of an agreement, even if people wrote it in loose YAML.

Unambiguous values are accepted: `nl_term: 認証: ログイン` (earlier programs wrote this too), `：`
for `:`, a list with commas, 85%, 2025年1月12日. Other values are rejected with a message that names
the key, its value and the right form (docs/decisions/0007).
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from code_intel.chunking import front_matter
from code_intel.foundation.text import code_point, hidden_character, visible

SCHEMA = 1
KNOWN = frozenset({
    "doc_type", "schema", "nl_term", "symbol", "symbol_normalized", "similarity", "intent",
    "session_id", "learned_at", "confirmed", "aliases", "symbol_digest", "symbol_body", "role",
})  # fmt: skip
EXPECTED_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "doc_type": "agreement, or leave it out",
        "nl_term": 'the term that people use, in quotes, such as nl_term: "ログイン機能"',
        "symbol": 'one name as in the code, in quotes, such as symbol: "AuthService.login"',
        "similarity": "a number from 0 to 1, such as 0.85, or leave it out",
        "learned_at": "a time such as 2025-01-12T14:35:00+09:00, or leave it out",
        "confirmed": "true or false, or leave it out",
        "role": "one word such as entry, core, storage or test, or leave it out",
        "aliases": "terms, one per line after a hyphen, or leave it out",
    }
)
"""The right form of each value, for messages."""

_MAX_SHOWN_CHARS = 40
_ROLE = re.compile(r"\w[\w-]{0,39}")
_ERAS = MappingProxyType({"令和": 2018, "平成": 1988})
_DATE = re.compile(
    r"(?:([0-9]{4})|(令和|平成)([0-9]{1,2}|元))[-/.年] ?([0-9]{1,2})[-/.月] ?([0-9]{1,2})日?"
    r"(?:[T ]*([0-9]{1,2})[:時]([0-9]{2})(?:[:分]([0-9]{2})?秒?)?)?"
)
_COMMAS = re.compile(r"[,、，;；\n]")
_NUMBER = re.compile(r"(?:0[.,][0-9]+|[0-9]{1,3}(?:\.[0-9]+)? ?%)")
_TEXT = re.compile(r"(nl_term|symbol|symbol_normalized|session_id|intent)[ \t]*:[ \t]+(.*)")
_QUOTED_OR_BLOCK = re.compile(r"""(["']).*\1|[|>][-+0-9]*""")
_WIDE_COLON = re.compile(
    rf"^({'|'.join(sorted(KNOWN))})[ \t　]*：[ \t　]*", re.MULTILINE | re.IGNORECASE
)
_KEY = re.compile(r"""["']?([\w -]+?)["']?[ \t　]*[:：]""")
_BLOCK_END = re.compile(r"(?:-{3,}|\.{3})[ \t]*")
_OLD_PROGRAM_BLOCK = re.compile(
    r"\s*doc_type: agreement\nnl_term: .*\nsymbol: .*\nsymbol_normalized: .*\nsimilarity: [0-9.]+\n"
    r"session_id: .*\nintent: .*\nlearned_at: \S+\s*"
)
"""A block of an earlier program, whose values are plain text, not YAML."""


def load(block: str) -> dict[str, Any]:
    """Return the mapping in a block, with known keys in their standard spelling.

    Raises:
        ValueError: The block cannot be used; the message is a sentence.
    """
    if _OLD_PROGRAM_BLOCK.fullmatch(block):
        return front_matter.load(_quote_text_values(block))
    try:
        return _with_canonical_keys(front_matter.load(block))
    except front_matter.NotYaml:
        mended = _quote_text_values(_WIDE_COLON.sub(r"\1: ", block))
        if mended == block:
            raise
        return _with_canonical_keys(front_matter.load(mended))


def check_kind(values: Mapping[str, Any]) -> None:
    """Raise a ValueError for another kind of file or a newer version."""
    if text_value(values, "doc_type") not in {"agreement", ""}:
        raise invalid_value(values, "doc_type")
    schema = getattr(values.get("schema"), "value", None)
    if isinstance(schema, int) and schema > SCHEMA:
        reason = f"schema {schema} is from a newer version. Update code-intel."
        raise front_matter.FrontMatterFault(reason, key="schema")


def text_value(values: Mapping[str, Any], key: str) -> str:
    """Return the text of a key, or an empty text if it is missing.

    Raises:
        ValueError: It is a list or a mapping.
    """
    value = values.get(key, "")
    if not isinstance(value, str):
        raise invalid_value(values, key)
    return "" if getattr(value, "value", value) is None else str(value)


def required(values: Mapping[str, Any], key: str) -> str:
    """Return the text of a required key, which must not contain hidden characters."""
    value = text_value(values, key)
    if not value.strip():
        reason = f"{key} is missing. Write {EXPECTED_FORMS[key]}."
        raise front_matter.FrontMatterFault(reason, key=key)
    return _require_visible(key, value)


def similarity(values: Mapping[str, Any]) -> float:
    """Return a number from 0 to 1, also for `85%` and `0,85`; 0 if it is missing."""
    text = unicodedata.normalize("NFKC", text_value(values, "similarity")).strip()
    number = math.nan
    if _NUMBER.fullmatch(text):
        percent = text.endswith("%")
        number = float(text.rstrip("% ").replace(",", ".")) / (100 if percent else 1)
    else:
        with suppress(ValueError):
            number = float(text or 0)
    if not 0.0 <= number <= 1.0:
        raise invalid_value(values, "similarity")
    return number


def learned_at(values: Mapping[str, Any]) -> str:
    """Return the time with an offset; without one it is taken as UTC on all machines."""
    written = text_value(values, "learned_at")
    text = unicodedata.normalize("NFKC", written).strip()
    if not text:
        return ""
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        return text if time.tzinfo else time.replace(tzinfo=UTC).isoformat()
    with suppress(ValueError):
        return _parse_written_date(text).isoformat()
    raise invalid_value(values, "learned_at")


def confirmed(values: Mapping[str, Any]) -> bool:
    """Return whether the file says that the agreement is confirmed."""
    value = getattr(values.get("confirmed"), "value", values.get("confirmed"))
    if value is None or isinstance(value, bool):
        return bool(value)
    raise invalid_value(values, "confirmed")


def role(values: Mapping[str, Any]) -> str:
    """Return the role of the symbol, one word in lower case, or an empty text."""
    text = text_value(values, "role").strip()
    if text and not role_word(text):
        raise invalid_value(values, "role")
    return role_word(text)


def role_word(text: str) -> str:
    """Return a role in its standard spelling; empty if it is not one word."""
    word = unicodedata.normalize("NFKC", text).strip().lower()
    return word if _ROLE.fullmatch(word) else ""


def aliases(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the aliases, from a list or from a text with commas."""
    given = values.get("aliases")
    items = given if isinstance(given, list) else _COMMAS.split(text_value(values, "aliases"))
    if not all(isinstance(item, str) for item in items):
        raise invalid_value(values, "aliases")
    texts = [str(item) for item in items if getattr(item, "value", item) is not None]
    if not isinstance(given, list):
        texts = [text.strip() for text in texts]
    return tuple(_require_visible("aliases", text) for text in texts)


def unknown_values(values: Mapping[str, Any]) -> tuple[tuple[str, object], ...]:
    """Return the unknown keys with their YAML values."""
    return tuple(
        (key, _to_plain(value)) for key, value in values.items() if canonical_key(key) not in KNOWN
    )


@lru_cache(maxsize=256)  # every file has the same keys
def canonical_key(key: str) -> str:
    """Return a key in the standard spelling: `nl_term` for `NL-Term`."""
    return re.sub(r"[- ]", "_", key.strip().lower())


def invalid_value(values: Mapping[str, Any], key: str) -> ValueError:
    """Return the error for an invalid value."""
    value = values.get(key)
    kind = "a list" if isinstance(value, list) else "a mapping"
    description = f"“{visible(str(value))[:_MAX_SHOWN_CHARS]}”" if isinstance(value, str) else kind
    expected = EXPECTED_FORMS.get(key, "one piece of text")
    reason = f"{key} is {description}. Write {expected}."
    return front_matter.FrontMatterFault(reason, key=key)


def line_of_key(lines: Sequence[str], key: str) -> int:
    """Return the line of a file, from 1, on which the front matter has a key; 0 if on none.

    Of a key that occurs twice, it is the second line.
    """
    found = 0
    for number, line in enumerate(lines[1:], 2):
        if _BLOCK_END.fullmatch(line):
            break
        written = _KEY.match(line)
        if written and canonical_key(written[1]) == canonical_key(key):
            found = number
    return found


def _with_canonical_keys(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = canonical_key(key) if canonical_key(key) in KNOWN else key
        if name in found:
            reason = f"The front matter has {name} twice. Keep one of them."
            raise front_matter.FrontMatterFault(reason, key=name)
        found[name] = value
    return found


def _quote_text_values(block: str) -> str:
    """Put the values of text keys in quotes."""
    return "\n".join(map(_quote_text_value, block.split("\n")))


def _quote_text_value(line: str) -> str:
    found = _TEXT.fullmatch(line)
    if found is None or _QUOTED_OR_BLOCK.fullmatch(found[2].strip()):
        return line
    return f"{found[1]}: {front_matter.quote(found[2].strip())}"


def _require_visible(key: str, written: str) -> str:
    """Return a text that is shown as a name; raise a ValueError for an invisible character."""
    if hidden := hidden_character(written):
        reason = f"{key} has an invisible character, {code_point(hidden)}. Remove it."
        raise front_matter.FrontMatterFault(reason, key=key)
    return written


def _parse_written_date(text: str) -> datetime:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year = int(found[1]) if found[1] else _ERAS[found[2]] + int(found[3].replace("元", "1"))
    month, day, hour, minute, second = (int(part or 0) for part in found.groups()[3:])
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _to_plain(value: Any) -> object:
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    return value.value if isinstance(value, front_matter.Scalar) else value
