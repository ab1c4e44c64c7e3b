"""The front matter of an agreement as people and earlier programs wrote it: what is clear is read as it is meant.

What is not clear is refused in a sentence that names the key, its value and how to write it
(docs/decisions/0007). A program before this one wrote its values as they came, so that
``nl_term: 認証: ログイン`` is no YAML; people do the same, write `：` for `:`, a list with commas, 85%, 2025年1月12日.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from code_intel.chunking import front_matter
from code_intel.text import code_point, hidden_character, visible

SCHEMA = 1
KNOWN = frozenset({
    "doc_type", "schema", "nl_term", "symbol", "symbol_normalized", "similarity", "intent",
    "session_id", "learned_at", "confirmed", "aliases", "symbol_digest", "symbol_body",
})  # fmt: skip
HOW: Mapping[str, str] = MappingProxyType(
    {
        "doc_type": "agreement, or leave it out",
        "nl_term": 'the words people use, in quotes, such as nl_term: "ログイン機能"',
        "symbol": 'one name as the code has it, in quotes, such as symbol: "AuthService.login"',
        "similarity": "a number from 0 to 1, such as 0.85, or leave it out",
        "learned_at": "a time such as 2025-01-12T14:35:00+09:00, or leave it out",
        "confirmed": "true or false, or leave it out",
        "aliases": "words, one a line after a hyphen, or leave it out",
    }
)
"""How a value is written, for whoever wrote another."""

_SHOWN = 40
_ERAS = MappingProxyType({"令和": 2018, "平成": 1988})
_DATE = re.compile(
    r"(?:([0-9]{4})|(令和|平成)([0-9]{1,2}|元))[-/.年] ?([0-9]{1,2})[-/.月] ?([0-9]{1,2})日?"
    r"(?:[T ]*([0-9]{1,2})[:時]([0-9]{2})(?:[:分]([0-9]{2})?秒?)?)?"
)
_COMMAS = re.compile(r"[,、，;；\n]")
_NUMBER = re.compile(r"(?:0[.,][0-9]+|[0-9]{1,3}(?:\.[0-9]+)? ?%)")
_TEXT = re.compile(r"(nl_term|symbol|symbol_normalized|session_id|intent)[ \t]*:[ \t]+(.*)")
_IS_YAML = re.compile(r"""(["']).*\1|[|>][-+0-9]*""")
_WIDE_COLON = re.compile(
    rf"^({'|'.join(sorted(KNOWN))})[ \t　]*：[ \t　]*", re.MULTILINE | re.IGNORECASE
)
_BY_PROGRAM = re.compile(
    r"\s*doc_type: agreement\nnl_term: .*\nsymbol: .*\nsymbol_normalized: .*\nsimilarity: [0-9.]+\n"
    r"session_id: .*\nintent: .*\nlearned_at: \S+\s*"
)
"""A block of the program before this one: its lines are texts, not YAML."""


def load(block: str) -> dict[str, Any]:
    """Return the mapping in a block, keys of ours by our names; texts without quotes are taken as they are.

    Raises:
        ValueError: Why it cannot be used, as a sentence.
    """
    if _BY_PROGRAM.fullmatch(block):
        return front_matter.load(_quoted(block))
    try:
        return _by_our_names(front_matter.load(block))
    except front_matter.NotYaml:
        mended = _quoted(_WIDE_COLON.sub(r"\1: ", block))
        if mended == block:
            raise
        return _by_our_names(front_matter.load(mended))


def check_kind(values: Mapping[str, Any]) -> None:
    """Raise a ValueError for a file that is none of ours to read."""
    if word(values, "doc_type") not in {"agreement", ""}:
        raise refused(values, "doc_type")
    schema = getattr(values.get("schema"), "value", None)
    if isinstance(schema, int) and schema > SCHEMA:
        raise ValueError(f"schema {schema} was written by a newer version: update code-intel.")


def word(values: Mapping[str, Any], key: str) -> str:
    """Return a text, empty when it is not there.

    Raises:
        ValueError: It is a list or a mapping.
    """
    value = values.get(key, "")
    if not isinstance(value, str):
        raise refused(values, key)
    return "" if getattr(value, "value", value) is None else str(value)


def required(values: Mapping[str, Any], key: str) -> str:
    """Return a name that must be there, and be what it looks like."""
    value = word(values, key)
    if not value.strip():
        raise ValueError(f"{key} is missing. Write {HOW[key]}.")
    return _readable(key, value)


def similarity(values: Mapping[str, Any]) -> float:
    """Return a number from 0 to 1, also of `85%` and `0,85`; 0 when it is not there."""
    text = unicodedata.normalize("NFKC", word(values, "similarity")).strip()
    number = math.nan
    if _NUMBER.fullmatch(text):
        percent = text.endswith("%")
        number = float(text.rstrip("% ").replace(",", ".")) / (100 if percent else 1)
    else:
        with suppress(ValueError):
            number = float(text or 0)
    if not 0.0 <= number <= 1.0:
        raise refused(values, "similarity")
    return number


def learned_at(values: Mapping[str, Any]) -> str:
    """Return a time with an offset; one without is taken as UTC, the same on every machine."""
    written = word(values, "learned_at")
    text = unicodedata.normalize("NFKC", written).strip()
    if not text:
        return ""
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        return text if time.tzinfo else time.replace(tzinfo=UTC).isoformat()
    with suppress(ValueError):
        return _spoken_time(text).isoformat()
    raise refused(values, "learned_at")


def confirmed(values: Mapping[str, Any]) -> bool:
    """Return what the file claims."""
    value = getattr(values.get("confirmed"), "value", values.get("confirmed"))
    if value is None or isinstance(value, bool):
        return bool(value)
    raise refused(values, "confirmed")


def aliases(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return other words: the items of a list, or the parts of one text between commas."""
    given = values.get("aliases")
    items = given if isinstance(given, list) else _COMMAS.split(word(values, "aliases"))
    if not all(isinstance(item, str) for item in items):
        raise refused(values, "aliases")
    words = [str(item) for item in items if getattr(item, "value", item) is not None]
    return tuple(
        _readable("aliases", each if isinstance(given, list) else each.strip()) for each in words
    )


def further(values: Mapping[str, Any]) -> tuple[tuple[str, object], ...]:
    """Return the keys that are not ours, as YAML takes them."""
    return tuple(
        (key, _plain(value)) for key, value in values.items() if our_name(key) not in KNOWN
    )


@lru_cache(maxsize=256)  # every file has the same keys
def our_name(key: str) -> str:
    """Return a key as ours are spelled: `NL-Term` is `nl_term`."""
    return re.sub(r"[- ]", "_", key.strip().lower())


def refused(values: Mapping[str, Any], key: str) -> ValueError:
    """Return what is said of a value that cannot be meant."""
    value = values.get(key)
    kind = "a list" if isinstance(value, list) else "a mapping"
    shown = f"“{visible(str(value))[:_SHOWN]}”" if isinstance(value, str) else kind
    return ValueError(f"{key} is {shown}. Write {HOW.get(key, 'one piece of text')}.")


def _by_our_names(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = our_name(key) if our_name(key) in KNOWN else key
        if name in found:
            raise ValueError(f"The front matter gives {name} twice. Keep one of them.")
        found[name] = value
    return found


def _quoted(block: str) -> str:
    """Return a block with the texts that stand behind our words in quotes."""
    return "\n".join(map(_quoted_line, block.split("\n")))


def _quoted_line(line: str) -> str:
    found = _TEXT.fullmatch(line)
    if found is None or _IS_YAML.fullmatch(found[2].strip()):
        return line
    return f"{found[1]}: {front_matter.quote(found[2].strip())}"


def _readable(key: str, written: str) -> str:
    """Return a word that is served as a name, so everybody must see what it is."""
    if hidden := hidden_character(written):
        raise ValueError(
            f"{key} has a character that cannot be seen, {code_point(hidden)}. Write it without."
        )
    return written


def _spoken_time(text: str) -> datetime:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year = int(found[1]) if found[1] else _ERAS[found[2]] + int(found[3].replace("元", "1"))
    month, day, hour, minute, second = (int(part or 0) for part in found.groups()[3:])
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _plain(value: Any) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, front_matter.Scalar) else value
