"""Tokenize commands and queries: words, and the parts of compound words (seed 000, トークン化).

Words are split before they are lowered, because lower case has no camelCase
(docs/decisions/0044). A compound word counts beside its parts.
"""

import re
import unicodedata

from code_intel.registry.records import Command

_BETWEEN_PARTS = re.compile(
    r"[-_]|(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])(?![A-Z]s(?:[-_]|$))"
)
"""Separators, and where a capital begins a word or an acronym ends; `PRs`, `C3L` are one word."""


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order, with repetitions.

    `groupCommit` gives `group`, `commit`, `groupcommit`. Full-width letters and spaces are
    normalised; punctuation is part of its word, as in seed 000.

    >>> tokens("Review pull-request")
    ['review', 'pull', 'request', 'pull-request']
    """
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for word in text.split():
        parts = [part.lower() for part in _BETWEEN_PARTS.split(word) if part]
        found += [*parts, word.lower()] if parts != [word.lower()] else parts
    return found


def searched(command: Command) -> str:
    """Return the searched text of a command: names and description (seed 000, 検索対象テキスト)."""
    return f"{command.name} {command.description}"
