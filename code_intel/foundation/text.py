"""Prepare text for people: escape invisible characters, find look-alikes, format counts.

Invisible characters may steer a model or a terminal (docs/decisions/0013).
"""

import json
import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories: control, format (bidirectional and zero-width), surrogate, private, separators."""


_LATIN_LIKE_SCRIPTS = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
_LATIN_LIKE_BLOCKS = re.compile(
    r"[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1f00-\u1fff\u2c80-\u2cff\u2de0-\u2dff"
    r"\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf]"
)
"""The blocks of those scripts and of Greek, as a fast first check."""
_GREEK_TWINS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧον")
"""Greek letters that look like Latin ones; `Δt` and `σmax` are fine."""


def hidden_character(text: str) -> str:
    """Return the first control, format or surrogate character of `text`, or the empty string."""
    if text.isprintable():
        return ""
    return next((char for char in text if unicodedata.category(char) in _HIDDEN), "")


def without_hidden(text: str) -> str:
    """Return `text` without hidden characters except line feeds and tabs."""
    if text.isprintable():
        return text
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in _HIDDEN)
    return "".join(kept)


def visible(text: str, keep: str = "") -> str:
    r"""Return `text` with hidden characters, except those in `keep`, as escapes.

    A file may be called "a.py\n1. b.py". Unescaped it would look like two files.

    >>> print(visible("a.py\n1. b.py"))
    a.py\n1. b.py
    """
    return text.translate(
        {
            ord(char): char.encode("unicode_escape").decode()
            for char in _hidden_characters(text, keep)
        }
    )


def _hidden_characters(text: str, keep: str) -> list[str]:
    """Return each distinct hidden character except those in `keep`."""
    if text.isprintable():
        return []
    rare = [char for char in set(text).difference(keep) if not char.isprintable()]
    return [char for char in rare if hidden_character(char)]


def visible_lines(text: str) -> str:
    r"""Return `text` as `visible` does, except for tabs and the line endings `\n` and `\r\n`."""
    return "\r\n".join(visible(part, keep="\n\t") for part in text.split("\r\n"))


def visible_json(text: str) -> str:
    """Return JSON text with hidden characters as JSON escapes."""
    return text.translate(
        {ord(char): json.dumps(char)[1:-1] for char in _hidden_characters(text, "\n")}
    )


def code_point(char: str) -> str:
    """Return the code point of a character: ``U+202E``."""
    return f"U+{ord(char):04X}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun; irregular nouns need `plural`.

    >>> counted(1, "file"), counted(2000, "file"), counted(3, "query", "queries")
    ('1 file', '2,000 files', '3 queries')
    """
    return f"{number:,} {noun if abs(number) == 1 else plural or f'{noun}s'}"


def mixed_word(text: str) -> str:
    """Return the first word that mixes Latin letters with others that look like them, or "".

    Follows UTS 39, moderately restrictive: Japanese and Latin may be mixed, and so may `Δ` and `t`.
    """
    if not _LATIN_LIKE_BLOCKS.search(text):
        return ""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return next(filter(_is_mixed, re.findall(r"[^\W\d_]+", plain)), "")


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    names = [unicodedata.name(char, "") for char in word]
    look_alikes = any(name.startswith(_LATIN_LIKE_SCRIPTS) for name in names)
    if not look_alikes and _GREEK_TWINS.isdisjoint(word):
        return False
    return any(name.startswith("LATIN") for name in names)
