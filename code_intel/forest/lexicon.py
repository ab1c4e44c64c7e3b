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
_KATAKANA = "\u30a1-\u30fa\u30fc"
_RUN = re.compile(rf"[{_KATAKANA}]+|[A-Za-z_][A-Za-z0-9_.]*|[^{_KATAKANA}A-Za-z_]+")
_IS_KATAKANA = re.compile(f"[{_KATAKANA}]")
_IS_KANJI = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")


def english(query: str) -> list[tuple[str, ...]]:
    """Return the terms of a Japanese question in order, each as the words that code may use for it.

    Names and English words stand for themselves. Empty for a question without Japanese.
    """
    text = unicodedata.normalize("NFKC", query)
    if not _JAPANESE.search(text):
        return []
    known = dictionary()
    return [found for term in _terms(text) if (found := known.get(term, (term,)))]


@cache
def dictionary() -> Mapping[str, tuple[str, ...]]:
    """Return what code calls a term; nothing, for terms that say nothing. Read at the first question."""
    lines = resources.files(__package__).joinpath("japanese.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {term: tuple(words.replace("_", " ") for words in said.split()) for term, said in rows}


def _terms(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if run.isascii() and (run[0].isalpha() or run[0] == "_"):
            yield run
        elif _IS_KATAKANA.match(run):
            yield from _loan_words(run)
        else:
            yield from _longest(run)


def _longest(run: str) -> Iterator[str]:
    """Yield known terms, the longest at each place; a single kanji only where it stands alone."""
    known = dictionary()
    at = 0
    while at < len(run):
        sizes = range(min(LONGEST, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in known), 0)
        if size == 1 and _IS_KANJI.match(run[at - 1 : at] + run[at + 1 : at + 2]):
            size = 0
        if size:
            yield run[at : at + size]
        at += size or 1


def _loan_words(run: str) -> list[str]:
    """Return the known words that a run of katakana is made of; only long ones, if some of it is unknown."""
    known = dictionary()
    best: list[tuple[int, list[str]]] = [(0, [])]
    for end in range(1, len(run) + 1):
        choices = [best[-1]]  # leaves out the last character
        for start in range(max(0, end - LONGEST), end - 1):
            if run[start:end] in known:
                covered, words = best[start]
                choices.append((covered + end - start, [*words, run[start:end]]))
        best.append(max(choices, key=lambda choice: (choice[0], -len(choice[1]))))
    covered, words = best[-1]
    return [word for word in words if covered == len(run) or len(word) >= SHORTEST_PART]
