"""Match keywords in the text, symbol or path of a result (docs/decisions/0040).

| mode | match |
|---|---|
| `strict` | exactly as spelled, with case |
| `fuzzy` | whole words, without case and width; the parts of `exportDefault` are words, too; from |
| | five letters on within one edit of a word |
| `semantic` | as `fuzzy`; with other endings; Japanese by its English words |

Japanese has no word boundaries. Its keywords are matched anywhere, in half and full width, with or
without a final long vowel (サーバ, サーバー).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

from code_intel.chunking.lexicon import terms, unread
from code_intel.chunking.words import query_words, words
from code_intel.planning.records import Mode, Result

MIN_MISSPELLED_CHARS = 5
"""Letters from which on a word may be misspelled: shorter ones are other words."""
Idea = tuple[frozenset[str], ...]
"""The ways to say one thing, each as tokens of the index."""

_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_LONG_VOWEL = re.compile("(?<=[ァ-ヺー]{2})ー(?![ァ-ヺー])")
_APART = " \0 "
"""Between path, symbol and text, so that no keyword reaches from one into the next."""


class ResultPage:
    """A result as keywords are looked for in it, each reading made when it is first needed."""

    def __init__(self, result: Result) -> None:
        self.fields = (result.document, result.symbol, result.text)
        self.spelled = _APART.join(self.fields)

    @cached_property
    def words(self) -> str:
        """The words, and again the parts of identifiers, with a space before and after each."""
        readings = (_spaced(pattern, field) for pattern in (_RUN, _PART) for field in self.fields)
        return f" {_APART.join(readings)} "

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words that are long enough for a misspelling."""
        return frozenset(w for w in self.words.split() if len(w) >= MIN_MISSPELLED_CHARS - 1)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """What the index would find it by: words without their endings."""
        return frozenset(words(self.spelled))


def occurs(keyword: str, page: ResultPage, mode: Mode) -> bool:
    """Return whether a keyword occurs in a result."""
    if not keyword.strip():
        return False
    if mode == "strict":
        return keyword in page.spelled
    said, word = _readings(keyword), folded(keyword)
    if not said:  # signs alone, such as `=>`
        return word in folded(page.spelled)
    if any(each in page.words for each in said):
        return True
    may_differ = len(word) >= MIN_MISSPELLED_CHARS and word.isalpha() and _has_boundary(word[0])
    if may_differ and any(_is_one_edit(word, other) for other in page.vocabulary):
        return True
    return mode == "semantic" and covered(_meanings(keyword), page.tokens) == 1


@lru_cache(maxsize=256)
def _readings(keyword: str) -> tuple[str, ...]:
    """Return a keyword as `ResultPage.words` has it, in words and in parts of identifiers.

    At an end with a boundary there is a space, so that `man` is not found in `command`.
    """
    read = dict.fromkeys(_spaced(pattern, keyword) for pattern in (_RUN, _PART))
    return tuple(
        f"{' ' * _has_boundary(said[0])}{said}{' ' * _has_boundary(said[-1])}"
        for said in read
        if said
    )


def _spaced(pattern: re.Pattern[str], text: str) -> str:
    return " ".join(pattern.findall(_unified(text))).casefold()


def _has_boundary(letter: str) -> bool:
    """Return whether words with this letter are written apart: not in Chinese or Japanese."""
    return letter < "\u2e80"


def _is_one_edit(one: str, other: str) -> bool:
    """Return whether two words differ by at most one letter: another, missing or added."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    pairs = enumerate(zip(short, long, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), len(short))
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]


def covered(asked: Sequence[Idea], tokens: frozenset[str]) -> float:
    """Return the share of ideas that are said in any of their ways, 0 to 1; 0 of none."""
    return sum(any(way <= tokens for way in idea) for idea in asked) / max(len(asked), 1)


def together(keywords: Sequence[str]) -> list[list[int]]:
    """Return groups of positions of keywords with the same meaning in Japanese and English."""
    places = {folded(word): at for at, word in enumerate(keywords)}
    said: dict[int, list[int]] = {}
    for at, word in enumerate(keywords):
        read = terms(word)
        ways = read[0][1] if len(read) == 1 and folded(read[0][0]) == folded(word) else ()
        same = next((places[folded(way)] for way in ways if folded(way) in places), at)
        said.setdefault(same, []).append(at)
    return list(said.values())


@lru_cache(maxsize=256)
def ideas(query: str) -> tuple[Idea, ...]:
    """Return the ideas of a query, each as alternatives of index tokens."""
    read = terms(query)
    if not read:
        return tuple((frozenset({token}),) for token in query_words(query))
    said = [(term, *ways) for term, ways in read] + [(run,) for run in unread(query)]
    every = (tuple(frozenset(query_words(way)) for way in ways) for ways in said)
    return tuple(kept for ways in every if (kept := tuple(filter(None, ways))))


def folded(text: str) -> str:
    """Return a text normalised in case, width, white space and final long vowels."""
    return " ".join(_unified(text).casefold().split())


def _unified(text: str) -> str:
    """Return a text normalised in width and final long vowels."""
    if text.isascii():
        return text
    return _LONG_VOWEL.sub("", unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=256)
def _meanings(keyword: str) -> tuple[Idea, ...]:
    """Return the terms of a Japanese keyword, or a word without its ending; else nothing."""
    if terms(keyword):
        return ideas(keyword)
    tokens = words(keyword)
    return ((frozenset(tokens),),) if len(tokens) == 1 else ()
