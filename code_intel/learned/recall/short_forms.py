"""Recognize short forms and loan words: DLQ for `dead letter queue`, 年調 for 年末調整.

A small embedding model has rarely seen them. Three rules describe how people shorten and
transliterate words (docs/decisions/0009).
"""

import re
import unicodedata
from functools import lru_cache

from code_intel.chunking.lexicon import english, unread
from code_intel.chunking.words import STOP_WORDS, split_identifier

LOANWORD_WEIGHT = 0.4
"""Weight of a loan word's sound, which is ambiguous; that of a shortened term is 1."""

_KATAKANA = re.compile("[ァ-ヺー]{3,}")
_RUN = re.compile("[一-鿿ァ-ヺー]{2,4}")
_WIDE = re.compile("[一-鿿ァ-ヺー]+")
_LATIN = re.compile("[A-Za-z]+")
_SHORT = re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9]{1,5}(?![A-Za-z])")
_FEWEST_SOUNDS, _LEAST_SOUNDS = 2, 3
_SPOKEN_WORDS = 3
_TERSE = 3
"""Limit of the words of a question in which lower-case letters may be a short form."""

_ROWS = (
    ("カキクケコ", "k"),
    ("サシスセソザジズゼゾヂヅ", "s"),
    ("タチツテト", "t"),
    ("ナニヌネノン", "n"),
    ("ハヒヘホ", "h"),
    ("フ", "f"),
    ("マミムメモ", "m"),
    ("ラリルレロ", "r"),
    ("ワ", "w"),
    ("ガギグゲゴ", "g"),
    ("ダデド", "d"),
    ("バビブベボヴ", "b"),
    ("パピプペポ", "p"),
)
_SOUND = {kana: sound for kanas, sound in _ROWS for kana in kanas}

_SPELT = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("[ts]ion$", "sn"), ("ture$", "ta"), ("ph", "f"), ("sch", "sk"), ("tch", "t"), ("ch", "t"),
        ("sh|th", "s"), ("ck", "k"), ("qu", "k"), ("x", "ks"), ("wh", "w"), ("gh", ""),
        ("c(?=[eiy])", "s"), ("c", "k"), ("g(?=[eiy])", "s"), ("kn", "n"), ("[eoa]r$", ""),
        ("r(?=[^aeiouy])|r$", ""), ("[jz]", "s"), ("l", "r"), ("v", "b"), ("[aeiouy]", ""),
    )
)  # fmt: skip
"""English spellings and their consonants in Japanese transliteration, in order of application."""

_TWICE = re.compile(r"(.)\1+")


def shortened(query: str, term: str, symbol_words: str) -> float:
    """Return how surely a question names an agreement by a short form or loan word, 0 to 1.

    Args:
        query: The question.
        term: The agreement's term.
        symbol_words: The agreement's symbol, split into words.
    """
    query, name = _folded(query), _folded(f"{term} {symbol_words}")
    return max(
        _clipped(query, term),
        *(_initials(query, words) for words in _wordings(term, symbol_words)),
        LOANWORD_WEIGHT * max(_loaned(query, name), _loaned(name, query)),
    )


@lru_cache(maxsize=1 << 14)
def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _clipped(query: str, term: str) -> float:
    """Return 1 if a word has the term's first character and later ones in order: 年調; else 0."""
    runs = _runs(query)
    whole = _wide(term) if runs else ""
    return float(
        any(run not in whole and run[0] == whole[:1] and _in_order(run, whole) for run in runs)
    )


@lru_cache(maxsize=64)
def _runs(query: str) -> tuple[str, ...]:
    return tuple(_RUN.findall(query))


@lru_cache(maxsize=1 << 14)
def _wide(term: str) -> str:
    return "".join(_WIDE.findall(term))


def _in_order(run: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in run)


@lru_cache(maxsize=1 << 14)
def _wordings(term: str, symbol_words: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of the term, of the symbol, and of the term as English."""
    read = " ".join(words[0] for words in english(term))
    said = (split_identifier(term), symbol_words, read)
    return tuple(tuple(word.casefold() for word in _LATIN.findall(text)) for text in said)


def _initials(query: str, words: tuple[str, ...]) -> float:
    """Return how surely a Latin short form in the question stands for these words: DLQ, auth."""
    shorts = _shorts(query)
    initials = "".join(word[0] for word in words) if shorts else ""
    best = 0.0
    for short, stands_out in shorts:
        if stands_out and short in initials and short not in words:
            best = max(best, min(1.0, len(short) / 3))
        elif len(short) >= _LEAST_SOUNDS and any(_begins(word, short) for word in words):
            best = max(best, 0.6)
    return best


@lru_cache(maxsize=64)
def _shorts(query: str) -> tuple[tuple[str, bool], ...]:
    """Return the possible Latin short forms in a question, and whether each looks like one."""
    terse = len(query.split()) <= _TERSE
    found = _SHORT.findall(query)
    return tuple(
        (short, (written.isupper() or terse) and short not in STOP_WORDS)
        for written, short in ((each, each.casefold()) for each in found)
    )


def _begins(word: str, short: str) -> bool:
    """Return whether `short` abbreviates a word, as in `auth` and `authentication`.

    `check` and `checker` are inflections, not an abbreviation.
    """
    return word.startswith(short) and len(word) >= len(short) + 4


def _loaned(one: str, other: str) -> float:
    """Return the share of the unknown loan words in `one` that sound like words of `other`."""
    loans = _loans(one)
    words = _latin(other) if loans else ()
    if not words:
        return 0.0
    return sum(_alike(loan, words) for loan in loans) / len(loans)


@lru_cache(maxsize=1 << 14)
def _loans(text: str) -> tuple[str, ...]:
    """Return the loan words that are not in the dictionary."""
    if not _KATAKANA.search(text):
        return ()
    return tuple(run for run in unread(text) if _KATAKANA.fullmatch(run))


@lru_cache(maxsize=1 << 14)
def _latin(text: str) -> tuple[str, ...]:
    words = _LATIN.findall(split_identifier(text))
    return tuple(word.casefold() for word in words if len(word) >= _LEAST_SOUNDS)


@lru_cache(maxsize=65536)
def _alike(loan: str, words: tuple[str, ...]) -> float:
    """Return how similar a loan word's consonants are to those of consecutive words, 0 to 1."""
    sound, best = _spoken(loan), 0.0
    if len(sound) < _FEWEST_SOUNDS:
        return 0.0
    for start in range(len(words)):
        for end in range(start + 1, min(start + _SPOKEN_WORDS, len(words)) + 1):
            written = _once("".join(map(_spelt, words[start:end])))
            if written == sound:
                return 1.0
            best = max(best, _common_start(written, sound))
    return best


def _common_start(written: str, sound: str) -> float:
    common = next(
        (at for at, (a, b) in enumerate(zip(written, sound, strict=False)) if a != b),
        min(len(written), len(sound)),
    )
    if common < _LEAST_SOUNDS:
        return 0.0
    return 0.9 if common == len(sound) else common / max(len(written), len(sound))


def _spoken(loan: str) -> str:
    return _once("".join(_SOUND.get(kana, "") for kana in loan))


@lru_cache(maxsize=65536)
def _spelt(word: str) -> str:
    for pattern, sound in _SPELT:
        word = pattern.sub(sound, word)
    return _once(word)


def _once(sound: str) -> str:
    return _TWICE.sub(r"\1", sound)
