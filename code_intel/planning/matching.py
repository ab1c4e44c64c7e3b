"""Match keywords in the text, symbol or path of a result (docs/decisions/0040).

| mode | match |
|---|---|
| `strict` | exactly as spelled, with case |
| `fuzzy` | without case and width; several words also as one identifier (`exportDefault`); from |
| | five letters on within one edit of a word |
| `semantic` | as `fuzzy`; other endings; Japanese by its English words; or similarity from `LIKE` |

Japanese has no word boundaries. Its keywords are matched as they are, in half and full width, with
or without a final long vowel (サーバ, サーバー).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from code_intel.chunking.lexicon import terms, unread
from code_intel.chunking.words import query_words, words
from code_intel.planning.records import Mode, Result

MIN_MEANING_LIKENESS = 0.6
"""Similarity from which a keyword is present by meaning; below it is a guess."""
MIN_MISSPELLED_CHARS = 5
"""Letters from which on a word may be misspelled: shorter ones are other words."""
MAX_KEYWORD_LETTERS = 64
"""Letters of a keyword up to which it is anything but what it is spelled as."""
MAX_KEYWORD_PARTS = 8
"""Words of a keyword that are looked for as one identifier."""
Idea = tuple[frozenset[str], ...]
"""The ways to say one thing, each as tokens of the index."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_CAMEL = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+")
_LONG_VOWEL = re.compile("(?<=[ァ-ヺー]{2})ー(?![ァ-ヺー])")
_LATIN = "A-Za-z\u00c0-\u024f"
_WORD = re.compile(f"[{_LATIN}]+")
_LONG_WORDS = re.compile(f"[{_LATIN}]{{{MIN_MISSPELLED_CHARS - 1},}}")
_APART = " \0 "
"""Between path, symbol and text, so that no keyword reaches from one into the next."""


class ResultPage:
    """A result as keywords are looked for in it, each reading made when it is first needed."""

    def __init__(self, result: Result) -> None:
        self.spelled = _APART.join((result.document, result.symbol, result.text))

    @cached_property
    def folded(self) -> str:
        """Case, width and white space aside."""
        return folded(self.spelled)

    @cached_property
    def encoded(self) -> bytes:
        """Width aside, as RE2 reads it."""
        return _unified(self.spelled).encode("utf-8", "replace")

    @cached_property
    def vocabulary(self) -> bytes:
        """The words that are long enough for a misspelling, one per line."""
        found = set(_LONG_WORDS.findall(_unified(self.spelled)))
        mixed = [part for word in found if not word.islower() for part in _CAMEL.findall(word)]
        return "\n".join(("", *{word.casefold() for word in (*found, *mixed)}, "")).encode()

    @cached_property
    def tokens(self) -> frozenset[str]:
        """What the index would find it by: words without their endings."""
        return frozenset(words(self.spelled))


def occurs(keyword: str, result: Result, mode: Mode, likeness: float = 0.0) -> bool:
    """Return whether a keyword occurs in a result; `likeness` counts in semantic mode only."""
    return on_page(keyword, ResultPage(result), mode, likeness)


def on_page(keyword: str, page: ResultPage, mode: Mode, likeness: float = 0.0) -> bool:
    """Do as `occurs`, for a result that many keywords are looked for in."""
    if not keyword.strip():
        return False
    if mode == "strict":
        return keyword in page.spelled
    if mode == "semantic" and likeness >= MIN_MEANING_LIKENESS:
        return True
    if _spelled_alike(keyword, page):
        return True
    return mode == "semantic" and covered(_meanings(keyword), page.tokens) == 1


def _spelled_alike(keyword: str, page: ResultPage) -> bool:
    said, parts, near = _read(keyword)
    return (
        said in page.folded
        or (parts is not None and parts.search(page.encoded) is not None)
        or (near is not None and near.search(page.vocabulary) is not None)
    )


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
    text = _unified(text)
    text = text if text.isascii() else _LONG_VOWEL.sub("", text)
    return " ".join(text.casefold().split())


def _unified(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=256)
def _meanings(keyword: str) -> tuple[Idea, ...]:
    """Return the terms of a Japanese keyword, or a word without its ending; else nothing."""
    if terms(keyword):
        return ideas(keyword)
    tokens = words(keyword)
    return ((frozenset(tokens),),) if len(tokens) == 1 else ()


@lru_cache(maxsize=256)
def _read(keyword: str) -> tuple[str, Any, Any]:
    """Return a folded keyword with the pattern for its identifier and misspelled forms."""
    import re2

    word = folded(keyword)
    if len(word) > MAX_KEYWORD_LETTERS:
        return word, None, None
    parts = _PARTS.findall(_unified(keyword))
    misspelled = len(word) >= MIN_MISSPELLED_CHARS and _WORD.fullmatch(word)
    return (
        word,
        re2.compile(_in_a_row(parts)) if 1 < len(parts) <= MAX_KEYWORD_PARTS else None,
        re2.compile(_one_edit(word)) if misspelled else None,
    )


def _in_a_row(parts: Sequence[str]) -> str:
    """Return a pattern for words joined by signs or camelCase."""
    first, *others = parts
    followed = (
        rf"(?:[^\pL\pN\x00]+(?i:{part})|{part.capitalize()}|{part.upper()})" for part in others
    )
    return f"(?i:{first}){''.join(followed)}"


def _one_edit(word: str) -> str:
    """Return an expression for the lines that are one letter more, less or another than `word`.

    That is a regular language, so that RE2 finds it in one pass over the words.
    """
    changed = (f"{word[:at]}[^\n]?{word[at + 1 :]}" for at in range(len(word)))
    longer = (f"{word[:at]}[^\n]{word[at:]}" for at in range(len(word) + 1))
    return f"\n(?:{'|'.join((*changed, *longer))})\n"
