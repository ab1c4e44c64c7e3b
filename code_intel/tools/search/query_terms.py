"""What a text asks of the code, in any language: the symbols it names, and its words, the most telling first.

How much a word says is asked of the index: the fewer chunks have it, the more. Words it does not have come last.
Japanese is read in the English of code, and stays as it is where code has none of that English but was named in Japanese.
"""

import re
from collections.abc import Mapping, Sequence

from code_intel.chunking.languages import language_of
from code_intel.chunking.lexicon import english, terms, unread
from code_intel.chunking.words import LONGEST, STOP_WORDS, query_words, stem
from code_intel.forest.files import search_files
from code_intel.forest.ranking.question import read
from code_intel.index.store import NEIGHBOURS, Store
from code_intel.session.router import SearchTerms

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_SHORTEST = 3
"""Letters of a word; what is shorter is found everywhere. Of Japanese that no dictionary knows, two."""
LONGEST_ENDING = 2
"""Letters of an inflection: -s, -es, -ed, -e."""
COMMON = 500
"""Chunks from which on a word is as common as any."""


def asked_of(store: Store, text: str, *, symbol: str = "", slot: str = "") -> SearchTerms:
    """Return what a text asks for.

    Args:
        store: The index of the code that it is about.
        text: In any language.
        symbol: One that is named beside it.
        slot: Whose words these are.
    """
    said = read_words(text, symbol)
    asked = {words: term for term, words in terms(text)}
    words = [
        row if row not in asked or _says(store, row) <= COMMON else (asked[row],)
        for row in said.words
    ]
    return SearchTerms(said.names, tuple(sorted(words, key=lambda row: _says(store, row))), slot)


def ranks(store: Store, question: str, bases: Sequence[str]) -> Mapping[str, int]:
    """Return the place of each file with words of the question, best first, as files_search has them.

    Files that say a Japanese question in the code's own words come before those that say it in Japanese:
    code does before what is written about it.
    """
    said = read_words(question)
    spelled = " ".join((*said.names, *(word for row in said.words for word in row)))
    found = (
        hit.path
        for words in (spelled, question)
        for hit in search_files(store, words, top_k=NEIGHBOURS, bases=bases)
    )
    return {path: place for place, path in enumerate(dict.fromkeys(found))}


def _says(store: Store, spellings: tuple[str, ...]) -> int:
    """Return in how many chunks a word is; more than in all, when it is in none."""
    return len(store.word_hits(query_words(" ".join(spellings)), "body", COMMON)) or COMMON + 1


def read_words(text: str, symbol: str = "") -> SearchTerms:
    """Return what a text asks for, its words in the order in which they stand."""
    rows = english(text)
    named = [
        name.spelled
        for name in read(text).names
        if len(name.spelled) <= LONGEST and (not rows or name.spelled.isascii())
    ]
    files = {name for name in named if language_of(name) != "text"}
    names = dict.fromkeys(name for name in (symbol.strip(), *named) if name and name not in files)
    said = {part.casefold() for name in (*names, *files) for part in _WORD.findall(name)}
    words = dict.fromkeys(
        tuple(map(_stemmed, row)) if not rows else row
        for row in rows or [(word,) for word in _WORD.findall(text)]
        if said.isdisjoint(part.casefold() for word in row for part in _WORD.findall(word))
        and all(
            _SHORTEST <= len(word) <= LONGEST and word.casefold() not in STOP_WORDS for word in row
        )
    )
    strange = [(run,) for run in unread(text) if 1 < len(run) <= LONGEST] if rows else []
    return SearchTerms(tuple(names), (*words, *strange))


def _stemmed(word: str) -> str:
    """Return what the forms of an English word begin with: `passwords` is also `password`.

    Other words made of it are other words: `session` is no `sess`.
    """
    root = stem(word.casefold())
    ending = word.casefold().removeprefix(root)
    inflected = len(ending) <= LONGEST_ENDING or ending == "ing"
    return root if inflected and len(root) >= _SHORTEST else word
