"""Tokenize commands and queries: words, and the parts of compound words (seed 000, トークン化).

Words are split before they are lowered, because lower case has no camelCase
(docs/decisions/0044). The parts of a compound word count beside the word, and so do their parts.
"""

import re
import unicodedata
from functools import lru_cache

from code_intel.registry.records import Command

SEPARATORS = "-_"
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])(?![A-Z]s$)")
"""Where a capital begins a word or an acronym ends; `PRs` and `C3L` are one word."""


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order, with repetitions.

    `groupCommit` gives `group`, `commit`, `groupcommit`. Full-width letters and spaces are
    normalised; punctuation is part of its word, as in seed 000.

    >>> tokens("Review pull-request")
    ['review', 'pull', 'request', 'pull-request']
    """
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return [token for word in text.split() for token in _of_word(word)]


def searched(command: Command) -> str:
    """Return the searched text of a command: names and description (seed 000, 検索対象テキスト)."""
    return f"{command.name} {command.description}"


@lru_cache(maxsize=1 << 15)
def _of_word(word: str) -> tuple[str, ...]:
    """Return what a word is made of, then the word; a word that nothing divides is itself alone."""
    parts = _parts(word)
    inner = [token for part in parts for token in _of_word(part)] if parts != [word] else []
    return (*inner, word.lower())


def _parts(word: str) -> list[str]:
    for separator in SEPARATORS:
        if separator in word:
            return [part for part in word.split(separator) if part]
    return _CAMEL.split(word)
