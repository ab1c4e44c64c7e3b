"""Split texts into index tokens, by one rule for code, prose and questions.

Identifiers give the whole word (`getUserById` is `getuserbyid`) and its parts (`get`, `user`,
`id`). English is stemmed lightly. Runs of Chinese, Japanese and Korean give overlapping pairs. A
token has only letters, digits and `_`: texts go to the full-text index as tokens joined by spaces.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

MAX_WORD_CHARS = 64
"""Longer words are not indexed; they are hashes, encoded data or minified code."""
MAX_REMEMBERED_RUNS = 1 << 16

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+(?:-[^\W\d_{_CJK}][^\W{_CJK}]+)*")
_ASCII_RUN = re.compile(r"\w+(?:-[A-Za-z]\w+)*", re.ASCII)  # the same in ASCII, but faster
# Particles and endings. Nouns and verbs are rarely written in hiragana alone.
_GRAMMAR = re.compile("[\u3041-\u3096ー]+$")
_IS_CJK = re.compile(f"[{_CJK}]")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_ASCII_PART = re.compile(r"[A-Z]+s?(?![A-Za-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[0-9]+")
"""What `_camel_case_parts` finds in ASCII."""
_NO_WORD = re.compile(r"\W")
_ASCII_VOWEL = re.compile("[aeiouy]")

# (suffix, replacement, minimum number of letters before it); the first match is applied.
_PLURALS = (
    ("sses", "ss", 1),
    ("ies", "i", 2),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("is", "is", 0),
    ("s", "", 3),
)
_SUFFIXES = (
    ("ization", "iz", 3), ("isation", "is", 3), ("ations", "at", 3), ("ation", "at", 3),
    ("ating", "at", 3), ("ated", "at", 3), ("ators", "at", 3), ("ator", "at", 3), ("ate", "at", 3),
    ("izing", "iz", 3), ("izer", "iz", 3), ("ized", "iz", 3), ("ize", "iz", 3),
    ("ingly", "", 3), ("edly", "", 3), ("ings", "", 3), ("ing", "", 3), ("ied", "i", 2),
    ("eed", "eed", 0), ("ed", "", 3), ("ment", "", 4), ("ness", "", 4), ("ions", "", 4),
    ("tion", "t", 3), ("sion", "s", 3), ("ly", "", 4), ("y", "i", 2),
    ("e", "", 3),
)  # fmt: skip
_STEPS = tuple(
    {row[0][-1]: tuple(r for r in rows if r[0][-1] == row[0][-1]) for row in rows}
    for rows in (_PLURALS, _SUFFIXES)
)
"""The rows of both tables by the last letter of their suffixes."""
MIN_STEM_LETTERS = 3
"""A doubled consonant is undone only in longer stems: in `runn`, but not in `add`."""
_DOUBLED = frozenset("bdfgmnprt")

STOP_WORDS = frozenset(
    """a about all also am an and any are as at be been being between both but by can code could
    did do does doing done during each find for from get gets had has have having he her here his
    how i if implement implementation implemented in into is it its itself like me more most my no
    nor not of on only or other our out over own please same she should show so some such than that
    the their them then there these they this those through to too under until up us use used uses
    using via was we were what when where which while who whom why will with within without would
    you your""".split()  # noqa: SIM905 - a text is easier to read and edit
)
"""Common English words; removed from questions, never from the index."""


@lru_cache(maxsize=1 << 16)
def split_identifier(name: str) -> str:
    """Return the parts of an identifier, separated by spaces.

    >>> split_identifier("HTTPServer_config2")
    'HTTP Server config 2'
    """
    if name.isascii():
        return " ".join(_ASCII_PART.findall(name))
    pieces = _PIECE.findall(_normalized(name))
    return " ".join(part for piece in pieces for part in _camel_case_parts(piece))


def words(text: str) -> list[str]:
    """Return the index tokens of code or prose in order, with repetitions.

    >>> words("getUserId ログイン")
    ['getuserid', 'get', 'user', 'id', 'ログ', 'グイ', 'イン']
    """
    return word_text(text).split()


def word_text(text: str) -> str:
    """Return the tokens of `words` as one text, separated by spaces."""
    runs = _ASCII_RUN.findall(text) if text.isascii() else _RUN.findall(_normalized(text))
    return " ".join(filter(None, map(_joined_tokens.__getitem__, runs)))


def query_words(query: str) -> list[str]:
    """Return the distinct tokens of a question, without stop words if there are other words."""
    runs = _RUN.findall(_normalized(query))
    tokens = [pair for run in runs for pair in _tokens(run)]
    kept = [token for token, word in tokens if word not in STOP_WORDS and not _GRAMMAR.match(word)]
    return list(dict.fromkeys(kept or (token for token, _ in tokens)))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return a folded word without English endings; words in other alphabets are unchanged.

    The result need not be a word, but must be equal for `validate` and `validation`.

    >>> stem("retries"), stem("retry")
    ('retri', 'retri')
    """
    if not word.isascii() or not word.isalpha():
        return word
    for rows in _STEPS:
        word = _strip(word, rows.get(word[-1:], ()))
    return word


