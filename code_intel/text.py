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


def code_point(char: str) -> str:
    """Return a character's name in the way of Unicode: ``U+202E``."""
    return f"U+{ord(char):04X}"
