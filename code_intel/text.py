"""Characters that a reader cannot see, and that may steer a model or a terminal (docs/decisions/0013)."""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories: control, format (bidirectional and zero-width), surrogate, private, separators."""


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
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if c not in keep and hidden_character(c) else c
        for c in text
    )


def code_point(char: str) -> str:
    """Return a character's name in the way of Unicode: ``U+202E``."""
    return f"U+{ord(char):04X}"
