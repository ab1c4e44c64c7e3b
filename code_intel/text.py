"""Texts that people read: characters that nobody can see, which may steer a model or a terminal, and numbers with nouns.

The first are docs/decisions/0013.
"""

import json
import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories: control, format (bidirectional and zero-width), surrogate, private, separators."""


_LOOK_LATIN = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
_NEAR_LATIN = re.compile(
    r"[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1f00-\u1fff\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf]"
)
"""Where those scripts and Greek are; ten thousand names without any cost next to nothing."""
_GREEK_TWINS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧον")
"""Greek letters that nobody tells from Latin ones; `Δt` and `σmax` are what they look like."""


def hidden_character(text: str) -> str:
    """Return the first control, format or surrogate character of `text`, or the empty string."""
    if text.isprintable():
        return ""
    return next((char for char in text if unicodedata.category(char) in _HIDDEN), "")


def without_hidden(text: str) -> str:
    """Return `text` without the characters of `hidden_character`; line ends and tabs stay."""
    if text.isprintable():
        return text
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in _HIDDEN)
    return "".join(kept)


def visible(text: str, keep: str = "") -> str:
    r"""Return `text` with the characters of `hidden_character` as escapes, those of `keep` as they are.

    A file may be called "a.py\n1. b.py": shown as it is, it would be two lines and name another one.
    """
    return text.translate(
        {ord(char): char.encode("unicode_escape").decode() for char in _hidden_in(text, keep)}
    )


def _hidden_in(text: str, keep: str) -> list[str]:
    """Return each character of `hidden_character` once; most texts are long, and have none."""
    if text.isprintable():
        return []
    rare = [char for char in set(text).difference(keep) if not char.isprintable()]
    return [char for char in rare if hidden_character(char)]


def visible_lines(text: str) -> str:
    """Return `text` as `visible` does, its tabs and ends of lines as they are: a lone carriage return is none."""
    return "\r\n".join(visible(part, keep="\n\t") for part in text.split("\r\n"))


def visible_json(text: str) -> str:
    """Return a JSON text that reads as the same value, with what nobody can see written as escapes of JSON."""
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in _hidden_in(text, "\n")})


def code_point(char: str) -> str:
    """Return a character's name in the way of Unicode: ``U+202E``."""
    return f"U+{ord(char):04X}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, `1 file`, `2,000 files`; `plural` where that is not the noun with an s."""
    return f"{number:,} {noun if abs(number) == 1 else plural or f'{noun}s'}"


def mixed_word(text: str) -> str:
    """Return the first word in which Latin letters stand beside others that look like them, else nothing.

    What Unicode's security mechanisms (UTS 39, moderately restrictive) let nobody mix with Latin within one
    identifier; Japanese and Latin are mixed by everybody, and so are `Δ` and `t`.
    """
    if not _NEAR_LATIN.search(text):
        return ""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return next(filter(_is_mixed, re.findall(r"[^\W\d_]+", plain)), "")


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    names = [unicodedata.name(char, "") for char in word]
    strange = any(name.startswith(_LOOK_LATIN) for name in names) or not _GREEK_TWINS.isdisjoint(
        word
    )
    return strange and any(name.startswith("LATIN") for name in names)