def _strip(word: str, suffixes: Iterable[tuple[str, str, int]]) -> str:
    for suffix, replacement, min_letters in suffixes:
        if not word.endswith(suffix):
            continue
        root = word[: len(word) - len(suffix)]
        if len(root) < min_letters or (min_letters and not _ASCII_VOWEL.search(root)):
            continue
        if (
            not replacement
            and len(root) > MIN_STEM_LETTERS
            and root[-1] == root[-2]
            and root[-1] in _DOUBLED
        ):
            return root[:-1]
        return root + replacement
    return word


class _JoinedTokens(dict[str, str]):
    """The tokens of runs of letters, separated by spaces; code repeats names.

    Twice as fast as `lru_cache`: a word takes so little that this matters.
    """

    def __missing__(self, run: str) -> str:
        if len(self) >= MAX_REMEMBERED_RUNS:
            self.clear()
        joined = self[run] = " ".join([token for token, _ in _tokens(run)])
        return joined


_joined_tokens = _JoinedTokens()


def _tokens(run: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of token and folded word for a run of letters."""
    if not run.isascii() and _IS_CJK.match(run):
        pairs = _pairs(run)
        return tuple(zip(pairs, pairs, strict=True))
    return tuple(_identifier_tokens(run).items())


def _pairs(run: str) -> list[str]:
    """Return overlapping pairs of characters; a single character as it is."""
    run = _NO_WORD.sub("", run)
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run] * len(run)


def _identifier_tokens(run: str) -> dict[str, str]:
    """Return the tokens of an identifier: the whole word, its runs of letters, its parts."""
    if _is_plain(run):
        word = run.lower()
        return {stem(word): word} if len(word) <= MAX_WORD_CHARS else {}
    found: dict[str, str] = {}
    pieces = _PIECE.findall(run)
    whole = _fold(run.strip("_"))
    if len(pieces) != 1 and 1 < len(whole) <= MAX_WORD_CHARS:
        found[whole] = whole
    for piece in pieces:
        parts = _ASCII_PART.findall(piece) if piece.isascii() else _camel_case_parts(piece)
        for word in dict.fromkeys(map(_fold, [piece, *parts] if len(parts) > 1 else parts)):
            # Single letters and digits in an identifier have no meaning: `v4`, `OAuth`.
            if 0 < len(word) <= MAX_WORD_CHARS and (len(word) > 1 or word == whole):
                found.setdefault(stem(word) if word.isascii() else word, word)
    return found


def _is_plain(run: str) -> bool:
    """Return whether a run is one word of ASCII letters, as most are: `get`, `Get` or `GET`."""
    return run.isascii() and run.isalpha() and (run.islower() or run.isupper() or run[1:].islower())


def _camel_case_parts(piece: str) -> list[str]:
    """Split letters where a capital begins a word: `HTTPServer` gives `HTTP`, `Server`."""
    if piece[1:].islower() or (piece.isascii() and (piece.islower() or piece.isupper())):
        return [piece]  # the usual case
    parts: list[str] = []
    start = 0
    for i in range(1, len(piece)):
        begins_with_capital = piece[i].isupper() and not piece[i - 1].isupper()
        # The s of `URLs` does not begin a word.
        word_begins = (
            piece[i].isupper() and piece[i + 1 :] != "s" and piece[i + 1 : i + 2].islower()
        )
        if begins_with_capital or word_begins:
            parts.append(piece[start:i])
            start = i
    parts.append(piece[start:])
    return parts


def _normalized(text: str) -> str:
    """Return the text in Unicode form NFKC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _fold(word: str) -> str:
    """Fold case and keep letters, digits and underscores; `-` becomes `_`."""
    if word.isascii() and word.isalnum():
        return word.lower()
    return _NO_WORD.sub("", word.replace("-", "_").casefold())
