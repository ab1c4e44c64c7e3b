"""Find near misses by their words: 「海外配送の料金」 for 「国内配送の料金」.

Vectors show that two texts are about the same object, but hardly that one word differs. What this
module finds limits a score and never raises it (docs/decisions/0009).
"""

import re
from functools import lru_cache

from code_intel.learned.recall.glossary import content_words
from code_intel.learned.recall.opposites import contrasted, folded, opposed

MAX_OTHER_WORDS = 2
"""Limit of the words by which a question differs from a term; beyond it, only the fit decides."""

_KANJI = "\u3005\u4e00-\u9fff"
_KATAKANA = "\u30a1-\u30fa\u30fc"
_NOUN = f"[{_KANJI}{_KATAKANA}a-z]"

# 「保存できない」「未確認のまま」「does not work」 report a problem and do not name another thing.
# A negation counts only if it describes a noun, or says that something is intentionally not done.
_COMPLAINT = "(?:という)?(?:バグ|不具合|問題|現象|症状|原因|件|時|とき|場合|こと|ので|ため|よう)"
_AUXILIARY = "".join(
    f"(?<!{word} )" for word in ("is", "are", "was", "were", "do", "does", "did", "can", "will")
)
_NOT_BEFORE = re.compile(
    rf"[未不非](?P<ja>[{_KANJI}]{{2}}|[{_KATAKANA}]+)(?!のまま|にな)|\b(?:non-?|un)(?P<en>[a-z]{{4,}})"
)
_NOT_AFTER = re.compile(
    f"(?P<ja>[{_KANJI}]+?|[{_KATAKANA}]+|[a-z]+)(?:中|済み|済|時|者)?"
    f"(?:では?ない|(?:を|し|され)ていない(?={_NOUN})|しない|の?なしの?|のない|以外|せず)(?!{_COMPLAINT})"
    r"|(?:\b(?:who|that|which) (?:is|are|was|were|do|does|did) ?(?:not|n't)"
    rf"|{_AUXILIARY}\bnot|\bnever|\bwithout|\bexcept|\bexcluding)"
    r"(?: yet)?(?: an?| the)? (?P<en>[a-z]+(?: (?:in|out|up)\b)?)"
)

_NAME = re.compile(r"\w+")
_SYMBOL = re.compile(
    r"(?<![\w./@-])(?:[A-Za-z]\w+(?:(?:\.|::|#)[A-Za-z]\w+)+(?:\(\))?|\w+\(\)"
    r"|[a-z]{2,}(?:[A-Z][a-z0-9]+)+)(?!\w)",
    re.ASCII,
)
_ENDINGS = frozenset(
    """bat cfg cjs cpp cs css csv dev env go hpp html ini io ipynb java jpg js json jsx kt lock
    log md mjs net org pdf php png py rb rs rst sh so sql svg tar toml ts tsv tsx txt vue xml
    yaml yml zip com""".split()  # noqa: SIM905 - easier to read
)
"""Endings of names that look like a symbol but are files or products: README.md, Node.js."""


def opposite(query: str, action: str, content: frozenset[str]) -> str:
    """Return how a question contradicts an agreement, as a short tag; empty if it does not.

    Args:
        query: The session's query.
        action: The agreement's term, symbol (split into words) and aliases.
        content: The agreement's content words, evidence included.
    """
    if opposed(query, action):
        return "opposite action"
    if contrasted(query, action):
        return "the other side"
    negated = _negates(query, action, content) or _negates(action, query, content_words(query))
    return "negated" if negated else ""


def other_symbols(query: str, symbol: str, said: str) -> frozenset[str]:
    """Return the symbols that a question names; empty if the agreement mentions one of them.

    Args:
        query: The session's query.
        symbol: The agreement's symbol, as it is written.
        said: The agreement's evidence and aliases, which may mention other symbols.
    """
    named = symbols_in(query)
    if not named:
        return named
    own = {*_NAME.findall(symbol), *_NAME.findall(said)}
    known = any(set(_NAME.findall(name)[-1:]) & own for name in named)
    return frozenset() if known else named


@lru_cache(maxsize=4096)
def symbols_in(query: str) -> frozenset[str]:
    """Return the symbols in a text, such as `SpellChecker.check()` and `addItem`."""
    found = (match[0].removesuffix("()") for match in _SYMBOL.finditer(query))
    return frozenset(name for name in found if _NAME.findall(name)[-1].casefold() not in _ENDINGS)


def foreign_words(query: str, term: str, content: frozenset[str]) -> frozenset[str]:
    """Return the words by which a question differs from a term that it otherwise repeats.

    The result is empty if the agreement contains all words, if more than `MAX_OTHER_WORDS` differ,
    or if the question also repeats words from other parts of the agreement.
    """
    query_content, term_content = content_words(query), content_words(term)
    known = content | term_content
    foreign = frozenset(word for word in query_content if not any(word in other for other in known))
    repeated = {
        word for word in query_content - foreign if any(word in other for other in term_content)
    }
    differs = bool(repeated) and query_content == foreign | repeated
    return foreign if differs and len(foreign) <= MAX_OTHER_WORDS else frozenset()


def lacking_words(query: str, term: str) -> frozenset[str]:
    """Return what a question omits from a term: 「ログイン」 for 「ログイン画面」.

    The result is empty unless the question has nothing but other words of the term.
    """
    query_content, term_content = content_words(query), content_words(term)
    is_part = bool(query_content) and query_content < term_content
    return term_content - query_content if is_part else frozenset()


def _negates(one: str, other: str, content: frozenset[str]) -> bool:
    """Return whether `one` negates what `other` states."""
    negated = _negated(one)
    if not negated or _negated(other):
        return False
    text = folded(other)
    return any(word in text or bool(content_words(word) & content) for word in negated)


@lru_cache(maxsize=1 << 14)
def _negated(text: str) -> frozenset[str]:
    """Return the words that a text negates."""
    return frozenset(
        match["ja"] or match["en"]
        for pattern in (_NOT_BEFORE, _NOT_AFTER)
        for match in pattern.finditer(folded(text))
    )
