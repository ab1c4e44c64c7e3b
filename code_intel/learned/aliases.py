"""Decide which queries may become an alias of an agreement (docs/decisions/0027).

An alias confirmed by two sessions is as good as the term. A query that says the opposite, means
another agreement or is generic therefore never becomes one, however often a session that used it
succeeded. Pure.
"""

import unicodedata
from collections.abc import Iterable

from code_intel.chunking.agreement import card, split_symbol
from code_intel.learned.recall.contrast import foreign_words, opposite
from code_intel.learned.recall.glossary import content_words
from code_intel.learned.recall.opposites import opposed
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.validity import lookup_name
from code_intel.records import Agreement

_SCRIPTS = (
    "LATIN", "CJK", "HIRAGANA", "KATAKANA", "DIGIT", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC",
)  # fmt: skip
"""Scripts for which the glossary lists the generic words."""


def why_no_alias(alias: str, agreement: Agreement, others: Iterable[Agreement]) -> str:
    """Return why a text cannot be an alias of an agreement, as a clause; empty if it can.

    The caller handles the term itself with `is_term`.

    Args:
        alias: The text.
        agreement: The agreement; its existing aliases do not count as evidence.
        others: The other agreements of the map.
    """
    if not _has_content(alias):
        return "it says nothing by itself"
    bare = _without_aliases(agreement)
    if reason := opposite(alias, _action(bare), content_words(card(bare))):
        return f"it speaks against the term ({reason})"
    for other in others:
        same = lookup_name(other.symbol) == lookup_name(agreement.symbol)
        if not same and is_term(alias, other):
            return f"it is the term of {other.symbol}"
    return ""


def is_strained(query: str, agreement: Agreement) -> bool:
    """Return whether a query differs from the term by more than synonyms.

    Such a query can become an alias, but never leads to READY: 「検索履歴のキャッシュ」 does not
    become right for 「検索結果のキャッシュ」 by being confirmed twice.
    """
    if is_term(query, agreement):
        return False
    bare = _without_aliases(agreement)
    content = content_words(card(bare))
    return bool(
        foreign_words(query, bare.nl_term, content) or opposite(query, _action(bare), content)
    )


def is_term(text: str, agreement: Agreement) -> bool:
    """Return whether a text is the agreement's term, ignoring case, width and spacing."""
    return fold(text) == fold(agreement.nl_term)


def contradicts(nl_term: str, symbol: str) -> bool:
    """Return whether a symbol's name means the opposite action of a term: ログアウト処理 → `login`.

    Only actions are compared. The sides of a thing may differ from the term (`resolveResponse`
    sends requests), and a bug report negates what the name promises.
    """
    return opposed(nl_term, split_symbol(symbol))


def _without_aliases(agreement: Agreement) -> Agreement:
    """Return an agreement with its term, symbol and evidence only."""
    return Agreement(agreement.nl_term, agreement.symbol, agreement.evidence)


def _action(agreement: Agreement) -> str:
    return f"{agreement.nl_term} {split_symbol(agreement.symbol)}"


def _has_content(text: str) -> bool:
    """Return whether a text has a content word, or a letter of a script without a glossary."""
    if content_words(text):
        return True
    letters = (char for char in unicodedata.normalize("NFKC", text) if char.isalnum())
    return any(not unicodedata.name(char, "CJK").startswith(_SCRIPTS) for char in letters)
