"""Translate the terms of a Japanese question to the English words of code.

A small model knows that 認証 is authentication, but places whole Japanese sentences near
everything, and English files contain no Japanese words. So each term in the dictionary also stands
for its English words; longer terms come first (docs/decisions/0025). `japanese.tsv` has a term per
line, then its English words, the most usual first.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

ALTERNATIVES = 3
"""How many English words one term is searched as, since projects use different ones."""
MAX_TERM_CHARS = 16
MIN_PART_CHARS = 4
"""Shortest loan word that is recognised within an unknown one: レンジ is not part of チャレンジ."""

_JAPANESE = re.compile("[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.]*")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]+")
_UNREAD = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]{2,}")
_KANJI = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")


def english(query: str) -> list[tuple[str, ...]]:
    """Return the terms of a Japanese question in order, each as its English words.

    Names and English words stay as they are. Empty for a question without Japanese.
    """
    return [words for _, words in terms(query)]


def terms(query: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (term, its English words) for the terms of a Japanese question, in order."""
    text = unicodedata.normalize("NFKC", query)
    if not _JAPANESE.search(text):
        return []
    known = dictionary()
    return [(term, words) for term in _terms(text) if (words := known.get(term, (term,)))]


def unread(query: str) -> list[str]:
    """Return the runs of kanji and the loan words that the dictionary does not have."""
    text = unicodedata.normalize("NFKC", query)
    left, at, after = "", 0, 0
    while at < len(text):
        found, end = _next(text, at, after)
        left += " " if found else text[at:end]
        after = end if found else after
        at = end
    return _UNREAD.findall(left)


@cache
def dictionary() -> Mapping[str, tuple[str, ...]]:
    """Return the English words of each term; none for terms without a meaning in code."""
    lines = resources.files(__package__).joinpath("japanese.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {term: tuple(each.replace("_", " ") for each in words.split()) for term, words in rows}


def _terms(text: str) -> Iterator[str]:
    at = after = 0
    while at < len(text):
        found, at = _next(text, at, after)
        if found:
            yield from found
            after = at


def _next(text: str, at: int, after: int) -> tuple[list[str], int]:
    """Return the terms that begin at `at`, and the next position; terms are known up to `after`."""
    if name := _NAME.match(text, at):
        return [name[0]], name.end()
    loan = _KATAKANA.match(text, at)
    size = _longest(text, at, loan.end() if loan else at + 1)
    if size > 1 or (size == 1 and _stands_alone(text, at, after)):
        return [text[at : at + size]], at + size
    if loan:
        return _loan_words(loan[0]), loan.end()
    return [], at + 1


def _longest(text: str, at: int, least: int) -> int:
    """Return the size of the longest known term that ends at `least` or later, or 0.

    It must not end within a run of katakana.
    """
    known = dictionary()
    for end in range(min(at + MAX_TERM_CHARS, len(text)), least - 1, -1):
        if text[at:end] in known and not (
            _KATAKANA.match(text, end) and _KATAKANA.match(text, end - 1)
        ):
            return end - at
    return 0


def _stands_alone(text: str, at: int, after: int) -> bool:
    """Return whether no unknown kanji touches the one at `at`; terms are known up to `after`."""
    before = at > after and _KANJI.match(text, at - 1)
    behind = _KANJI.match(text, at + 1) and _longest(text, at + 1, at + 3) == 0
    return not (_KANJI.match(text, at) and (before or behind))


def _loan_words(run: str) -> list[str]:
    """Return the known words of a run of katakana; only long ones if a part is unknown."""
    known = dictionary()
    # For the first n characters: known characters, minus the words, start of the last word.
    best = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        choices = [(*best[-1][:2], end)]  # without the last character
        for start in range(max(0, end - MAX_TERM_CHARS), end - 1):
            if run[start:end] in known:
                covered, fewer, _ = best[start]
                choices.append((covered + end - start, fewer - 1, start))
        best.append(max(choices, key=lambda choice: choice[:2]))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][2]
        words += [run[start:end]] if start < end else []
        end = min(start, end - 1)
    least = 0 if best[-1][0] == len(run) else MIN_PART_CHARS
    return [word for word in reversed(words) if len(word) >= least]
