"""What a Japanese question is in the English that code is written in.

A small model knows that 認証 is authentication, but puts a Japanese sentence near everything; words of
Japanese are in no English file at all. So each term that the dictionary knows (`japanese.tsv`: a
surface, then what code calls it, most usual first) is read as those words too, the longest term first
(docs/decisions/0025).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

ALTERNATIVES = 3
"""Words that one term is looked up as; a dictionary cannot know which of them a project says."""
LONGEST = 16
"""Characters of a term."""
SHORTEST_PART = 4
"""Characters of a loan word that counts within a longer one not known: レンジ is no part of チャレンジ."""

_JAPANESE = re.compile("[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.]*")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]+")
_UNREAD = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]{2,}")
_KANJI = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")


def english(query: str) -> list[tuple[str, ...]]:
    """Return the terms of a Japanese question in order, each as the words that code may use for it.

    Names and English words stand for themselves. Empty for a question without Japanese.
    """
    return [words for _, words in terms(query)]


def terms(query: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the same words, each with the term of the question that they are for."""
    text = unicodedata.normalize("NFKC", query)
    if not _JAPANESE.search(text):
        return []
    known = dictionary()
    return [(term, words) for term in _terms(text) if (words := known.get(term, (term,)))]


def unread(query: str) -> list[str]:
    """Return what the dictionary does not know of a Japanese text: its runs of kanji and loan words."""
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
    """Return what code calls a term; nothing, for terms that say nothing. Read at the first question."""
    lines = resources.files(__package__).joinpath("japanese.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {term: tuple(words.replace("_", " ") for words in said.split()) for term, said in rows}


def _terms(text: str) -> Iterator[str]:
    at = after = 0
    while at < len(text):
        found, at = _next(text, at, after)
        if found:
            yield from found
            after = at


def _next(text: str, at: int, after: int) -> tuple[list[str], int]:
    """Return the terms that begin at `at`, and where to go on; terms are known up to `after`."""
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
    """Return the size of the longest known term up to `least` or further that cuts no run of katakana."""
    known = dictionary()
    for end in range(min(at + LONGEST, len(text)), least - 1, -1):
        if text[at:end] in known and not (
            _KATAKANA.match(text, end) and _KATAKANA.match(text, end - 1)
        ):
            return end - at
    return 0


def _stands_alone(text: str, at: int, after: int) -> bool:
    """Tell whether no unknown kanji touches the character at `at`; terms are known up to `after`."""
    before = at > after and _KANJI.match(text, at - 1)
    behind = _KANJI.match(text, at + 1) and _longest(text, at + 1, at + 3) == 0
    return not (_KANJI.match(text, at) and (before or behind))


def _loan_words(run: str) -> list[str]:
    """Return the known words that a run of katakana is made of; only long ones, if some of it is unknown."""
    known = dictionary()
    # Of the first n characters: how many are known, less for each word, where the last word begins.
    best = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        choices = [(*best[-1][:2], end)]  # leaves out the last character
        for start in range(max(0, end - LONGEST), end - 1):
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
    least = 0 if best[-1][0] == len(run) else SHORTEST_PART
    return [word for word in reversed(words) if len(word) >= least]
