"""Reduce texts to English stems, a common vocabulary for Japanese questions and symbols.

Japanese is translated with the dictionary of software terms (docs/decisions/0025); English is split
like identifiers. An idea is the set of stems that can express it, so that 「取得」 matches `get` as
well as `fetch`.
"""

import math
import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from code_intel.chunking.lexicon import english
from code_intel.chunking.words import STOP_WORDS, split_identifier, stem
from code_intel.learned.recall.calibration import background

Idea = frozenset[str]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@lru_cache(maxsize=8192)
def ideas(text: str) -> tuple[Idea, ...]:
    """Return the ideas of a text in order, without stop words and untranslatable Japanese."""
    rows = english(text) or [(word,) for word in _WORD.findall(split_identifier(text))]
    return tuple(idea for words in rows if (idea := _stems(words)))


def stems(of: Iterable[Idea]) -> frozenset[str]:
    """Return all stems that can express one of these ideas."""
    return frozenset().union(*of)


def covered(of: Collection[Idea], among: frozenset[str]) -> float:
    """Return the share of ideas that occur among stems, 0 to 1, each weighted by its rarity."""
    total = sum(map(rarity, of))
    return sum(rarity(idea) for idea in of if idea & among) / total if total else 0.0


def missing(of: Collection[Idea], among: frozenset[str]) -> int:
    """Return the number of ideas that do not occur among stems."""
    return sum(not idea & among for idea in of)


@lru_cache(maxsize=8192)
def rarity(idea: Idea) -> float:
    """Return the weight of an idea, which is low if its most common stem is in many phrases."""
    frequency, phrases = _frequency()
    return min(math.log((phrases + 1) / (frequency.get(word, 0) + 0.5)) for word in idea)


@lru_cache(maxsize=1)
def _frequency() -> tuple[dict[str, int], int]:
    """Return the number of generic phrases that contain each stem, and the number of phrases."""
    found: dict[str, int] = {}
    texts = [row["text"] for row in background()]
    for text in texts:
        for word in stems(ideas(text)):
            found[word] = found.get(word, 0) + 1
    return found, len(texts)


def _stems(words: Iterable[str]) -> Idea:
    return frozenset(
        stem(word)
        for said in words
        for word in split_identifier(said).casefold().split()
        if word.isascii() and word not in STOP_WORDS
    )
