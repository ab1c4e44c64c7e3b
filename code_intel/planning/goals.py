"""What a goal speaks of, and the queries a plan begins with (seed 003 §1; docs/decisions/0042).

Pure, and the same every time: no model, no index, no language but Japanese and what has spaces.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from code_intel.chunking.lexicon import terms, unread
from code_intel.chunking.words import STOP_WORDS, query_words
from code_intel.planning.records import MAX_GOAL_CHARS_READ, MAX_KEYWORDS, Strategy

BROAD = 2
"""Keywords of a broad query."""

_JAPANESE = re.compile("[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_SPOKEN = re.compile(r"[\w$]+(?:(?:\.|::|->|#|-|/)[\w$]+)*")
_ENDINGS = re.compile("[\u3041-\u3096ー]+$")
# What people do with an answer is not what the answer speaks of.
_ASKING = frozenset(
    """check comprehend comprehensive complete completely describe detail details detailed discover
    examine explain explore figure full fully grasp identify inspect investigate know learn locate
    look overview question see study tell thorough thoroughly understand want works
    理解 把握 解説 精査 網羅""".split()  # noqa: SIM905 - a text is easier to read and edit
)


def language_of(goal: str) -> Literal["ja", "en"]:
    """Return the language of a goal: Japanese, or English for all others."""
    return "ja" if _JAPANESE.search(unicodedata.normalize("NFKC", goal)) else "en"


def keywords(goal: str) -> tuple[str, ...]:
    """Return the keywords of a goal, each once, the most significant first.

    For a Japanese goal the English words of its terms come first, then the terms: code has the
    former, comments and documents may have the latter. At most MAX_KEYWORDS; never empty for a goal
    with a word or a number.
    """
    text = unicodedata.normalize("NFKC", goal[:MAX_GOAL_CHARS_READ])
    every = _japanese(text) if _JAPANESE.search(text) else _SPOKEN.findall(text)
    telling = [word for word in every if not _says_nothing(word)]
    return tuple(distinct(telling or every or _SPOKEN.findall(text)))[:MAX_KEYWORDS]


def first_queries(
    goal: str, strategy: Strategy, initial: Sequence[str] = (), expected: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the first queries of a plan: the caller's in order, then ours.

    Ours is the goal with the expected words or, by `strategy.initial`, the first two keywords of
    the goal (`broad`) or all of them (`specific`). Equivalent queries are left out.
    """
    words = keywords(goal)
    ours = {"broad": " ".join(words[:BROAD]), "specific": " ".join(words)}
    made = ours.get(strategy.initial or "") or well_formed(goal, expected)
    return tuple(distinct(" ".join(query.split()) for query in (*initial, made)))


def well_formed(goal: str, words: Sequence[str]) -> str:
    """Return a goal with the words that it does not contain yet."""
    return " ".join((goal, *(word for word in distinct(words) if not says(goal, word))))


def folded(query: str) -> frozenset[str]:
    """Return the terms of a query without order, case and endings; equal terms are one query."""
    return frozenset(query_words(query)) or frozenset({query.strip().casefold()})


def distinct(queries: Iterable[str]) -> list[str]:
    """Return those that are about something new, in order."""
    found: dict[frozenset[str], str] = {}
    for query in queries:
        if query.strip():
            found.setdefault(folded(query), query)
    return list(found.values())


def english_of(goal: str) -> list[str]:
    """Return the words that code is most likely to use for a Japanese goal; none for any other."""
    return [said[0] for _, said in terms(goal[:MAX_GOAL_CHARS_READ]) if not _says_nothing(said[0])]


def says(query: str, word: str) -> bool:
    """Return whether a query has a word: literally, with another ending, or in English."""
    query = unicodedata.normalize("NFKC", query)
    return word.casefold() in query.casefold() or folded(word) <= asked_for(query)


def asked_for(query: str) -> frozenset[str]:
    """Return the index tokens that a query looks up; of a Japanese one, the English ones, too."""
    return frozenset(query_words(query)) | frozenset(query_words(" ".join(english_of(query))))


def _japanese(text: str) -> list[str]:
    read = terms(text)
    own = [term for term, said in read if not _says_nothing(said[0])]
    return [*(said[0] for _, said in read), *own, *_unread(text)] or _SPOKEN.findall(text)


def _unread(text: str) -> list[str]:
    """Return unknown words, without single kanji (stems of verbs, as in 移り方) and 何."""
    return [run for run in unread(text) if len(run) > 1 and run[0] != "何"]


def _says_nothing(word: str) -> bool:
    plain = word.casefold()
    alone = len(word) == 1 and word.isascii() and not word.isdigit()
    return alone or plain in STOP_WORDS or plain in _ASKING or bool(_ENDINGS.fullmatch(word))
