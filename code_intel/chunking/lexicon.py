"""Translate the terms of a Japanese question to the English words of code.

A small model knows that 認証 is authentication, but finds whole Japanese sentences similar to
everything, and English files contain no Japanese words. So each term in the dictionary is also
searched as its English words; longer terms come first (docs/decisions/0025). Each line of
`japanese.tsv` has a term and its English words, the most usual first.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ALTERNATIVES = 3
"""Number of English words that a term is searched as, since projects use different ones."""
MAX_TERM_CHARS = 16
MIN_PART_CHARS = 4
"""Shortest loan word that is found in an unknown one: レンジ is not part of チャレンジ."""

_JAPANESE = re.compile("[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.]*")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]+")
_UNKNOWN_RUN = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]{2,}")
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
    """Return the runs of kanji and the loan words that are not in the dictionary."""
    text = unicodedata.normalize("NFKC", query)
    unknown_text, position, after = "", 0, 0
    while position < len(text):
        found, end = _terms_at(text, position, after)
        unknown_text += " " if found else text[position:end]
        after = end if found else after
        position = end
    return _UNKNOWN_RUN.findall(unknown_text)


@cache
def dictionary() -> Mapping[str, tuple[str, ...]]:
    """Return the English words of each term; terms that mean nothing in code have none."""
    lines = Path(__file__).with_name("japanese.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {term: tuple(each.replace("_", " ") for each in words.split()) for term, words in rows}


def _terms(text: str) -> Iterator[str]:
    position = after = 0
    while position < len(text):
        found, position = _terms_at(text, position, after)
        if found:
            yield from found
            after = position


def _terms_at(text: str, position: int, after: int) -> tuple[list[str], int]:
    """Return the terms that begin at a position, and the next; terms are known up to `after`."""
    if name := _NAME.match(text, position):
        return [name[0]], name.end()
    loan_word = _KATAKANA.match(text, position)
    size = _longest(text, position, loan_word.end() if loan_word else position + 1)
    if size > 1 or (size == 1 and _is_separate(text, position, after)):
        return [text[position : position + size]], position + size
    if loan_word:
        return _loan_words(loan_word[0]), loan_word.end()
    return [], position + 1


def _longest(text: str, position: int, min_end: int) -> int:
    """Return the size of the longest known term that ends at `min_end` or later, or 0.

    It must not end within a run of katakana.
    """
    known = dictionary()
    for end in range(min(position + MAX_TERM_CHARS, len(text)), min_end - 1, -1):
        if text[position:end] in known and not (
            _KATAKANA.match(text, end) and _KATAKANA.match(text, end - 1)
        ):
            return end - position
    return 0


def _is_separate(text: str, position: int, after: int) -> bool:
    """Return whether no unknown kanji touches that at `position`; terms are known up to `after`."""
    preceded = position > after and _KANJI.match(text, position - 1)
    followed = _KANJI.match(text, position + 1) and _longest(text, position + 1, position + 3) == 0
    return not (_KANJI.match(text, position) and (preceded or followed))


def _loan_words(run: str) -> list[str]:
    """Return the known words in a run of katakana; if a part is unknown, only long ones."""
    known = dictionary()
    # For the first n characters: known characters, minus the words, start of the last word.
    best = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        choices = [(*best[-1][:2], end)]  # without the last character
        for start in range(max(0, end - MAX_TERM_CHARS), end - 1):
            if run[start:end] in known:
                covered, negative_count, _ = best[start]
                choices.append((covered + end - start, negative_count - 1, start))
        best.append(max(choices, key=lambda choice: choice[:2]))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][2]
        words += [run[start:end]] if start < end else []
        end = min(start, end - 1)
    min_end = 0 if best[-1][0] == len(run) else MIN_PART_CHARS
    return [word for word in reversed(words) if len(word) >= min_end]
