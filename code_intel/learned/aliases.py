"""Decide which words may become another name of an agreement (docs/decisions/0027).

An alias of two sessions counts as the term. So words that say the opposite, mean another agreement
or are generic never become an alias, however often a session that used them succeeded. Pure.
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

_READ = ("LATIN", "CJK", "HIRAGANA", "KATAKANA", "DIGIT", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC")
"""Scripts of which the glossary knows the words that say nothing."""


def why_no_alias(alias: str, agreement: Agreement, others: Iterable[Agreement]) -> str:
    """Return why words cannot be an alias of an agreement, as a clause; empty if they can.

    The term itself is not an alias: see `is_term`.

    Args:
        alias: The words.
        agreement: The agreement; its other aliases are no evidence for another one.
        others: The other agreements of the map.
    """
    if not _says_something(alias):
        return "it says nothing by itself"
    bare = _without_aliases(agreement)
    if reason := opposite(alias, _action(bare), content_words(card(bare))):
        return f"it speaks against the term ({reason})"
    for other in others:
        same = lookup_name(other.symbol) == lookup_name(agreement.symbol)
        if not same and is_term(alias, other):
            return f"it is the term of {other.symbol}"
    return ""


def is_strained(words: str, agreement: Agreement) -> bool:
    """Return whether words differ from the term by more than synonyms.

    Sessions alone cannot make such words an alias.

    Such an alias is served like any other and never leads to READY: 「検索履歴のキャッシュ」 for
    「検索結果のキャッシュ」 does not become right by being confirmed twice.
    """
    if is_term(words, agreement):
        return False
    bare = _without_aliases(agreement)
    content = content_words(card(bare))
    return bool(
        foreign_words(words, bare.nl_term, content) or opposite(words, _action(bare), content)
    )


def is_term(text: str, agreement: Agreement) -> bool:
    """Return whether a text is the agreement's term, however it is written."""
    return fold(text) == fold(agreement.nl_term)


def contradicts(nl_term: str, symbol: str) -> bool:
    """Return whether a symbol's own name does the opposite of a term: ログアウト処理 → `login`.

    Actions alone. A name may have another side than the words people use (`resolveResponse` sends
    requests), and a complaint negates what the name promises.
    """
    return opposed(nl_term, split_symbol(symbol))


def _without_aliases(agreement: Agreement) -> Agreement:
    """Return an agreement without its aliases, which are no evidence for another one."""
    return Agreement(agreement.nl_term, agreement.symbol, agreement.evidence)


def _action(agreement: Agreement) -> str:
    return f"{agreement.nl_term} {split_symbol(agreement.symbol)}"


def _says_something(text: str) -> bool:
    """Return whether a text has a content word; of scripts without a glossary any letter counts."""
    if content_words(text):
        return True
    letters = (char for char in unicodedata.normalize("NFKC", text) if char.isalnum())
    return any(not unicodedata.name(char, "CJK").startswith(_READ) for char in letters)
